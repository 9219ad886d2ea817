// Issues, finds and consumes the one-time tokens of mailed links. Only their SHA-256 hash is stored.
// Every lookup includes the purpose, so that a token cannot be used for another one.
import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { randomToken } from '../../platform/ids.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';

export type Purpose = Row<'one_time_tokens'>['purpose'];

// A day is enough to find the mail. A reset link is shorter, because a stolen one gives access to the account.
// An invitation says itself how long its links work. That of a deletion works until the account is removed.
export const lifetimeMinutes: Record<Exclude<Purpose, 'invitation' | 'undo_deletion'>, number> = {
  verify_email: 24 * 60,
  reset_password: 30,
  recover: 24 * 60,
  change_email: 24 * 60,
  // The owner of a hijacked account may not read the mail at once.
  revert_email: 7 * 24 * 60,
};

/** Returns what the table holds of a token. */
export const hashOfToken = (token: string): Buffer => createHash('sha256').update(token).digest();

/**
 * Issues a token and ends earlier ones of the same user and purpose. Returns its text; null if the account was deleted
 * or deactivated, got another email, had its links ended or accepted its invitation since `user` was read. Invited accounts have
 * links of invitations alone, and others have none. So it is with accounts that their owners deleted, and links that undo this; such an
 * account also has those that undo changes of its address.
 * `emailChangeId`: of the change that the link confirms or undoes; then only earlier tokens of that change end.
 */
export async function issueOneTimeToken(
  tx: Tx,
  purpose: Purpose,
  user: Pick<Row<'users'>, 'id' | 'email' | 'link_epoch'>,
  emailChangeId: string | null = null,
): Promise<string | null> {
  const token = randomToken();
  // The row lock serializes parallel calls, so that only the newest token stays valid.
  const { rows } = await sql<Pick<Row<'users'>, 'invitation_hours' | 'deletion_due_at'>>`
    select invitation_hours, deletion_due_at from users
    where id = ${user.id} and email = ${user.email} and link_epoch = ${user.link_epoch}
      and ${fitsState(purpose)}
      and (invited_at is not null) = ${purpose === 'invitation'}::boolean
    for update`.execute(tx);
  const [found] = rows;
  if (!found) return null;
  await sql`
    delete from one_time_tokens where user_id = ${user.id} and purpose = ${purpose} and used_at is null
      and email_change_id is not distinct from ${emailChangeId}`.execute(tx);
  const minutes = minutesOf(purpose, found);
  if (purpose === 'invitation')
    await sql`
      update users set invitation_sent_at = now(), invitation_expires_at = now() + make_interval(mins => ${minutes})
      where id = ${user.id}`.execute(tx);
  await sql`
    insert into one_time_tokens (token_hash, purpose, user_id, email, email_change_id, expires_at)
    values (${hashOfToken(token)}, ${purpose}, ${user.id}, ${user.email}, ${emailChangeId},
            greatest(${purpose === 'undo_deletion' ? found.deletion_due_at : null}::timestamptz, now()) + make_interval(mins => ${minutes}))`.execute(
    tx,
  );
  return token;
}

/** Condition on the state of an account for which a link is issued. The owner of an account that somebody else deleted gets it back. */
function fitsState(purpose: Purpose): RawBuilder<unknown> {
  if (purpose === 'undo_deletion') return sql`deletion_due_at is not null and not is_active`;
  return purpose === 'revert_email' ? sql`(is_active or deletion_due_at is not null)` : sql`is_active`;
}

/**
 * How long the link that undoes a deletion works after the account is due: longer than CLEANUP_INTERVAL_MINUTES can put the
 * removal off. It ends with the account.
 */
const MINUTES_AFTER_DUE = 100_000;

/** Returns how long a link works; one that undoes a deletion, from when the account is due. */
function minutesOf(purpose: Purpose, { invitation_hours }: Pick<Row<'users'>, 'invitation_hours'>): number {
  if (purpose === 'invitation') return (invitation_hours ?? 0) * 60;
  return purpose === 'undo_deletion' ? MINUTES_AFTER_DUE : lifetimeMinutes[purpose];
}

/** Returns the key by which uses of one link take turns in the gate. It does not reveal the token. */
export const turnKeyOf = (token: string): string => `link ${hashOfToken(token).toString('base64')}`;

// After an invitation was accepted, its links do nothing; before, the account has no other links. Likewise, while an account
// waits for its deletion, there are only the link that undoes it and those that undo changes of its address: all others belong to
// active accounts.
const fitsAccount = sql`(t.purpose = 'invitation') = (u.invited_at is not null)
      and case t.purpose
        when 'undo_deletion' then u.deletion_due_at is not null and not u.is_active
        when 'revert_email' then u.is_active or u.deletion_due_at is not null
        else u.is_active end`;

// A link that undoes a change works whatever the address is by then: a hijacker can change it more than once.
const isOfAddress = sql`(u.email = t.email or t.purpose = 'revert_email')`;

// A request to change the address ends with all sessions. The link of a change that is confirmed or gone confirms nothing.
const hasChange = sql`(t.email_change_id is null or exists (
  select from email_changes c where c.id = t.email_change_id and c.user_id = u.id
    and (c.confirmed_at is not null) = (t.purpose = 'revert_email')
    and (t.purpose = 'revert_email' or c.session_epoch = u.session_epoch)))`;

const isOpen = sql`${isOfAddress} and ${fitsAccount} and ${hasChange}`;

type Owned = Pick<Row<'one_time_tokens'>, 'user_id' | 'email' | 'email_change_id'>;

/** Returns the token's user; undefined if the token is invalid. The token stays usable. */
export async function findTokenOwner(db: Db, purpose: Purpose, token: string): Promise<Owned | undefined> {
  const { rows } = await sql<Owned>`
    select t.user_id, t.email, t.email_change_id from one_time_tokens t join users u on u.id = t.user_id
    where t.token_hash = ${hashOfToken(token)} and t.purpose = ${purpose} and t.used_at is null and t.expires_at > now()
      and ${isOpen}`.execute(db);
  return rows[0];
}

/**
 * Uses the token up and returns its user and email; undefined if it is invalid. Of parallel callers only one succeeds.
 * Call it in the transaction of the change that the token allows.
 */
export async function consumeOneTimeToken(
  tx: Tx,
  purpose: Purpose,
  token: string,
): Promise<Owned | undefined> {
  // Locks the user's row first, as everywhere, to avoid deadlocks with the clean-up and with new links. A used or
  // expired link locks nothing, so that it cannot be used to block the account.
  const { rows } = await sql<Owned>`
    with owner as materialized (
      select u.id from users u join one_time_tokens t on t.user_id = u.id
      where t.token_hash = ${hashOfToken(token)} and t.purpose = ${purpose} and t.used_at is null and t.expires_at > now()
        and ${isOpen}
      for update of u)
    update one_time_tokens set used_at = now()
    where token_hash = ${hashOfToken(token)} and purpose = ${purpose} and used_at is null and expires_at > now()
      and user_id = (select id from owner)
    returning user_id, email, email_change_id`.execute(tx);
  return rows[0];
}

/**
 * Uses up a token of this user; false if it is invalid or somebody else's, which stays usable. Call it under the lock of the
 * user's row, in the transaction of the change that the token allows.
 */
export async function consumeTokenOf(
  tx: Tx,
  userId: string,
  { purpose, token }: { purpose: Purpose; token: string },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update one_time_tokens t set used_at = now() from users u
    where t.token_hash = ${hashOfToken(token)} and t.purpose = ${purpose} and t.used_at is null
      and t.expires_at > clock_timestamp() and t.user_id = ${userId}
      and u.id = t.user_id and u.email = t.email and u.is_active`.execute(tx);
  return numAffectedRows === 1n;
}

/** Deletes unused tokens. Used tokens stay until they expire, so that a second click is told from a wrong link. */
export async function endOneTimeTokens(tx: Tx, purpose: Purpose, userId: string): Promise<void> {
  await sql`
    delete from one_time_tokens where user_id = ${userId} and purpose = ${purpose} and used_at is null`.execute(
    tx,
  );
}

/**
 * Ends the mailed links of the user, except those that undo changes of the address: a person who knows the password must not end them. Call
 * it under the lock of the user's row.
 */
export async function endLinksButUndo(tx: Tx, userId: string): Promise<void> {
  await sql`
    delete from one_time_tokens where user_id = ${userId} and used_at is null and purpose <> 'revert_email'`.execute(
    tx,
  );
}

/** Returns whether the token, even if used or expired, belongs to a verified account. */
export async function isOfVerifiedUser(
  db: Db,
  token: string,
  purpose: Purpose = 'verify_email',
): Promise<boolean> {
  const { rows } = await sql`
    select from one_time_tokens t join users u on u.id = t.user_id
    where t.token_hash = ${hashOfToken(token)} and t.purpose = ${purpose} and u.verified`.execute(db);
  return rows.length > 0;
}

/** Deletes tokens that expired more than a day ago, in batches. Returns their number. */
export async function deleteExpiredOneTimeTokens(db: Db): Promise<number> {
  const batch = 2_000;
  let total = 0;
  for (let deleted = batch; deleted === batch; total += deleted) {
    const result = await sql`
      delete from one_time_tokens where token_hash = any(array(
        select token_hash from one_time_tokens where expires_at < now() - interval '1 day'
        order by expires_at limit ${batch} for update skip locked))`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}
