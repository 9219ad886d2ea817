// Finds authenticator apps whose secret the SECRET_KEY does not open, as after its loss, and suspends them.
import { sql } from 'kysely';
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Db } from '../../schema/database.ts';
import { type Audited, recordChanges } from '../audit/service.ts';
import type { TotpVault } from './totp-vault.ts';

type Sealed = { user_id: string; secret_sealed: Buffer };
type UnreadableDeps = { db: Db; totpVault: TotpVault };

const BATCH = 1_000;
// Sorts before every id.
const FIRST = '00000000-0000-0000-0000-000000000000';

/** Suspends every app whose secret does not open, in batches. Returns how many. */
export async function suspendUnreadable(deps: UnreadableDeps & Audited): Promise<number> {
  let total = 0;
  for (let after = FIRST; ; ) {
    const { rows } = await sql<Sealed>`
      select user_id, secret_sealed from totp_factors where user_id > ${after} and suspended_at is null
      order by user_id limit ${sql.lit(BATCH)}`.execute(deps.db);
    const lost = rows.filter((row) => deps.totpVault.open(row.user_id, row.secret_sealed) === null);
    total += await suspend(
      deps,
      lost.map(({ user_id }) => user_id),
    );
    const last = rows.at(-1);
    if (!last || rows.length < BATCH) return total;
    after = last.user_id;
  }
}

const suspend = ({ db, auditLog }: Audited, userIds: readonly string[]): Promise<number> =>
  inTransaction(db, async (tx) => {
    if (userIds.length === 0) return 0;
    const { rows } = await sql<{ user_id: string; email: string }>`
      update totp_factors t set suspended_at = now() from users u
      where t.user_id = any(${userIds}::uuid[]) and t.suspended_at is null and u.id = t.user_id
      returning t.user_id, u.email`.execute(tx);
    await recordChanges(
      tx,
      auditLog,
      null,
      rows.map(({ user_id, email }) => ({
        action: 'totp_suspended',
        actorId: null,
        resourceId: user_id,
        details: { email, reason: 'secret_key', via: 'command_line' },
      })),
    );
    return rows.length;
  });

/** Returns whether the secret of one working app opens; null if there is none. */
export async function opensOne({ db, totpVault }: UnreadableDeps): Promise<boolean | null> {
  const { rows } = await sql<Sealed>`
    select user_id, secret_sealed from totp_factors where suspended_at is null limit 1`.execute(db);
  const [one] = rows;
  return one ? totpVault.open(one.user_id, one.secret_sealed) !== null : null;
}
