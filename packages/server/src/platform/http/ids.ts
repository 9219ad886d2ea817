// Ids that came in a request: one spelling, each once, and the ones that name nothing.
import type { ErrorCode } from '@castellan/contract/errors';
import { AppError } from '../errors.ts';

/** Lower case, each once, in a fixed order: so that two requests lock rows in the same order. */
export const canonicalIds = (ids: readonly string[]): string[] =>
  [...new Set(ids.map((id) => id.toLowerCase()))].sort();

// More would help nobody.
const MAX_NAMED = 20;

/** Throws `code` (404) naming the ids of `wanted` that are not in `found`. */
export function requireAllFound(
  code: ErrorCode,
  field: string,
  wanted: readonly string[],
  found: readonly string[],
): void {
  const known = new Set(found);
  const unknown = wanted.filter((id) => !known.has(id));
  if (unknown.length === 0) return;
  const named = unknown.slice(0, MAX_NAMED);
  throw new AppError(code, {
    detail: `Unknown ids in ${field}: ${named.join(', ')}${unknown.length > named.length ? ` and ${unknown.length - named.length} more` : ''}.`,
    errors: named.map((id) => ({ field, code: 'unknown_id', message: `${id} names no record` })),
  });
}
