// How many rows a page of a list has.
import { readPreference } from '../common/preferences.ts';

export const pageSizes: readonly number[] = [25, 50, 100];

const DEFAULT_SIZE = 50;

/** Returns the number of rows per page that the person has chosen. */
export function preferredSize(): number {
  const stored = readPreference('pageSize');
  return pageSizes.find((size) => String(size) === stored) ?? DEFAULT_SIZE;
}
