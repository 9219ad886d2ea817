// SQL of changes of one's own email address. What changes the address must hold the lock of the user's row.
import { sql } from 'kysely';
import { onlyRow } from '../../../platform/db/sql.ts';
import type { Db, Row, Tx } from '../../../schema/database.ts';
import { endLinksButUndo } from '../one-time-tokens.ts';

type Change = Row<'email_changes'>;
export type RequestedChange = Pick<Change, 'id' | 'user_id' | 'former_email' | 'new_email' | 'session_id'>;
export type ConfirmedChange = Pick<
  Change,
  'id' | 'user_id' | 'former_email' | 'requested_at' | 'confirmed_at'
> & {
  /** The address of the account now. */
  email: string;
};

/** Stores a request in the place of an earlier one of the account, whose link ends. */
export async function insertRequest(
  tx: Tx,
  { id, user_id, former_email, new_email, session_id }: RequestedChange,
): Promise<void> {
  await endRequests(tx, user_id);
  await sql`
    insert into email_changes (id, user_id, former_email, new_email, session_id, session_epoch)
    select ${id}, u.id, ${former_email}, ${new_email}, ${session_id}, u.session_epoch
    from users u where u.id = ${user_id}`.execute(tx);
}

/** Ends what the account has requested and not confirmed. */
async function endRequests(tx: Tx, userId: string): Promise<void> {
  await sql`
    delete from one_time_tokens where user_id = ${userId} and purpose = 'change_email' and used_at is null`.execute(
    tx,
  );
  await sql`delete from email_changes where user_id = ${userId} and confirmed_at is null`.execute(tx);
}

/** Marks a request as confirmed. Returns it with the transaction's time; undefined if it is gone or was confirmed. */
export async function confirmRequest(
  tx: Tx,
  id: string,
): Promise<(RequestedChange & { now: Date }) | undefined> {
  const { rows } = await sql<RequestedChange & { now: Date }>`
    update email_changes set confirmed_at = now() where id = ${id} and confirmed_at is null
    returning id, user_id, former_email, new_email, session_id, now() as now`.execute(tx);
  return rows[0];
}

/** Sets the address of a user whose row is locked; it is proved. Throws `users_email_key` if it is taken. */
export async function setEmail(tx: Tx, userId: string, email: string): Promise<void> {
  await sql`
    update users set email = ${email}, verified = true, updated_at = now() where id = ${userId}`.execute(tx);
}

/** Returns a change that was confirmed. */
export async function findConfirmed(db: Db, id: string): Promise<ConfirmedChange | undefined> {
  const { rows } = await sql<ConfirmedChange>`
    select c.id, c.user_id, c.former_email, c.requested_at, c.confirmed_at, u.email
    from email_changes c join users u on u.id = c.user_id
    where c.id = ${id} and c.confirmed_at is not null`.execute(db);
  return rows[0];
}

/** Returns the addresses of a change. */
export async function findAddresses(
  db: Db,
  id: string,
): Promise<Pick<Change, 'former_email' | 'new_email'> | undefined> {
  const { rows } = await sql<Pick<Change, 'former_email' | 'new_email'>>`
    select former_email, new_email from email_changes where id = ${id}`.execute(db);
  return rows[0];
}

/** Locks the user and, if there is one, the account that has this address. Both at once and in order, as changes of many users do. */
export async function lockWithHolder(tx: Tx, userId: string, email: string): Promise<void> {
  await sql`
    select from users where id = ${userId} or email = ${email} order by id for update`.execute(tx);
}

export async function findHolderId(tx: Tx, email: string): Promise<string | undefined> {
  const { rows } = await sql<Pick<Row<'users'>, 'id'>>`
    select id from users where email = ${email}`.execute(tx);
  return rows[0]?.id;
}

/** Ends the mailed links of the user, except those that undo changes; with `undo`, those of that change and later ones, too. */
export async function endOtherLinks(
  tx: Tx,
  userId: string,
  undo: Pick<ConfirmedChange, 'confirmed_at'> | null = null,
): Promise<void> {
  await endLinksButUndo(tx, userId);
  await endRequests(tx, userId);
  if (!undo) return;
  await sql`
    with undone as (
      delete from email_changes where user_id = ${userId} and confirmed_at >= ${undo.confirmed_at} returning id)
    delete from one_time_tokens t using undone
    where t.user_id = ${userId} and t.purpose = 'revert_email' and t.email_change_id = undone.id
      and t.used_at is null`.execute(tx);
}

/** What an undo takes away. */
export type Removed = {
  totp: boolean;
  passkeys: number;
  recovery_codes: number;
  identities: number;
  devices: number;
};

/**
 * Removes what lets somebody in and has come to the account since that time: factors, identities and known devices. Set-ups and
 * sign-ins under way end, whenever they began.
 */
export async function removeAddedSince(tx: Tx, userId: string, since: Date): Promise<Removed> {
  await sql`delete from totp_enrolments where user_id = ${userId}`.execute(tx);
  await sql`delete from pending_sign_ins where user_id = ${userId}`.execute(tx);
  return onlyRow(
    await sql<Removed>`
      with apps as (
        delete from totp_factors where user_id = ${userId} and created_at >= ${since} returning 1
      ), keys as (
        delete from passkeys where user_id = ${userId} and created_at >= ${since} returning 1
      ), codes as (
        delete from recovery_codes where user_id = ${userId} and created_at >= ${since} returning 1
      ), gone as (
        delete from identities where user_id = ${userId} and created_at >= ${since} returning 1
      ), forgotten as (
        delete from devices where user_id = ${userId} and created_at >= ${since} returning 1
      )
      select exists (select from apps) as totp, (select count(*)::integer from keys) as passkeys,
        (select count(*)::integer from codes) as recovery_codes, (select count(*)::integer from gone) as identities,
        (select count(*)::integer from forgotten) as devices`.execute(tx),
  );
}

/** Returns whether a used link confirmed the address that its account still has. */
export async function isOfPresentEmail(db: Db, tokenHash: Buffer): Promise<boolean> {
  const { rows } = await sql`
    select from one_time_tokens t join email_changes c on c.id = t.email_change_id join users u on u.id = c.user_id
    where t.token_hash = ${tokenHash} and t.purpose = 'change_email' and t.used_at is not null
      and c.confirmed_at is not null and u.email = c.new_email`.execute(db);
  return rows.length > 0;
}

/** Deletes changes whose links have ended, in batches. Returns their number. */
export async function deleteOldChanges(db: Db, days: number): Promise<number> {
  const batch = 2_000;
  let total = 0;
  for (let deleted = batch; deleted === batch; total += deleted) {
    const { numAffectedRows = 0n } = await sql`
      delete from email_changes where id = any(array(
        select id from email_changes where requested_at < now() - make_interval(days => ${days})
        order by requested_at limit ${batch} for update skip locked))`.execute(db);
    deleted = Number(numAffectedRows);
  }
  return total;
}
