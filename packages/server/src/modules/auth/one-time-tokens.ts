// The tokens in mailed links: made, found, consumed once. Only their SHA-256 is stored.
// A purpose is part of every look-up: a token for one never serves another.
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Db, Tx } from '../../database.ts';
import { randomToken } from '../../platform/ids.ts';

export type Purpose = 'verify_email' | 'reset_password';

// Long enough to find the mail; a reset is worth more to a thief.
const lifetimeMinutes: Record<Purpose, number> = { verify_email: 24 * 60, reset_password: 30 };

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** The token's text; earlier ones of the same user and purpose end with it. */
export async function issueOneTimeToken(
  tx: Tx,
  purpose: Purpose,
  user: { id: string; email: string },
): Promise<string> {
  const token = randomToken();
  // The user's row serializes two issues at once: newest only.
  await sql`select from users where id = ${user.id} for update`.execute(tx);
  await endOneTimeTokens(tx, purpose, user.id);
  await sql`
    insert into one_time_tokens (token_hash, purpose, user_id, email, expires_at)
    values (${hashOf(token)}, ${purpose}, ${user.id}, ${user.email},
            now() + make_interval(mins => ${lifetimeMinutes[purpose]}))`.execute(tx);
  return token;
}

/** Whose live token this is; it stays usable. */
export async function findTokenOwner(db: Db, purpose: Purpose, token: string): Promise<string | undefined> {
  const { rows } = await sql<{ user_id: string }>`
    select t.user_id from one_time_tokens t join users u on u.id = t.user_id
    where t.token_hash = ${hashOf(token)} and t.purpose = ${purpose} and t.used_at is null and t.expires_at > now()
      and u.is_active and u.email = t.email`.execute(db);
  return rows[0]?.user_id;
}

/** Atomic: of any number of callers one gets the owner, in the transaction of what the token allows. */
export async function consumeOneTimeToken(
  tx: Tx,
  purpose: Purpose,
  token: string,
): Promise<{ user_id: string; email: string } | undefined> {
  // The user's row first, as everywhere: a sweep or a new link under way is waited for, not met in a deadlock.
  const { rows } = await sql<{ user_id: string; email: string }>`
    with owner as materialized (
      select u.id from users u join one_time_tokens t on t.user_id = u.id
      where t.token_hash = ${hashOf(token)} and t.purpose = ${purpose} and u.email = t.email and u.is_active
      for update of u)
    update one_time_tokens set used_at = now()
    where token_hash = ${hashOf(token)} and purpose = ${purpose} and used_at is null and expires_at > now()
      and user_id = (select id from owner)
    returning user_id, email`.execute(tx);
  return rows[0];
}

/** Ends what is pending; used tokens stay until they expire, so that a second click can be told from a wrong link. */
export async function endOneTimeTokens(tx: Tx, purpose: Purpose, userId: string): Promise<void> {
  await sql`
    delete from one_time_tokens where user_id = ${userId} and purpose = ${purpose} and used_at is null`.execute(
    tx,
  );
}

/** True when the token, used or expired, belongs to an account that is verified by now. */
export async function isOfVerifiedUser(db: Db, token: string): Promise<boolean> {
  const { rows } = await sql`
    select from one_time_tokens t join users u on u.id = t.user_id
    where t.token_hash = ${hashOf(token)} and t.purpose = 'verify_email' and u.verified`.execute(db);
  return rows.length > 0;
}

/** Rows that expired over a day ago. */
export async function deleteExpiredOneTimeTokens(db: Db): Promise<number> {
  const batch = 5_000;
  let total = 0;
  for (let deleted = batch; deleted === batch; total += deleted) {
    const result = await sql`
      delete from one_time_tokens where token_hash in (
        select token_hash from one_time_tokens where expires_at < now() - interval '1 day'
        limit ${batch} for update skip locked)`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}
