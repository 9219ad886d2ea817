// The time of the database, by which credentials end.
import { type QueryExecutorProvider, sql } from 'kysely';
import { AppError } from '../errors.ts';

/** Returns the time at which the transaction began. */
export async function readTime(tx: QueryExecutorProvider): Promise<Date> {
  const { rows } = await sql<{ time: Date | null }>`select now() as time`.execute(tx);
  const time = rows[0]?.time;
  if (!time) throw new Error('the statement returned no row');
  return time;
}

/** Returns the end of a credential, or null for one that does not expire. Throws `validation_failed` if it is over. */
export async function requireFuture(tx: QueryExecutorProvider, value: string | null): Promise<Date | null> {
  if (value === null) return null;
  const time = new Date(value);
  // PostgreSQL and ISO 8601 share the years up to 9999.
  if (time > (await readTime(tx)) && time.getUTCFullYear() <= 9_999) return time;
  const message = 'must be a time in the future, such as 2030-01-31T08:00:00Z';
  throw new AppError('validation_failed', {
    detail: `expires_at ${message}.`,
    errors: [{ field: 'expires_at', code: 'not_in_future', message }],
  });
}
