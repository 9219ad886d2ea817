// SQL of the values of attributes.
import type { AttributeValues } from '@castellan/contract/user-attributes';
import { sql } from 'kysely';
import type { Db, Tx } from '../../schema/database.ts';
import type { Attribute } from './values.ts';

/** Returns the values of these users, by their names. A user without a value is missing. */
export async function findValues(
  db: Db | Tx,
  userIds: readonly string[],
): Promise<Map<string, AttributeValues>> {
  const { rows } = await sql<{ user_id: string; name: string; value: unknown }>`
    select v.user_id, a.name, v.value
    from user_attribute_values v join user_attributes a on a.id = v.attribute_id
    where v.user_id = any(${userIds}::uuid[]) order by v.user_id, a.name collate "C"`.execute(db);
  return new Map(
    [...Map.groupBy(rows, (row) => row.user_id)].map(([id, some]) => [
      id,
      Object.fromEntries(some.map(({ name, value }) => [name, value])),
    ]),
  );
}

/** Returns the values of a user that tokens may tell, by name. */
export async function findClaimValues(db: Db, userId: string): Promise<AttributeValues> {
  const { rows } = await sql<{ name: string; value: unknown }>`
    select a.name, v.value from user_attributes a
    join user_attribute_values v on v.attribute_id = a.id and v.user_id = ${userId}
    where a.claims order by a.name collate "C"`.execute(db);
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

export type WrittenValue = { userId: string; attribute: Attribute; value: unknown; key: Buffer };

/** Writes values of users whose rows the transaction has locked or created. */
export async function writeValues(tx: Tx, values: readonly WrittenValue[]): Promise<void> {
  if (values.length === 0) return;
  const rows = values.map(({ userId, attribute, value, key }) => ({
    user_id: userId,
    attribute_id: attribute.id,
    value,
    key: key.toString('hex'),
    is_unique: attribute.unique,
  }));
  await sql`
    insert into user_attribute_values (user_id, attribute_id, value, key, is_unique)
    select user_id, attribute_id, value, decode(key, 'hex'), is_unique
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as r (user_id uuid, attribute_id uuid, value jsonb, key text, is_unique boolean)
    on conflict on constraint user_attribute_values_user_id_attribute_id_pkey
    do update set value = excluded.value, key = excluded.key, is_unique = excluded.is_unique`.execute(tx);
}

export async function removeValues(
  tx: Tx,
  userId: string,
  attributes: readonly Pick<Attribute, 'id'>[],
): Promise<void> {
  if (attributes.length === 0) return;
  const ids = attributes.map(({ id }) => id);
  await sql`
    delete from user_attribute_values where user_id = ${userId} and attribute_id = any(${ids}::uuid[])`.execute(
    tx,
  );
}

/** Returns which of these values other users have, by attribute and key in hexadecimal digits. */
export async function findTaken(
  tx: Tx,
  values: readonly WrittenValue[],
): Promise<{ attribute_id: string; key: string; user_id: string }[]> {
  const unique = values.filter(({ attribute }) => attribute.unique);
  if (unique.length === 0) return [];
  const rows = unique.map(({ attribute, key }) => ({ attribute_id: attribute.id, key: key.toString('hex') }));
  const found = await sql<{ attribute_id: string; key: string; user_id: string }>`
    select v.attribute_id, r.key, v.user_id
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r (attribute_id uuid, key text)
    join user_attribute_values v on v.attribute_id = r.attribute_id and v.key = decode(r.key, 'hex') and v.is_unique`.execute(
    tx,
  );
  return found.rows;
}
