// SQL of signing_keys and revoked_signing_keys.
import { sql } from 'kysely';
import type { PublicJwk } from '../../platform/security/signing-keys.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';

export type StoredKey = Pick<Row<'signing_keys'>, 'key_id' | 'private_key_sealed' | 'signs_from'> & {
  public_jwk: PublicJwk;
  /**
   * Milliseconds until the key may sign; zero or less if it may. Taken from the database's clock when the row is read,
   * not from the start of the transaction, which may have waited for a lock.
   */
  waits_ms: number;
};

/**
 * Excludes keys of other purposes. A database that the release before migrated has no such column yet, and commands read its
 * keys too, such as a backup before the upgrade.
 */
const isOfSessions = sql<boolean>`coalesce(to_jsonb(signing_keys) ->> 'purpose', 'session') = 'session'`;

/** Returns the keys of sessions, newest first. It names the columns, because a newer instance may have added some. */
export const findSigningKeys = (db: Db): Promise<StoredKey[]> =>
  db
    .selectFrom('signing_keys')
    .select(['key_id', 'public_jwk', 'private_key_sealed', 'signs_from'])
    .select(sql<number>`(extract(epoch from signs_from - clock_timestamp()) * 1000)::float8`.as('waits_ms'))
    .where(isOfSessions)
    .orderBy('signs_from', 'desc')
    .orderBy('key_id')
    .$narrowType<{ public_jwk: PublicJwk }>()
    .execute();

/** Returns the ids of all keys, whatever their purpose. */
export const findKeyIds = async (db: Db): Promise<string[]> =>
  (await db.selectFrom('signing_keys').select('key_id').orderBy('key_id').execute()).map(
    ({ key_id }) => key_id,
  );

/** Adds a key of sessions. The defaults of the columns are its purpose and its algorithm. */
export async function insertSigningKey(
  tx: Tx,
  key: Pick<Row<'signing_keys'>, 'key_id' | 'private_key_sealed'> & {
    public_jwk: string;
    delaySeconds: number;
  },
): Promise<void> {
  await sql`
    insert into signing_keys (key_id, public_jwk, private_key_sealed, signs_from)
    values (${key.key_id}, ${key.public_jwk}::jsonb, ${key.private_key_sealed},
            clock_timestamp() + make_interval(secs => ${key.delaySeconds}))`.execute(tx);
}

/** Deletes keys of sessions whose successor has been signing for this long. Returns their ids. */
export async function deleteRetiredKeys(db: Db, retentionSeconds: number): Promise<string[]> {
  const { rows } = await sql<{ key_id: string }>`
    delete from signing_keys old
    where old.purpose = 'session' and exists (
      select from signing_keys successor
      where successor.purpose = old.purpose and successor.signs_from > old.signs_from
        and successor.signs_from < now() - make_interval(secs => ${retentionSeconds}))
    returning key_id`.execute(db);
  return rows.map((row) => row.key_id);
}

/** Locks the table against other writers until the transaction ends. It does not block readers. */
export async function lockSigningKeys(tx: Tx): Promise<void> {
  await sql`lock table signing_keys in share row exclusive mode`.execute(tx);
}

/** If every key is pending because a clock was set back, sets the oldest to sign from now, before any new key. */
export async function settleSigningKey(tx: Tx): Promise<void> {
  await sql`
    update signing_keys set signs_from = clock_timestamp()
    where key_id = (select key_id from signing_keys where ${isOfSessions} order by signs_from, key_id desc limit 1)
      and signs_from > clock_timestamp()`.execute(tx);
}

/** Deletes the keys that would start to sign after this one and replace it. Returns their ids. */
export async function deleteKeysAfter(tx: Tx, keyId: string): Promise<string[]> {
  const { rows } = await sql<{ key_id: string }>`
    delete from signing_keys where key_id <> ${keyId} and ${isOfSessions}
      and signs_from >= (select signs_from from signing_keys where key_id = ${keyId})
    returning key_id`.execute(tx);
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
