// SQL that is the same for every table of named nodes: id, name, description, parent_id, version.
// It must not know what the nodes stand for: the table is the caller's, a name of our own and never input.
import type { PageQuery } from '@castellan/contract/common';
import { type Kysely, sql, type Transaction } from 'kysely';
import { offsetOf } from '../http/pages.ts';

/** What can be changed of a node. */
export type NodeFields = { name: string; description: string; parent_id: string | null };
export type NodeRow = NodeFields & { id: string; version: number };

export async function countRoots<D>(db: Kysely<D>, table: string): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from ${sql.table(table)} where parent_id is null`.execute(db);
  return rows[0]?.total ?? 0;
}

/** One page of them, by name. */
export async function listRootIds<D>(db: Kysely<D>, table: string, page: PageQuery): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where parent_id is null order by lower(name), id
    limit ${page.size} offset ${offsetOf(page)}`.execute(db);
  return rows.map((row) => row.id);
}

/**
 * Those of the ids that are there, locked until the transaction ends, in the order of their ids. Not `for update`: whoever
 * changes a role or permission of the group refers to its row, and would have to wait in an order that is not his.
 */
export async function lockNodes<D>(
  tx: Transaction<D>,
  table: string,
  ids: readonly string[],
): Promise<NodeRow[]> {
  const { rows } = await sql<NodeRow>`
    select id, name, description, parent_id, version from ${sql.table(table)} where id = any(${ids}::uuid[])
    order by id for no key update`.execute(tx);
  return rows;
}

export async function updateNode<D>(
  tx: Transaction<D>,
  table: string,
  id: string,
  fields: NodeFields,
): Promise<void> {
  await sql`
    update ${sql.table(table)} set name = ${fields.name}, description = ${fields.description},
      parent_id = ${fields.parent_id}, updated_at = now()
    where id = ${id}`.execute(tx);
}

/** The fields alone, for the audit log. */
export const fieldsOf = ({ name, description, parent_id }: NodeFields): NodeFields => ({
  name,
  description,
  parent_id,
});
