// SQL of the catalogue of user attributes.
import type { PageQuery } from '@castellan/contract/common';
import type { UserAttribute } from '@castellan/contract/user-attributes';
import { sql } from 'kysely';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { offsetOf } from '../../platform/pages.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import type { Entitled } from '../authz/change.ts';
import type { Definition } from './definition.ts';

export type AttributeRow = Omit<UserAttribute, 'created_at' | 'updated_at'> &
  Pick<Row<'user_attributes'>, 'created_at' | 'updated_at' | 'version'>;

const columns = sql`
  a.id, a.name, a.label, a.description, a.type, a."values", a.max_length, a."unique", a.searchable, a.self, a.required,
  a.claims, a.sensitive, a.created_at, a.updated_at, a.created_by_id, a.version`;

/** Of the whole catalogue: values are written beside one another, and the catalogue changes alone. */
const LOCK = sql`hashtextextended('user attributes', 0)`;

/** Keeps the catalogue as it is until the transaction ends. */
export async function keepCatalogue(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock_shared(${LOCK})`.execute(tx);
}

/** Keeps everybody else from the catalogue and from writing values until the transaction ends. */
export async function lockCatalogue(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx);
}

/** Returns all attributes, by name. */
export async function findAttributes(db: Db | Tx): Promise<AttributeRow[]> {
  const { rows } = await sql<AttributeRow>`
    select ${columns} from user_attributes a order by a.name collate "C"`.execute(db);
  return rows;
}

export async function findAttribute(db: Db | Tx, id: string): Promise<AttributeRow | undefined> {
  const { rows } =
    await sql<AttributeRow>`select ${columns} from user_attributes a where a.id = ${id}`.execute(db);
  return rows[0];
}

/** Returns one page of attributes, sorted by name, and how many there are. */
export async function listAttributes(
  db: Db,
  page: PageQuery,
): Promise<{ total: number; rows: AttributeRow[] }> {
  const { rows } = await sql<AttributeRow>`${plannedForValues}
    select ${columns} from user_attributes a order by a.name collate "C"
    limit ${page.size} offset ${offsetOf(page)}::bigint`.execute(db);
  return { total: await countAttributes(db), rows };
}

export async function countAttributes(db: Db | Tx): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from user_attributes`.execute(db);
  return rows[0]?.total ?? 0;
}

export async function insertAttribute(
  { tx }: Entitled,
  attribute: Definition & { id: string; created_by_id: string | null },
): Promise<void> {
  await tx.insertInto('user_attributes').values(attribute).execute();
}

export async function updateAttribute({ tx }: Entitled, id: string, fields: Definition): Promise<void> {
  await tx
    .updateTable('user_attributes')
    .set(({ fn }) => ({ ...fields, updated_at: fn<Date>('now') }))
    .where('id', '=', id)
    .execute();
}

export async function deleteAttribute({ tx }: Entitled, id: string): Promise<void> {
  await sql`delete from user_attributes where id = ${id}`.execute(tx);
}

export async function countValues(tx: Tx, id: string): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from user_attribute_values where attribute_id = ${id}`.execute(tx);
  return rows[0]?.total ?? 0;
}

export async function countValuesWithKeys(tx: Tx, id: string, keys: readonly Buffer[]): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from user_attribute_values
    where attribute_id = ${id} and key = any(${keys}::bytea[])`.execute(tx);
  return rows[0]?.total ?? 0;
}

export async function countLongerValues(tx: Tx, id: string, length: number): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from user_attribute_values
    where attribute_id = ${id} and char_length(value #>> '{}') > ${length}`.execute(tx);
  return rows[0]?.total ?? 0;
}

/** Returns how many users share their value with another one. */
export async function countSharedValues(tx: Tx, id: string): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select coalesce(sum(users), 0)::integer as total from (
      select count(*) as users from user_attribute_values where attribute_id = ${id} group by key having count(*) > 1
    ) shared`.execute(tx);
  return rows[0]?.total ?? 0;
}

/** One statement writes 20,000 rows: a second of work at most, far below the time limit of a statement. */
const LAST_OF_BATCH = sql.lit(19_999);

/** A place in the order of the values of an attribute. */
type Place = { key: Buffer; user_id: string };
type Part = { after: Place; last: Place };

const beforeAll: Place = { key: Buffer.alloc(0), user_id: '00000000-0000-0000-0000-000000000000' };
/** Longer than any key, and so after all of them. */
const afterAll: Place = { key: Buffer.alloc(33, 0xff), user_id: beforeAll.user_id };

/** Shares out the values of an attribute, in parts that end after `LAST_OF_BATCH`. */
async function* partsOf(tx: Tx, id: string): AsyncGenerator<Part> {
  for (let after = beforeAll; after !== afterAll; ) {
    const { rows } = await sql<Place>`
      select v.key, v.user_id from user_attribute_values v
      where v.attribute_id = ${id} and (v.key, v.user_id) > (${after.key}::bytea, ${after.user_id}::uuid)
      order by v.key, v.user_id limit 1 offset ${LAST_OF_BATCH}`.execute(tx);
    const last: Place = rows[0] ?? afterAll;
    yield { after, last };
    after = last;
  }
}

/** Makes the database keep the values of the attribute unique, or no longer. */
export async function setUnique({ tx }: Entitled, id: string, isUnique: boolean): Promise<void> {
  for await (const { after, last } of partsOf(tx, id))
    await sql`
      update user_attribute_values v set is_unique = ${isUnique}
      where v.attribute_id = ${id} and (v.key, v.user_id) > (${after.key}::bytea, ${after.user_id}::uuid)
        and (v.key, v.user_id) <= (${last.key}::bytea, ${last.user_id}::uuid)`.execute(tx);
}

/** Removes all values of the attribute. Returns how many there were. */
export async function deleteValues({ tx }: Entitled, id: string): Promise<number> {
  let removed = 0n;
  for await (const { after, last } of partsOf(tx, id)) {
    const { numAffectedRows = 0n } = await sql`
      delete from user_attribute_values v
      where v.attribute_id = ${id} and (v.key, v.user_id) > (${after.key}::bytea, ${after.user_id}::uuid)
        and (v.key, v.user_id) <= (${last.key}::bytea, ${last.user_id}::uuid)`.execute(tx);
    removed += numAffectedRows;
  }
  return Number(removed);
}
