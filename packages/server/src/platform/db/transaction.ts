// Transactions that survive what PostgreSQL asks to be retried.
// The function given may run several times: it must touch nothing but the transaction.
import type { Kysely, Transaction } from 'kysely';

// serialization_failure and deadlock_detected: the server says "again".
const RETRYABLE = new Set(['40001', '40P01']);
const MAX_ATTEMPTS = 4;

const sqlState = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

export async function inTransaction<D, R>(
  db: Kysely<D>,
  run: (tx: Transaction<D>) => Promise<R>,
): Promise<R> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction().execute(run);
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || !RETRYABLE.has(sqlState(error) ?? '')) throw error;
    }
  }
}
