// SQL of signing_keys, application_keys and revoked_signing_keys.
import { type RawBuilder, sql } from 'kysely';
import type { KeyAlgorithm, PublicJwk } from '../../../platform/security/signing-keys.ts';
import type { Db, Row, Tx } from '../../../schema/database.ts';

/** Keys of one family replace each other. Sessions are signed with Ed25519 alone, tokens of applications never. */
export type KeyFamily =
  | { purpose: 'session'; alg: 'EdDSA' }
  | { purpose: 'application'; alg: Exclude<KeyAlgorithm, 'EdDSA'> };

export const sessionKeys: KeyFamily = { purpose: 'session', alg: 'EdDSA' };
export const applicationKeys: readonly KeyFamily[] = [
  { purpose: 'application', alg: 'RS256' },
  { purpose: 'application', alg: 'ES256' },
];
export const keyFamilies: readonly KeyFamily[] = [sessionKeys, ...applicationKeys];

export type StoredKey = Pick<Row<'signing_keys'>, 'key_id' | 'private_key_sealed' | 'signs_from'> & {
  family: KeyFamily;
  public_jwk: PublicJwk;
  /**
   * Milliseconds until the key may sign; zero or less if it may. Taken from the database's clock when the row is read,
   * not from the start of the transaction, which may have waited for a lock.
   */
  waits_ms: number;
};

const tableOf = ({ purpose }: KeyFamily): RawBuilder<unknown> =>
  purpose === 'session' ? sql`signing_keys` : sql`application_keys`;

/**
 * Whether the key `k` belongs to the family. A database that the release before migrated lacks `signing_keys.purpose`, and
 * commands read its keys too, such as a backup before the upgrade. A newer instance may keep keys of further purposes there.
 */
const isOf = ({ purpose, alg }: KeyFamily): RawBuilder<unknown> =>
  purpose === 'session' ? isOfSessions : sql`k.alg = ${alg}`;
const isOfSessions = sql`coalesce(to_jsonb(k) ->> 'purpose', 'session') = 'session'`;

/** Returns whether this release, or a newer one, has migrated the database. */
async function hasApplicationTables(db: Db): Promise<boolean> {
  const { rows } = await sql<{ there: boolean }>`
    select to_regclass('application_keys') is not null as there`.execute(db);
  return rows[0]?.there ?? false;
}

const columns = sql`
  k.key_id, k.public_jwk, k.private_key_sealed, k.signs_from,
  (extract(epoch from k.signs_from - clock_timestamp()) * 1000)::float8 as waits_ms`;
const keysOfApplications = sql`
  union all
  select k.alg as key_alg, ${columns} from application_keys k`;

/** Returns the keys of all families, newest first. It names the columns, because a newer instance may have added some. */
export async function findSigningKeys(db: Db): Promise<StoredKey[]> {
  const { rows } = await sql<Omit<StoredKey, 'family'> & { key_alg: string }>`
    select 'EdDSA' as key_alg, ${columns} from signing_keys k where ${isOfSessions}
    ${(await hasApplicationTables(db)) ? keysOfApplications : sql``}
    order by signs_from desc, key_id`.execute(db);
  return rows.flatMap(({ key_alg, ...key }) => {
    // A newer instance may keep keys of further algorithms.
    const family = keyFamilies.find(({ alg }) => alg === key_alg);
    return family ? [{ ...key, family }] : [];
  });
}

/** Returns whether people can be signed in to an application. */
export async function hasActiveApplication(db: Db): Promise<boolean> {
  if (!(await hasApplicationTables(db))) return false;
  const { rows } = await sql`select from applications where is_active limit 1`.execute(db);
  return rows.length > 0;
}

/** Returns the families that need a key and have none. Applications need keys when there is one. */
export async function findMissingFamilies(tx: Tx): Promise<KeyFamily[]> {
  const { rows } = await sql<{ alg: string }>`
    select 'EdDSA' as alg where not exists (select from signing_keys k where ${isOfSessions})
    union all
    select needed.alg from (values ('RS256'), ('ES256')) needed (alg)
    where exists (select from applications)
      and not exists (select from application_keys k where k.alg = needed.alg)`.execute(tx);
  return keyFamilies.filter((family) => rows.some(({ alg }) => family.alg === alg));
}

/** Returns the ids of all keys, also of purposes and algorithms that this release does not know. */
export async function findKeyIds(tx: Tx): Promise<string[]> {
  const { rows } = await sql<{ key_id: string }>`
    select key_id from signing_keys union all select key_id from application_keys order by key_id`.execute(
    tx,
  );
  return rows.map(({ key_id }) => key_id);
}

export async function insertSigningKey(
  tx: Tx,
  { purpose, alg }: KeyFamily,
  key: Pick<Row<'signing_keys'>, 'key_id' | 'private_key_sealed'> & {
    public_jwk: string;
    delaySeconds: number;
  },
): Promise<void> {
  const signsFrom = sql`clock_timestamp() + make_interval(secs => ${key.delaySeconds})`;
  // The defaults of signing_keys are the purpose and the algorithm of sessions. The release before has no such columns.
  if (purpose === 'session')
    await sql`
      insert into signing_keys (key_id, public_jwk, private_key_sealed, signs_from)
      values (${key.key_id}, ${key.public_jwk}::jsonb, ${key.private_key_sealed}, ${signsFrom})`.execute(tx);
  else
    await sql`
      insert into application_keys (key_id, alg, public_jwk, private_key_sealed, signs_from)
      values (${key.key_id}, ${alg}, ${key.public_jwk}::jsonb, ${key.private_key_sealed}, ${signsFrom})`.execute(
      tx,
    );
}

/** Deletes keys of the family whose successor has been signing for this long. Returns their ids. */
export async function deleteRetiredKeys(
  db: Db,
  family: KeyFamily,
  retentionSeconds: number,
): Promise<string[]> {
  const { rows } = await sql<{ key_id: string }>`
    delete from ${tableOf(family)} k where ${isOf(family)} and k.signs_from < (
      select max(k.signs_from) from ${tableOf(family)} k
      where ${isOf(family)} and k.signs_from < now() - make_interval(secs => ${retentionSeconds}))
    returning key_id`.execute(db);
  return rows.map((row) => row.key_id);
}

/** Makes rotations, of every family and instance, run one after the other. */
export async function lockSigningKeys(tx: Tx): Promise<void> {
  await sql`lock table signing_keys in share row exclusive mode`.execute(tx);
}

/** If every key of the family is pending because a clock was set back, sets the oldest to sign from now, before any new key. */
export async function settleSigningKey(tx: Tx, family: KeyFamily): Promise<void> {
  await sql`
    update ${tableOf(family)} set signs_from = clock_timestamp()
    where key_id = (
        select k.key_id from ${tableOf(family)} k where ${isOf(family)} order by k.signs_from, k.key_id desc limit 1)
      and signs_from > clock_timestamp()`.execute(tx);
}

/** Deletes the keys of the family that would start to sign after this one and replace it. Returns their ids. */
export async function deleteKeysAfter(tx: Tx, family: KeyFamily, keyId: string): Promise<string[]> {
  const { rows } = await sql<{ key_id: string }>`
    delete from ${tableOf(family)} k where k.key_id <> ${keyId} and ${isOf(family)}
      and k.signs_from >= (select own.signs_from from ${tableOf(family)} own where own.key_id = ${keyId})
    returning k.key_id`.execute(tx);
  return rows.map((row) => row.key_id);
}

/**
 * Revokes the keys and with them every token they signed. Uses the time after the lock wait: keys signed until then.
 */
export async function revokeKeys(tx: Tx, keyIds: readonly string[]): Promise<void> {
  await sql`
    insert into revoked_signing_keys (key_id, revoked_at)
    select key_id, clock_timestamp() from unnest(${keyIds}::text[]) key_id on conflict do nothing`.execute(
    tx,
  );
  await sql`delete from signing_keys where key_id = any(${keyIds}::text[])`.execute(tx);
  if (await hasApplicationTables(tx))
    await sql`delete from application_keys where key_id = any(${keyIds}::text[])`.execute(tx);
}

export async function findRevokedAt(db: Db, keyId: string): Promise<Date | undefined> {
  const { rows } = await sql<{ revoked_at: Date }>`
    select revoked_at from revoked_signing_keys where key_id = ${keyId}`.execute(db);
  return rows[0]?.revoked_at;
}

/**
 * Returns revoked keys that may have live sessions. `settled` is true if no instance can still sign with the key.
 */
export async function findUnsweptKeys(
  db: Db,
  settleSeconds: number,
): Promise<{ key_id: string; settled: boolean }[]> {
  const { rows } = await sql<{ key_id: string; settled: boolean }>`
    select key_id, revoked_at <= now() - make_interval(secs => ${settleSeconds}) as settled
    from revoked_signing_keys where swept_at is null`.execute(db);
  return rows;
}

export async function markSwept(db: Db, keyIds: readonly string[]): Promise<void> {
  await sql`update revoked_signing_keys set swept_at = now() where key_id = any(${keyIds}::text[])`.execute(
    db,
  );
}

// Keeps the statement at a few milliseconds.
const SESSIONS_PER_PAGE = 1_000;

/**
 * Ends those live sessions of the next page, by id after `last`, whose refresh token was signed by one of the keys.
 * Skips locked sessions: it never waits, so it cannot take part in a deadlock. Returns `last` null after the last page.
 */
export async function endSessionsOfKeys(
  db: Db,
  keyIds: readonly string[],
  last: string | null,
): Promise<{ last: string | null; due: number; ended: number }> {
  const { rows } = await sql<{ last: string | null; due: number; ended: number }>`
    with page as (
      select id from sessions where ${last}::uuid is null or id > ${last}
      order by id limit ${SESSIONS_PER_PAGE}
    ), due as (
      select s.id from page join sessions s on s.id = page.id join users u on u.id = s.user_id
      where s.epoch = u.session_epoch and s.revoked_at is null and s.expires_at > now() and exists (
        select from session_tokens t where t.session_id = s.id and t.kind = 'refresh' and t.rotated_at is null
          and t.key_id = any(${keyIds}::text[]))
    ), free as (
      select id from sessions where id in (select id from due) and revoked_at is null
      for no key update skip locked
    ), ended as (
      update sessions set revoked_at = clock_timestamp(), revoked_reason = 'signing_key_revoked'
      where id in (select id from free) returning id
    )
    select (select id from page order by id desc limit 1) as last, (select count(*) from due)::int as due,
           (select count(*) from ended)::int as ended`.execute(db);
  const [page] = rows;
  if (!page) throw new Error('the statement returned no row');
  return page;
}
