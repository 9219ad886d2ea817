// SQL of access tokens that were made from API keys. Which of them are live is decided in api-keys/store.ts.
// It must not delete a token that has not expired.
import { sql } from 'kysely';
import type { Db, Row } from '../../schema/database.ts';

export type NewClientToken = Omit<Row<'client_tokens'>, 'epoch'>;

/**
 * Adds a token to the allowlist in the current epoch of its account. Returns false if the account or the key ended
 * before this statement began.
 */
export async function insertClientToken(db: Db, token: NewClientToken): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    insert into client_tokens
      (service_account_id, token_hash, api_key_id, jti, key_id, epoch, issued_at, expires_at)
    select a.id, ${token.token_hash}::bytea, k.id, ${token.jti}::uuid, ${token.key_id}::text, a.token_epoch,
      ${token.issued_at}::timestamptz, ${token.expires_at}::timestamptz
    from api_keys k join service_accounts a on a.id = k.service_account_id
    where k.id = ${token.api_key_id} and a.id = ${token.service_account_id} and a.is_active
      and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())`.execute(db);
  return numAffectedRows > 0n;
}

/** Ends one token of this account. Returns its API key; undefined if the token had ended. The clean-up removes its row. */
export async function expireClientToken(
  db: Db,
  accountId: string,
  tokenHash: Buffer,
): Promise<{ api_key_id: string; account_name: string } | undefined> {
  const { rows } = await sql<{ api_key_id: string; account_name: string }>`
    update client_tokens t set expires_at = now()
    from service_accounts a
    where t.service_account_id = ${accountId} and t.token_hash = ${tokenHash} and t.expires_at > now()
      and a.id = t.service_account_id
    returning t.api_key_id, a.name as account_name`.execute(db);
  return rows[0];
}

/** Maximum rows that one statement deletes, so that it is short and holds few locks. */
const BATCH = 2_000;

/** Deletes expired tokens for at most `budgetMs`; the next call continues. Returns their number. */
export async function deleteExpiredClientTokens(db: Db, budgetMs: number): Promise<number> {
  const deadline = performance.now() + budgetMs;
  let total = 0;
  for (let deleted = BATCH; deleted === BATCH && performance.now() < deadline; total += deleted) {
    const result = await sql`
      delete from client_tokens where ctid = any(array(
        select ctid from client_tokens where expires_at < now()
        order by expires_at limit ${BATCH} for update skip locked))`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}
