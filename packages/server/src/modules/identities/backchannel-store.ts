// SQL of logout tokens of providers: which were used, and the sessions that they name.
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Db, Tx } from '../../schema/database.ts';

/** Notes that a token is used, until it can no longer count. Returns false if it was used before. */
export async function useLogoutToken(
  tx: Tx,
  { providerId, jti, expiresAt }: { providerId: string; jti: string; expiresAt: Date },
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    insert into used_logout_tokens (provider_id, jti_hash, expires_at)
    values (${providerId}, ${createHash('sha256').update(jti).digest()}, ${expiresAt})
    on conflict (provider_id, jti_hash) do nothing`.execute(tx);
  return numAffectedRows > 0n;
}

/** Whom a token names: a session at the provider, one of its subjects, or both. */
export type Named = { providerId: string; issuer: string; sub: string | null; sid: string | null };

/**
 * SQL condition on an identity `i` and a session or a pending sign-in `s` that began with it. A session of which the provider did not
 * say which it is there counts if the token names its subject: otherwise it would outlive the sign-out.
 */
const isNamed = ({ providerId, issuer, sub, sid }: Named) => sql`
  i.provider_id = ${providerId} and i.issuer = ${issuer} and ${sub === null ? sql`true` : sql`i.subject = ${sub}`}
  and ${sid === null ? sql`true` : sql`(s.provider_sid = ${sid}${sub === null ? sql`` : sql` or s.provider_sid is null`})`}`;

/** Returns the ids of the users who have a session that the token names, or wait for a second factor after such a sign-in. */
export async function findNamedUsers(tx: Tx, named: Named): Promise<string[]> {
  const { rows } = await sql<{ user_id: string }>`
    select s.user_id from sessions s join identities i on i.id = s.identity_id
    where s.revoked_at is null and s.user_id = i.user_id and ${isNamed(named)}
    union
    select s.user_id from pending_sign_ins s join identities i on i.id = s.identity_id
    where s.user_id = i.user_id and ${isNamed(named)}`.execute(tx);
  return rows.map(({ user_id }) => user_id);
}

/** Locks these users in the order of their ids, so that none of their sign-ins is half done. */
export async function lockUsers(tx: Tx, ids: readonly string[]): Promise<void> {
  await sql`select from users where id = any(${ids}::uuid[]) order by id for no key update`.execute(tx);
}

/** Ends the sign-ins that wait, and returns the ids of the sessions that the token names. Call it with the users locked. */
export async function takeNamed(tx: Tx, named: Named, userIds: readonly string[]): Promise<string[]> {
  await sql`
    delete from pending_sign_ins s using identities i
    where s.user_id = any(${userIds}::uuid[]) and i.id = s.identity_id and ${isNamed(named)}`.execute(tx);
  const { rows } = await sql<{ id: string }>`
    select s.id from sessions s join identities i on i.id = s.identity_id
    where s.user_id = any(${userIds}::uuid[]) and s.revoked_at is null and ${isNamed(named)} order by s.id`.execute(
    tx,
  );
  return rows.map(({ id }) => id);
}

/** Maximum rows that one statement deletes. */
const BATCH = 2_000;

/** Deletes what is noted of tokens that can no longer count, for at most `budgetMs`. Returns the number. */
export async function forgetUsedLogoutTokens(db: Db, budgetMs: number): Promise<number> {
  const deadline = performance.now() + budgetMs;
  let total = 0;
  for (let deleted = BATCH; deleted === BATCH && performance.now() < deadline; total += deleted) {
    const result = await sql`
      delete from used_logout_tokens where ctid = any(array(
        select ctid from used_logout_tokens where expires_at < now()
        order by expires_at limit ${BATCH} for update skip locked))`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}
