// Checks the ids of a request: one spelling, each once, all existing.
import type { ErrorCode } from '@castellan/contract/errors';
import { AppError } from '../errors.ts';

/** Returns the distinct ids in lower case, sorted, so that any two requests lock rows in the same order. */
export const canonicalIds = (ids: readonly string[]): string[] =>
  [...new Set(ids.map((id) => id.toLowerCase()))].sort();

// Longer lists do not help the reader.
const MAX_NAMED = 20;

/**
 * Throws `code` (404) naming the ids of `wanted` that are not in `found`. `field` is the field that has all ids, or
 * returns the field of an id.
 */
export function requireAllFound(
  code: ErrorCode,
  field: string | ((id: string) => string),
  wanted: readonly string[],
  found: readonly string[],
): void {
  const known = new Set(found);
  const unknown = wanted.filter((id) => !known.has(id));
  if (unknown.length === 0) return;
  const named = unknown.slice(0, MAX_NAMED);
  const fieldOf = typeof field === 'string' ? () => field : field;
  const where = new Set(named.map(fieldOf)).size === 1 ? ` in ${fieldOf(named[0] ?? '')}` : '';
  throw new AppError(code, {
    detail: `Unknown ids${where}: ${named.join(', ')}${unknown.length > named.length ? ` and ${unknown.length - named.length} more` : ''}.`,
    errors: named.map((id) => ({ field: fieldOf(id), code: 'unknown_id', message: `${id} does not exist` })),
  });
}
