// SQL of sign-ins that wait for their second proof. Times come from the database.
// A transaction that opens or settles one must hold the lock of the user's row.
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';

/** Codes that travel (NIST SP 800-63B, 3.1.3.2). */
const LIFETIME_MINUTES = 10;
const MAX_OF_ACCOUNT = 100;
/** Wrong codes that one sign-in takes. */
const MAX_WRONG_CODES = 5;
const MAX_TRIES = 10;

type Pending = Row<'pending_sign_ins'>;

/** The key of a token or of a browser id: its SHA-256. */
export const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Opens a sign-in and returns when it ends. It replaces the one that this browser has open for the account. Beyond 100 of an
 * account, the oldest from unknown devices end first: somebody with the password cannot push out the owner's.
 */
export async function openPending(
  tx: Tx,
  pending: Pick<
    Pending,
    | 'token_hash'
    | 'user_id'
    | 'browser_hash'
    | 'device_id'
    | 'network'
    | 'session_epoch'
    | 'password_epoch'
    | 'identity_id'
    | 'provider_sid'
    | 'provider_id_token_sealed'
  >,
): Promise<Date> {
  const answer = await sql<{ expires_at: Date }>`
    with ended as (
      delete from pending_sign_ins where token_hash in (
        select token_hash from pending_sign_ins
        where user_id = ${pending.user_id} and browser_hash = ${pending.browser_hash}
        union all
        (select token_hash from pending_sign_ins
         where user_id = ${pending.user_id} and browser_hash <> ${pending.browser_hash}
         order by device_id is null, created_at desc, token_hash offset ${MAX_OF_ACCOUNT - 1})))
    insert into pending_sign_ins (token_hash, user_id, browser_hash, device_id, network, session_epoch, password_epoch,
      identity_id, provider_sid, provider_id_token_sealed, expires_at)
    values (${pending.token_hash}, ${pending.user_id}, ${pending.browser_hash}, ${pending.device_id}, ${pending.network},
      ${pending.session_epoch}, ${pending.password_epoch}, ${pending.identity_id}, ${pending.provider_sid},
      ${pending.provider_id_token_sealed}, now() + make_interval(mins => ${LIFETIME_MINUTES}))
    returning expires_at`.execute(tx);
  return onlyRow(answer).expires_at;
}

const isOpen = sql`p.completed_at is null and p.expires_at > now() and p.failures < ${MAX_WRONG_CODES}
  and p.session_epoch = u.session_epoch and p.password_epoch = u.password_epoch
  and (p.identity_id is null or exists (
    select from identities i join identity_providers v on v.id = i.provider_id
    where i.id = p.identity_id and i.user_id = p.user_id and v.is_active
      and (v.allow_superusers or not u.is_superuser)))`;

/**
 * Counts a try of any kind, before anything is verified. Returns whose sign-in it is, and the identity that it began with;
 * undefined if it is over, of another browser, or unknown.
 */
export async function takeTry(
  db: Db,
  { tokenHash, browserHash }: { tokenHash: Buffer; browserHash: Buffer },
): Promise<Pick<Pending, 'user_id' | 'identity_id'> | undefined> {
  const { rows } = await sql<Pick<Pending, 'user_id' | 'identity_id'>>`
    update pending_sign_ins p set tries = p.tries + 1 from users u
    where p.token_hash = ${tokenHash} and p.browser_hash = ${browserHash} and u.id = p.user_id
      and p.tries < ${MAX_TRIES} and ${isOpen}
    returning p.user_id, p.identity_id`.execute(db);
  return rows[0];
}

/** The account of an open sign-in, and whether it awaits recovery. */
export type PendingHolder = Pick<Row<'users'>, 'email' | 'recovery_pending' | 'recovery_handed_over'> & {
  now: Date;
};

/** Returns whose sign-in it is, without counting a try; undefined if it is over, of another browser, or unknown. */
export async function findPending(
  db: Db,
  { tokenHash, browserHash }: { tokenHash: Buffer; browserHash: Buffer },
): Promise<PendingHolder | undefined> {
  const { rows } = await sql<PendingHolder>`
    select u.email, u.recovery_pending, u.recovery_handed_over, now() as now
    from pending_sign_ins p join users u on u.id = p.user_id
    where p.token_hash = ${tokenHash} and p.browser_hash = ${browserHash} and p.tries < ${MAX_TRIES}
      and u.is_active and u.verified and ${isOpen}`.execute(db);
  return rows[0];
}

/**
 * Locks the provider of an identity against changes, before the row of the user: a provider that is made inactive ends the
 * sessions of both transactions, whichever commits second.
 */
export async function holdProviderOf(tx: Tx, identityId: string): Promise<void> {
  await sql`
    select from identity_providers v where v.id = (select i.provider_id from identities i where i.id = ${identityId})
    for share`.execute(tx);
}

type ReadPending = Pick<
  Pending,
  'failures' | 'tries' | 'device_id' | 'network' | 'identity_id' | 'provider_sid' | 'provider_id_token_sealed'
> & {
  /** The slug of the provider that it began at. */
  provider: string | null;
};

/** Returns the sign-in if it is still open under the lock of its user; undefined if it ended while it was verified. */
export async function readPending(tx: Tx, tokenHash: Buffer): Promise<ReadPending | undefined> {
  const { rows } = await sql<ReadPending>`
    select p.failures, p.tries, p.device_id, p.network, p.identity_id, p.provider_sid, p.provider_id_token_sealed,
      (select v.slug from identities i join identity_providers v on v.id = i.provider_id where i.id = p.identity_id)
        as provider
    from pending_sign_ins p join users u on u.id = p.user_id
    where p.token_hash = ${tokenHash} and ${isOpen}`.execute(tx);
  return rows[0];
}

/** Ends the sign-in with its session. */
export async function completePending(tx: Tx, tokenHash: Buffer): Promise<void> {
  await sql`update pending_sign_ins set completed_at = now() where token_hash = ${tokenHash}`.execute(tx);
}

/** Ends every sign-in of these users that waits. Those that end with the epoch of sessions need no such statement. */
export async function endPendingOf(tx: Tx, userIds: readonly string[]): Promise<void> {
  if (userIds.length === 0) return;
  await sql`delete from pending_sign_ins where user_id = any(${userIds}::uuid[])`.execute(tx);
}

/** Counts a wrong code. Returns how many more the sign-in takes. */
export async function failPending(tx: Tx, tokenHash: Buffer): Promise<number> {
  const answer = await sql<{ failures: number }>`
    update pending_sign_ins set failures = failures + 1 where token_hash = ${tokenHash}
    returning failures::integer`.execute(tx);
  return Math.max(0, MAX_WRONG_CODES - onlyRow(answer).failures);
}

/** Deletes sign-ins that ended more than an hour ago, in batches. Returns their number. */
export async function deleteExpiredPending(db: Db): Promise<number> {
  const batch = 2_000;
  let total = 0;
  for (let deleted = batch; deleted === batch; total += deleted) {
    const result = await sql`
      delete from pending_sign_ins where token_hash = any(array(
        select token_hash from pending_sign_ins where expires_at < now() - interval '1 hour'
        order by expires_at limit ${batch} for update skip locked))`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}
