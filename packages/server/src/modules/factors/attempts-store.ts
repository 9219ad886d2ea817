// SQL of factor_attempts: wrong codes of an account, apart from wrong passwords.
// It must run under the lock of the user's row, so that parallel attempts count exactly.
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import type { Tx } from '../../schema/database.ts';

/** After so many wrong codes in a row the app is suspended (NIST SP 800-63B, 3.2.2). */
export const MAX_CODES_IN_A_ROW = 100;
const LONGEST_LOCK_SECONDS = 24 * 60 * 60;

export type CodeFailure = {
  /** Wrong codes since the last right proof. */
  total: number;
  /** Whether this one closed the app. */
  locked_now: boolean;
  locked_until: Date | null;
};

/**
 * Counts a wrong code. Each time `maxAttempts` are reached, the app closes: for `lockSeconds` first, then for twice as long as
 * before, at most a day.
 */
export async function countCodeFailure(
  tx: Tx,
  userId: string,
  { maxAttempts, lockSeconds }: { maxAttempts: number; lockSeconds: number },
): Promise<CodeFailure> {
  const answer = await sql<CodeFailure>`
    insert into factor_attempts as a (user_id, failures, locks, total, locked_until)
    values (${userId}, (${maxAttempts}::integer > 1)::integer, (${maxAttempts}::integer <= 1)::integer, 1,
      case when ${maxAttempts}::integer <= 1 then now() + make_interval(secs => least(${LONGEST_LOCK_SECONDS}::float8, ${lockSeconds}::float8)) end)
    on conflict (user_id) do update set
      failures = case when a.failures + 1 >= ${maxAttempts}::integer then 0 else a.failures + 1 end,
      locks = a.locks + case when a.failures + 1 >= ${maxAttempts}::integer then 1 else 0 end,
      total = a.total + 1,
      locked_until = case when a.failures + 1 >= ${maxAttempts}::integer
        then now() + make_interval(secs => least(${LONGEST_LOCK_SECONDS}::float8, ${lockSeconds}::float8 * power(2, least(a.locks, 30))))
        else a.locked_until end,
      updated_at = now()
    returning total, failures = 0 as locked_now, locked_until`.execute(tx);
  return onlyRow(answer);
}

/** Counts a wrong code of a known device while the app is closed: towards its suspension only. */
export async function countExemptFailure(tx: Tx, userId: string): Promise<CodeFailure> {
  const answer = await sql<CodeFailure>`
    update factor_attempts set total = total + 1, updated_at = now() where user_id = ${userId}
    returning total, false as locked_now, locked_until`.execute(tx);
  return onlyRow(answer);
}

/** Sets the counts back, also those of the account's devices, after a right proof of a factor. */
export async function clearCodeFailures(tx: Tx, userId: string): Promise<void> {
  await sql`
    with opened as (
      update devices set code_failures = 0, code_locked_until = null
      where user_id = ${userId} and (code_failures > 0 or code_locked_until is not null)
    )
    delete from factor_attempts where user_id = ${userId}`.execute(tx);
}
