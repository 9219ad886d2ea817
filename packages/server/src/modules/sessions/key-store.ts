// SQL of signing_keys.
import { type Selectable, sql } from 'kysely';
import type { Database, Db, Tx } from '../../database.ts';

type StoredKey = Pick<
  Selectable<Database['signing_keys']>,
  'key_id' | 'public_jwk' | 'private_key_sealed' | 'signs_from'
> & {
  /** Until it may sign, by the database's clock; below zero when it may. */
  waits_ms: number;
};

/** Newest first. Columns are named: a newer instance may have added some. */
export const findSigningKeys = (db: Db): Promise<StoredKey[]> =>
  db
    .selectFrom('signing_keys')
    .select(['key_id', 'public_jwk', 'private_key_sealed', 'signs_from'])
    .select(sql<number>`(extract(epoch from signs_from - now()) * 1000)::float8`.as('waits_ms'))
    .orderBy('signs_from', 'desc')
    .orderBy('key_id')
    .execute();

export async function insertSigningKey(
  tx: Tx,
  key: { key_id: string; public_jwk: string; private_key_sealed: Buffer; delaySeconds: number },
): Promise<void> {
  await sql`
    insert into signing_keys (key_id, public_jwk, private_key_sealed, signs_from)
    values (${key.key_id}, ${key.public_jwk}::jsonb, ${key.private_key_sealed},
            now() + make_interval(secs => ${key.delaySeconds}))`.execute(tx);
}

/** Keys whose successor has signed for longer than any token lives. Answers their ids. */
export async function deleteRetiredKeys(db: Db, maxTokenSeconds: number): Promise<string[]> {
  const { rows } = await sql<{ key_id: string }>`
    delete from signing_keys old
    where exists (
      select from signing_keys successor
      where successor.signs_from > old.signs_from
        and successor.signs_from < now() - make_interval(secs => ${maxTokenSeconds}))
    returning key_id`.execute(db);
  return rows.map((row) => row.key_id);
}
