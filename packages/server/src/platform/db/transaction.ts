// Runs transactions, and repeats them if PostgreSQL asks for a retry.
// The given function may run several times: it must not change anything outside the transaction.
import type { Kysely, Transaction } from 'kysely';
import { errorCode } from '../unknown-values.ts';

// serialization_failure and deadlock_detected: PostgreSQL asks for a retry.
const retryable = new Set(['40001', '40P01']);
const MAX_ATTEMPTS = 4;

/** What follows the commit of each open transaction. */
const followUpsOf = new WeakMap<object, (() => void)[]>();

class Rehearsed<R> extends Error {
  readonly result: R;
  constructor(result: R) {
    super('rehearsed');
    this.result = result;
  }
}

/**
 * Runs the function, rolls back, and returns its result. Throws what the function throws, so that the caller gets the
 * refusal of a real run.
 */
export async function rehearse<D, R>(db: Kysely<D>, run: (tx: Transaction<D>) => Promise<R>): Promise<R> {
  let rehearsed: Rehearsed<R> | undefined;
  try {
    await inTransaction(db, async (tx) => {
      rehearsed = new Rehearsed(await run(tx));
      throw rehearsed;
    });
  } catch (error) {
    if (rehearsed === undefined || error !== rehearsed) throw error;
  }
  if (rehearsed === undefined) throw new Error('a rehearsal ended without a result');
  return rehearsed.result;
}

/** Runs the function in a transaction, with up to three retries, and then what `afterCommit` registered. */
export async function inTransaction<D, R>(
  db: Kysely<D>,
  run: (tx: Transaction<D>) => Promise<R>,
): Promise<R> {
  for (let attempt = 1; ; attempt += 1) {
    const followUps: (() => void)[] = [];
    try {
      const result = await db.transaction().execute((tx) => {
        followUpsOf.set(tx, followUps);
        return run(tx);
      });
      for (const followUp of followUps) followUp();
      return result;
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || !retryable.has(errorCode(error) ?? '')) throw error;
    }
  }
}

/** Runs the function in a transaction whose statements all see the same snapshot. No retry. */
export const inSnapshot = <D, R>(db: Kysely<D>, run: (tx: Transaction<D>) => Promise<R>): Promise<R> =>
  db.transaction().setIsolationLevel('repeatable read').execute(run);

/** Returns whether `afterCommit` takes effect: whether `inTransaction` opened the transaction. */
export const hasFollowUps = <D>(tx: Transaction<D>): boolean => followUpsOf.has(tx);

/**
 * Calls `followUp` after this attempt has committed, never otherwise. Ignored unless `inTransaction` opened the
 * transaction.
 */
export function afterCommit<D>(tx: Transaction<D>, followUp: () => void): void {
  followUpsOf.get(tx)?.push(followUp);
}
