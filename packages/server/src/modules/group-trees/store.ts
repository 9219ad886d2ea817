// SQL that role groups and permission groups share.
import type { PageQuery } from '@castellan/contract/common';
import { sql } from 'kysely';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { offsetOf } from '../../platform/pages.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import type { Entitled } from '../authz/change.ts';

export type TreeTable = 'role_groups' | 'permission_groups';

/** The fields of a group that can be changed. */
export type GroupFields = Pick<Row<TreeTable>, 'name' | 'description' | 'parent_id'>;
export type GroupNode = GroupFields & Pick<Row<TreeTable>, 'id' | 'version'>;
export type NewGroup = GroupFields & { id: string; created_by_id: string | null };

/** Returns the changeable fields, for the audit log. */
export const fieldsOf = ({ name, description, parent_id }: GroupFields): GroupFields => ({
  name,
  description,
  parent_id,
});

export async function countRoots(db: Db, table: TreeTable): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from ${sql.table(table)} where parent_id is null`.execute(db);
  return rows[0]?.total ?? 0;
}

/** Returns the ids of one page of root groups, sorted by name. */
export async function listRootIds(db: Db, table: TreeTable, page: PageQuery): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`${plannedForValues}
    select id from ${sql.table(table)} where parent_id is null order by lower(name), id
    limit ${page.size} offset ${offsetOf(page)}`.execute(db);
  return rows.map((row) => row.id);
}

/**
 * Locks the groups until the transaction ends, in the order of the ids, and returns those found. Not `for update`:
 * changing a role or permission of the group references the row, and would wait for it outside the lock order.
 */
export async function lockNodes(tx: Tx, table: TreeTable, ids: readonly string[]): Promise<GroupNode[]> {
  const { rows } = await sql<GroupNode>`
    select id, name, description, parent_id, version from ${sql.table(table)} where id = any(${ids}::uuid[])
    order by id for no key update`.execute(tx);
  return rows;
}

/**
 * Inserts groups. The parent of a group may be inserted with it, because foreign keys are checked after the statement.
 */
export async function insertNodes(
  { tx }: Entitled,
  table: TreeTable,
  groups: readonly NewGroup[],
): Promise<void> {
  await sql`
    insert into ${sql.table(table)} (id, name, description, parent_id, created_by_id)
    select id, name, description, parent_id, created_by_id
    from jsonb_to_recordset(${JSON.stringify(groups)}::jsonb)
      as g (id uuid, name text, description text, parent_id uuid, created_by_id uuid)`.execute(tx);
}

export async function updateNode(
  { tx }: Entitled,
  table: TreeTable,
  { id, ...fields }: GroupFields & { id: string },
): Promise<void> {
  await sql`
    update ${sql.table(table)} set name = ${fields.name}, description = ${fields.description},
      parent_id = ${fields.parent_id}, updated_at = now()
    where id = ${id}`.execute(tx);
}

/** Deletes groups, which may include parents and their children. */
export async function deleteNodes({ tx }: Entitled, table: TreeTable, ids: readonly string[]): Promise<void> {
  await sql`
    update ${sql.table(table)} set parent_id = null
    where parent_id = any(${ids}::uuid[]) and id = any(${ids}::uuid[])`.execute(tx);
  await sql`delete from ${sql.table(table)} where id = any(${ids}::uuid[])`.execute(tx);
}
