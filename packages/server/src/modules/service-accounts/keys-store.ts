// SQL of the records of API keys. Authenticating with a key is in the module api-keys.
import { sql } from 'kysely';
import type { Db, Row, Tx } from '../../schema/database.ts';
import type { Entitled } from '../authz/change.ts';

export type KeyRecord = Pick<
  Row<'api_keys'>,
  'id' | 'name' | 'prefix' | 'expires_at' | 'last_used_at' | 'created_at' | 'revoked_at'
> & {
  /** Names of the permissions to which the key is narrowed, sorted; null if it is not. */
  permissions: string[] | null;
  permission_ids: string[] | null;
  /** `maker` if the narrowing is what the maker of the key held; null otherwise. */
  narrowed_by: 'maker' | null;
  is_ended: boolean;
  /** Milliseconds that the key was created for, whatever a rotation made of its end; null if it does not expire. */
  lifetime_ms: number | null;
};

// `is_ended` by the time of the statement: `now()` is when the transaction began, and another one may have ended the key
// while it waited for the account.
const keyColumns = sql`
  k.id, k.name, k.prefix, k.expires_at, k.last_used_at, k.created_at, k.revoked_at,
  case when k.is_narrowed then array(
    select p.name from api_key_permissions n join permissions p on p.id = n.permission_id
    where n.api_key_id = k.id order by p.name collate "C") end as permissions,
  case when k.is_narrowed then array(
    select n.permission_id from api_key_permissions n where n.api_key_id = k.id) end as permission_ids,
  case when k.is_narrowed_by_maker then 'maker' end as narrowed_by,
  k.revoked_at is not null or coalesce(k.expires_at <= statement_timestamp(), false) as is_ended,
  extract(epoch from k.lifetime)::float8 * 1000 as lifetime_ms`;

/** Returns every key of an account that is kept, newest first. */
export async function findKeysOf(db: Db, accountId: string): Promise<KeyRecord[]> {
  const { rows } = await sql<KeyRecord>`
    select ${keyColumns} from api_keys k where k.service_account_id = ${accountId}
    order by k.created_at desc, k.id desc`.execute(db);
  return rows;
}

/** Returns a key of the account; undefined if the account has no such key. */
export async function findKey(db: Db, accountId: string, id: string): Promise<KeyRecord | undefined> {
  const { rows } = await sql<KeyRecord>`
    select ${keyColumns} from api_keys k where k.service_account_id = ${accountId} and k.id = ${id}`.execute(
    db,
  );
  return rows[0];
}

/** Counts the live keys of an account, except one. */
export async function countLiveKeys(tx: Tx, accountId: string, except: string | null): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from api_keys
    where service_account_id = ${accountId} and id is distinct from ${except}::uuid and revoked_at is null
      and (expires_at is null or expires_at > statement_timestamp())`.execute(tx);
  return rows[0]?.total ?? 0;
}

type NewKey = Pick<Row<'api_keys'>, 'id' | 'name' | 'prefix' | 'secret_hash' | 'expires_at'> & {
  service_account_id: string;
  permissionIds: readonly string[] | null;
  is_narrowed_by_maker: boolean;
  made_with_key_ids: string[];
};

export async function insertKey({ tx }: Entitled, { permissionIds, ...key }: NewKey): Promise<void> {
  await tx
    .insertInto('api_keys')
    .values({ ...key, is_narrowed: permissionIds !== null })
    .execute();
  await sql`update api_keys set lifetime = expires_at - created_at where id = ${key.id}`.execute(tx);
  if (permissionIds === null || permissionIds.length === 0) return;
  await sql`
    insert into api_key_permissions (api_key_id, permission_id) select ${key.id}, unnest(${permissionIds}::uuid[])`.execute(
    tx,
  );
}

/** Deletes the ended keys of the account, except those that ended last: `keep` of them. */
export async function deleteOlderEndedKeys({ tx }: Entitled, accountId: string, keep: number): Promise<void> {
  await sql`
    delete from api_keys where id in (
      select k.id from api_keys k
      where k.service_account_id = ${accountId} and least(k.expires_at, k.revoked_at) <= now()
      order by least(k.expires_at, k.revoked_at) desc, k.id offset ${keep})`.execute(tx);
}

/** When the key ends by itself, and the recorded keys by which it came about, itself last. */
export type Lineage = { expires_at: Date | null; key_ids: string[] };

export async function findLineage(tx: Tx, id: string): Promise<Lineage | undefined> {
  const { rows } = await sql<Lineage>`
    select k.expires_at, array(
      select made.id from unnest(k.made_with_key_ids) with ordinality as made (id, place)
      where exists (select from api_keys a where a.id = made.id) order by made.place) || k.id as key_ids
    from api_keys k where k.id = ${id}`.execute(tx);
  return rows[0];
}

/** SQL condition on an API key: it was made with this one, directly or through others, and is live. */
const isLiveDescendantOf = (id: string) => sql`
  made_with_key_ids @> array[${id}]::uuid[] and revoked_at is null
  and (expires_at is null or expires_at > statement_timestamp())`;

export type Descendant = Pick<KeyRecord, 'id' | 'name' | 'prefix'> & { service_account_id: string };

/** Returns the live keys that were made with this one, directly or through others. */
export async function findDescendants(tx: Tx, id: string): Promise<Descendant[]> {
  const { rows } = await sql<Descendant>`
    select id, name, prefix, service_account_id from api_keys where ${isLiveDescendantOf(id)}
    order by created_at, id`.execute(tx);
  return rows;
}

/** Lets the live keys that were made with this one, except one, end with it at the latest. */
export async function endDescendantsWith({ tx }: Entitled, id: string, except: string): Promise<void> {
  await sql`
    update api_keys d set expires_at = k.expires_at from api_keys k
    where k.id = ${id} and d.made_with_key_ids @> array[k.id] and d.id <> ${except}
      and (d.expires_at is null or d.expires_at > k.expires_at)`.execute(tx);
}

/** Lets a key end after this many seconds, unless it ends earlier. Returns when it ends. */
export async function endKeyAfter({ tx }: Entitled, id: string, seconds: number): Promise<Date | undefined> {
  const { rows } = await sql<{ expires_at: Date | null }>`
    update api_keys set expires_at = least(expires_at, now() + make_interval(secs => ${seconds})) where id = ${id}
    returning expires_at`.execute(tx);
  return rows[0]?.expires_at ?? undefined;
}

export async function revokeKeys({ tx }: Entitled, ids: readonly string[]): Promise<void> {
  await sql`update api_keys set revoked_at = now() where id = any(${ids}::uuid[])`.execute(tx);
}

/** Deletes keys that ended more than `keepDays` ago. Returns their number. */
export async function deleteEndedKeys(db: Db, keepDays: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from api_keys
    where least(expires_at, revoked_at) < now() - make_interval(days => ${keepDays})`.execute(db);
  return Number(numAffectedRows);
}
