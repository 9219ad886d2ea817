// Reads times in requests. It must not read a clock.
import { AppError } from './errors.ts';

// PostgreSQL accepts more than ISO 8601, and Date is less strict. Both read a text that matches this in the same way.
const TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i;

/**
 * Returns the time in UTC with milliseconds. Returns null if the text is not a time in the years 1 to 9999, which ISO
 * 8601 and PostgreSQL share.
 */
export function canonicalTime(value: string): string | null {
  const day = TIME.exec(value)?.[1];
  if (day === undefined) return null;
  // Date reads 31 February as 3 March, so the day must survive a round trip.
  const midnight = new Date(`${day}T00:00:00Z`);
  const time = new Date(value);
  if (Number.isNaN(midnight.getTime()) || Number.isNaN(time.getTime())) return null;
  const text = time.toISOString();
  return midnight.toISOString().startsWith(day) && /^(?!0000)\d{4}-/.test(text) ? text : null;
}

/** Returns the canonical times of the parameters `from` and `to`. Throws `validation_failed`, also if `from` is after `to`. */
export function readPeriod(query: { from?: string; to?: string }): {
  from: string | null;
  to: string | null;
} {
  const [from, to] = [readTime('from', query.from), readTime('to', query.to)];
  if (from === null || to === null || from <= to) return { from, to };
  const message = 'must not be after to';
  throw new AppError('validation_failed', {
    detail: `query.from ${message}.`,
    errors: [{ field: 'query.from', code: 'after_to', message }],
  });
}

/** Returns the canonical time of a query parameter; null if there is none. Throws `validation_failed`. */
export function readTime(parameter: string, value: string | undefined): string | null {
  if (value === undefined) return null;
  const time = canonicalTime(value);
  if (time !== null) return time;
  const message = 'must be a time such as 2026-01-31T08:00:00Z';
  throw new AppError('validation_failed', {
    detail: `query.${parameter} ${message}.`,
    errors: [{ field: `query.${parameter}`, code: 'invalid_time', message }],
  });
}
