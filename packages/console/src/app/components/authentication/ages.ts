// How old a proof may be, as people choose and read it.
import { locale } from '../../../common/language.ts';

const units = [
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Exactly, such as "90 seconds". */
export function ageText(seconds: number): string {
  const [unit, size] = units.find(([, one]) => seconds % one === 0) ?? (['second', 1] as const);
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size);
}

const usual = [60, 300, 600, 1_800, 3_600, 14_400, 43_200, 86_400];

/** Returns the ages to choose from, in seconds; among them the one that is set. */
export const agesWith = (set: number | null): number[] =>
  [...new Set([...usual, ...(set === null ? [] : [set])])].toSorted((a, b) => a - b);
