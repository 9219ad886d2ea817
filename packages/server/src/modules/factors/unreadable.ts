// Finds authenticator apps whose secret the SECRET_KEY does not open, as after its loss, and suspends them.
import { sql } from 'kysely';
import type { Db } from '../../schema/database.ts';
import type { TotpVault } from './totp-vault.ts';

type Sealed = { user_id: string; secret_sealed: Buffer };
type UnreadableDeps = { db: Db; totpVault: TotpVault };

const BATCH = 1_000;
// Sorts before every id.
const FIRST = '00000000-0000-0000-0000-000000000000';

/**
 * Suspends every app whose secret does not open, in batches. Calls `onSuspended` with the users of a batch. Returns how many
 * apps it suspended.
 */
export async function suspendUnreadable(
  { db, totpVault }: UnreadableDeps,
  onSuspended: (userIds: readonly string[]) => Promise<void>,
): Promise<number> {
  let total = 0;
  for (let after = FIRST; ; ) {
    const { rows } = await sql<Sealed>`
      select user_id, secret_sealed from totp_factors where user_id > ${after} and suspended_at is null
      order by user_id limit ${BATCH}`.execute(db);
    const lost = rows.filter(({ user_id, secret_sealed }) => totpVault.open(user_id, secret_sealed) === null);
    const suspended = await suspend(
      db,
      lost.map(({ user_id }) => user_id),
    );
    if (suspended.length > 0) await onSuspended(suspended);
    total += suspended.length;
    const last = rows.at(-1);
    if (!last || rows.length < BATCH) return total;
    after = last.user_id;
  }
}

async function suspend(db: Db, userIds: readonly string[]): Promise<string[]> {
  if (userIds.length === 0) return [];
  const { rows } = await sql<{ user_id: string }>`
    update totp_factors set suspended_at = now() where user_id = any(${userIds}::uuid[]) and suspended_at is null
    returning user_id`.execute(db);
  return rows.map(({ user_id }) => user_id);
}

/** Returns whether the secret of one working app opens; null if there is none. */
export async function opensOne({ db, totpVault }: UnreadableDeps): Promise<boolean | null> {
  const { rows } = await sql<Sealed>`
    select user_id, secret_sealed from totp_factors where suspended_at is null limit 1`.execute(db);
  const [one] = rows;
  return one ? totpVault.open(one.user_id, one.secret_sealed) !== null : null;
}
