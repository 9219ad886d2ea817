// SQL of API resources.
import type { ApiResource, ApiResourceListQuery } from '@castellan/contract/api-resources';
import { type RawBuilder, sql } from 'kysely';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { containsWord, wordsOf } from '../../platform/db/text-search.ts';
import { offsetOf } from '../../platform/pages.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import type { Entitled } from '../authz/change.ts';

export type ApiResourceRow = Omit<ApiResource, 'created_at' | 'updated_at'> &
  Pick<Row<'api_resources'>, 'created_at' | 'updated_at' | 'version'>;
/** Everything that a change of the record may change. */
export type ApiResourceFields = Pick<
  ApiResource,
  'identifier' | 'name' | 'description' | 'permission_group_ids' | 'access_token_seconds' | 'signing_alg'
>;

const columns = sql`
  r.id, r.identifier, r.name, r.description, r.access_token_seconds, r.signing_alg, r.created_at, r.updated_at, r.created_by_id,
  r.version, array(select g.permission_group_id from api_resource_groups g where g.api_resource_id = r.id
    order by g.permission_group_id) as permission_group_ids`;

export async function findApiResource(db: Db, id: string): Promise<ApiResourceRow | undefined> {
  const { rows } =
    await sql<ApiResourceRow>`select ${columns} from api_resources r where r.id = ${id}`.execute(db);
  return rows[0];
}

/** Locks the resource until the transaction ends. Returns whether it exists. */
export async function lockApiResource(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await sql`select from api_resources where id = ${id} for no key update`.execute(tx);
  return rows.length > 0;
}

/** Returns a resource that the transaction has locked or created. */
export async function readApiResource(tx: Tx, id: string): Promise<ApiResourceRow> {
  const resource = await findApiResource(tx, id);
  if (!resource) throw new Error('an API resource that this transaction has locked is missing');
  return resource;
}

function matching({ search = '' }: Pick<ApiResourceListQuery, 'search'>): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = [sql`true`];
  // No word spans both: a line feed is in no word.
  for (const word of wordsOf(search))
    conditions.push(containsWord(sql`lower(r.name || e'\n' || r.identifier)`, word, false));
  return sql.join(conditions, sql` and `);
}

export async function countApiResources(db: Db, query: ApiResourceListQuery): Promise<number> {
  const { rows } = await sql<{ total: number }>`${plannedForValues}
    select count(*)::integer as total from api_resources r where ${matching(query)}`.execute(db);
  return rows[0]?.total ?? 0;
}

/** Returns one page of resources, sorted by name. */
export async function listApiResources(db: Db, query: ApiResourceListQuery): Promise<ApiResourceRow[]> {
  const { rows } = await sql<ApiResourceRow>`${plannedForValues}
    select ${columns} from api_resources r where ${matching(query)}
    order by lower(r.name), r.id limit ${query.size} offset ${offsetOf(query)}`.execute(db);
  return rows;
}

export async function hasIdentifier(tx: Tx, identifier: string): Promise<boolean> {
  const { rows } = await sql`select from api_resources where identifier = ${identifier}`.execute(tx);
  return rows.length > 0;
}

/** Returns the names of those of the groups that exist, by id. They stay until the transaction ends. */
export async function lockGroupNames(tx: Tx, ids: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; name: string }>`
    select id, name from permission_groups where id = any(${ids}::uuid[]) order by id for key share`.execute(
    tx,
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

export async function insertApiResource(
  { tx }: Entitled,
  { id, created_by_id, fields }: { id: string; created_by_id: string | null; fields: ApiResourceFields },
): Promise<void> {
  const { permission_group_ids: groups, ...written } = fields;
  await tx
    .insertInto('api_resources')
    .values({ id, created_by_id, ...written })
    .execute();
  await insertGroups(tx, id, groups);
}

/** Updates a resource whose row is locked. What a group that it loses let applications carry, they carry no more. */
export async function updateApiResource(
  { tx }: Entitled,
  id: string,
  fields: ApiResourceFields,
): Promise<void> {
  const { permission_group_ids: groups, ...written } = fields;
  await tx
    .updateTable('api_resources')
    .set(({ fn }) => ({ ...written, updated_at: fn<Date>('now') }))
    .where('id', '=', id)
    .execute();
  await sql`delete from api_resource_groups where api_resource_id = ${id}`.execute(tx);
  await insertGroups(tx, id, groups);
  await sql`
    update application_resources x set permission_ids = array(
      select p.id from permissions p where p.id = any(x.permission_ids) and p.group_id = any(${groups}::uuid[]))
    where x.resource_id = ${id}`.execute(tx);
}

const insertGroups = (tx: Tx, id: string, groups: readonly string[]) =>
  sql`
  insert into api_resource_groups (api_resource_id, permission_group_id)
  select ${id}, g from unnest(${groups}::uuid[]) g`.execute(tx);

export async function isUsedByApplication(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await sql`select from application_resources where resource_id = ${id} limit 1`.execute(tx);
  return rows.length > 0;
}

export async function deleteApiResourceRow({ tx }: Entitled, id: string): Promise<void> {
  await sql`delete from api_resources where id = ${id}`.execute(tx);
}
