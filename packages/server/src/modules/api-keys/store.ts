// SQL that finds live API keys and the access tokens made from them, and notes when keys are used.
// Records of keys are written by the module service-accounts.
import type { Pool } from 'pg';
import { inOrder } from '../../platform/db/batched.ts';

/** A service account as its credential presents it. */
export type ClientRow = {
  account_id: string;
  account_name: string;
  /** Id of the API key, also for an access token made from it. */
  key_id: string;
  role_ids: string[];
  /** Ids of the permissions to which the key is narrowed; null if it is not. */
  narrowed_to: string[] | null;
  /** When the key ends; null if it does not end by itself. */
  key_expires_at: Date | null;
  /** Whether `last_used_at` of the key is older than this minute. */
  is_unnoted: boolean;
  /** Stamp of the role → permission graph in the same snapshot. */
  authz_stamp: string;
};

/** A key is `live`, or the reason why it is not. */
export type KeyRow = ClientRow & {
  state: 'live' | 'revoked' | 'expired' | 'inactive';
  key_created_at: Date;
  /** Time of the database. */
  now: Date;
};

const clientColumns = `
  a.id as account_id, a.name as account_name, k.id as key_id,
  array(select r.role_id from held_account_roles r where r.service_account_id = a.id) as role_ids,
  case when k.is_narrowed
    then array(select n.permission_id from api_key_permissions n where n.api_key_id = k.id) end as narrowed_to,
  k.expires_at as key_expires_at,
  k.last_used_at is null or k.last_used_at < date_trunc('minute', now()) as is_unnoted,
  (select stamp from authz_version) as authz_stamp`;

// Arrays in subqueries and `offset 0`: as in modules/sessions/token-lookup.ts.
const keysStatement = {
  name: 'api-keys-by-hash',
  text: `
    select wanted.ordinal, ${clientColumns}, k.created_at as key_created_at, now() as now,
      case when k.revoked_at is not null then 'revoked' when k.expires_at <= now() then 'expired'
           when not a.is_active then 'inactive' else 'live' end as state
    from unnest((select $1::bytea[])) with ordinality as wanted (secret_hash, ordinal)
    cross join lateral (select * from api_keys k where k.secret_hash = wanted.secret_hash offset 0) k
    cross join lateral (select * from service_accounts a where a.id = k.service_account_id offset 0) a`,
};

/** Returns the keys with these hashes, in their order; undefined for unknown ones. */
export async function findKeys(pool: Pool, hashes: readonly Buffer[]): Promise<(KeyRow | undefined)[]> {
  const { rows } = await pool.query<KeyRow & { ordinal: string }>({ ...keysStatement, values: [hashes] });
  return inOrder(rows, hashes.length);
}

const tokensStatement = {
  name: 'live-client-tokens',
  text: `
    select wanted.ordinal, ${clientColumns}
    from unnest((select $1::uuid[]), (select $2::bytea[])) with ordinality as wanted (account_id, token_hash, ordinal)
    cross join lateral (select * from client_tokens t
      where t.service_account_id = wanted.account_id and t.token_hash = wanted.token_hash offset 0) t
    cross join lateral (select * from api_keys k where k.id = t.api_key_id offset 0) k
    cross join lateral (select * from service_accounts a where a.id = t.service_account_id offset 0) a
    where t.expires_at > now() and t.epoch = a.token_epoch and a.is_active
      and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
      and t.key_id <> all (array(select key_id from revoked_signing_keys))`,
};

export type TokenKey = { accountId: string; tokenHash: Buffer };

/** Returns the accounts of live access tokens, in the order of the tokens; undefined for others. */
export async function findTokens(
  pool: Pool,
  tokens: readonly TokenKey[],
): Promise<(ClientRow | undefined)[]> {
  const { rows } = await pool.query<ClientRow & { ordinal: string }>({
    ...tokensStatement,
    values: [tokens.map((one) => one.accountId), tokens.map((one) => one.tokenHash)],
  });
  return inOrder(rows, tokens.length);
}

const noteStatement = {
  name: 'api-keys-note-use',
  text: `
    with used as (
      select id, service_account_id from api_keys
      where id = any($1::uuid[]) and (last_used_at is null or last_used_at < date_trunc('minute', now()))
      order by id for no key update skip locked
    ), accounts as (
      select id from service_accounts
      where id in (select service_account_id from used)
        and (last_used_at is null or last_used_at < date_trunc('minute', now()))
      order by id for no key update skip locked
    ), noted as (
      update service_accounts a set last_used_at = date_trunc('minute', now()) from accounts where a.id = accounts.id
    )
    update api_keys k set last_used_at = date_trunc('minute', now()) from used where k.id = used.id`,
};

/** Notes that these keys and their accounts were used in this minute. Skips rows that a change has locked. */
export async function noteUse(pool: Pool, keyIds: readonly string[]): Promise<void> {
  await pool.query({ ...noteStatement, values: [keyIds] });
}
