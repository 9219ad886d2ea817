// SQL of applications. That of their secrets is in secrets-store.ts.
import { type Application, type ApplicationListQuery, MOST_COUNTED } from '@castellan/contract/applications';
import { type RawBuilder, sql } from 'kysely';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { containsWord, wordsOf } from '../../platform/db/text-search.ts';
import { offsetOf } from '../../platform/pages.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import { grantJoins, hasTokens, isLiveGrant, meetsRule } from '../../schema/live/grants.ts';
import type { Entitled } from '../authz/change.ts';
import type { ApplicationFields } from './fields.ts';

export type ApplicationRow = Omit<Application, 'created_at' | 'updated_at'> &
  Pick<Row<'applications'>, 'created_at' | 'updated_at' | 'version'>;

const columns = sql`
  a.id, a.client_id, a.name, a.description, a.home_url, a.policy_url, a.terms_url, a.type, a.is_active, a.auth_method,
  a.jwks, a.jwks_url, a.grant_types, a.redirect_uris, a.post_logout_redirect_uris, a.allowed_origins,
  a.backchannel_logout_url, a.first_party, a.required_permission_id, a.scopes, a.claims, a.subject_type, a.sector,
  a.id_token_signing_alg, a.id_token_claims, a.require_pkce, a.require_par, a.require_dpop, a.access_token_seconds,
  a.id_token_seconds, a.refresh_idle_days, a.grant_days, a.default_max_age, a.created_at, a.updated_at,
  a.created_by_id, a.version,
  coalesce((
    select json_agg(json_build_object('resource_id', x.resource_id, 'permission_ids',
      array(select p.id from permissions p where p.id = any(x.permission_ids) order by p.id)) order by x.resource_id)
    from application_resources x where x.application_id = a.id), '[]') as resources`;

/** The permissions that are scopes of API resources. */
export type ResourceScope = { resource_id: string; id: string; name: string };

/** Returns those of the API resources that exist, with the permissions of their groups. They stay until the transaction ends. */
export async function lockResources(
  tx: Tx,
  ids: readonly string[],
): Promise<{ found: Set<string>; scopes: ResourceScope[] }> {
  const locked = await sql<{ id: string }>`
    select id from api_resources where id = any(${ids}::uuid[]) order by id for key share`.execute(tx);
  const { rows: scopes } = await sql<ResourceScope>`
    select g.api_resource_id as resource_id, p.id, p.name
    from api_resource_groups g join permissions p on p.group_id = g.permission_group_id
    where g.api_resource_id = any(${ids}::uuid[]) order by p.id`.execute(tx);
  return { found: new Set(locked.rows.map(({ id }) => id)), scopes };
}

async function writeResources(tx: Tx, id: string, resources: ApplicationFields['resources']): Promise<void> {
  await sql`delete from application_resources where application_id = ${id}`.execute(tx);
  for (const { resource_id, permission_ids } of resources)
    await sql`
      insert into application_resources (application_id, resource_id, permission_ids)
      values (${id}, ${resource_id}, ${permission_ids}::uuid[])`.execute(tx);
}

export async function findApplication(db: Db, id: string): Promise<ApplicationRow | undefined> {
  const { rows } =
    await sql<ApplicationRow>`select ${columns} from applications a where a.id = ${id}`.execute(db);
  return rows[0];
}

/** Locks the application until the transaction ends. Returns whether it exists. */
export async function lockApplication(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await sql`select from applications where id = ${id} for no key update`.execute(tx);
  return rows.length > 0;
}

/** Returns an application that the transaction has locked or created. */
export async function readApplication(tx: Tx, id: string): Promise<ApplicationRow> {
  const application = await findApplication(tx, id);
  if (!application) throw new Error('an application that this transaction has locked is missing');
  return application;
}

export type ApplicationFilter = Pick<ApplicationListQuery, 'search' | 'is_active' | 'type'>;

function matching({ search = '', is_active, type }: ApplicationFilter): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = [sql`true`];
  // No word spans both: a line feed is in no word.
  for (const word of wordsOf(search))
    conditions.push(containsWord(sql`lower(a.name || e'\n' || a.client_id)`, word, false));
  if (is_active !== undefined) conditions.push(sql`a.is_active = ${is_active}`);
  if (type !== undefined) conditions.push(sql`a.type = ${type}`);
  return sql.join(conditions, sql` and `);
}

export async function countApplications(db: Db, filter: ApplicationFilter): Promise<number> {
  const { rows } = await sql<{ total: number }>`${plannedForValues}
    select count(*)::integer as total from applications a where ${matching(filter)}`.execute(db);
  return rows[0]?.total ?? 0;
}

export type ListedRow = ApplicationRow & { people: number | null; last_sign_in_at: Date | null };

const isUsable = sql.raw(`${isLiveGrant} and ${hasTokens} and ${meetsRule('a.required_permission_id')}`);

/** Returns one page of applications, sorted by name. `people`: null for too many to count. */
export async function listApplications(db: Db, query: ApplicationListQuery): Promise<ListedRow[]> {
  const { rows } = await sql<ListedRow>`${plannedForValues}
    select page.*, used.people,
      (select g.created_at from access_grants g where g.application_id = page.id order by g.id desc limit 1) as last_sign_in_at
    from (
      select ${columns} from applications a where ${matching(query)}
      order by lower(a.name), a.id limit ${query.size} offset ${offsetOf(query)}
    ) page cross join lateral (
      select case when count(*) <= ${MOST_COUNTED} then count(distinct user_id)::integer end as people
      from (
        select g.user_id from access_grants g ${sql.raw(grantJoins)} where g.application_id = page.id and ${isUsable}
        order by g.id desc limit ${MOST_COUNTED + 1}
      ) live
    ) used order by lower(page.name), page.id`.execute(db);
  return rows;
}

export async function hasClientId(tx: Tx, clientId: string): Promise<boolean> {
  const { rows } = await sql`select from applications where client_id = ${clientId}`.execute(tx);
  return rows.length > 0;
}

export async function isPermission(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await sql`select from permissions where id = ${id}`.execute(tx);
  return rows.length > 0;
}

const written = ({ jwks, claims, resources: _resources, ...fields }: ApplicationFields) => ({
  ...fields,
  claims: JSON.stringify(claims),
  jwks: jwks === null ? null : JSON.stringify(jwks),
});

export async function insertApplication(
  { tx }: Entitled,
  {
    fields,
    ...own
  }: { fields: ApplicationFields } & Pick<Row<'applications'>, 'id' | 'client_id' | 'type' | 'created_by_id'>,
): Promise<void> {
  await tx
    .insertInto('applications')
    .values({ ...own, ...written(fields) })
    .execute();
  await writeResources(tx, own.id, fields.resources);
}

/** Updates an application whose row is locked. */
export async function updateApplication(
  { tx }: Entitled,
  id: string,
  fields: ApplicationFields,
): Promise<void> {
  await tx
    .updateTable('applications')
    .set(({ fn }) => ({ ...written(fields), updated_at: fn<Date>('now') }))
    .where('id', '=', id)
    .execute();
  await writeResources(tx, id, fields.resources);
}

/** Deletes an application with its secrets. */
export async function deleteApplicationRow({ tx }: Entitled, id: string): Promise<void> {
  await sql`delete from applications where id = ${id}`.execute(tx);
}
