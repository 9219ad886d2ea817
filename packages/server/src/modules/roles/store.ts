// SQL of roles and role_permissions.
import type { PageQuery } from '@castellan/contract/common';
import type { Role, SummarizedRole } from '@castellan/contract/roles';
import { type RawBuilder, sql } from 'kysely';
import { isoTime, lockUntilCommit } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { inSnapshot } from '../../platform/db/transaction.ts';
import { offsetOf } from '../../platform/pages.ts';
import { isWithoutHolders, isWithoutPermissions } from '../../schema/attention.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import { holdersOfRole } from '../../schema/role-holders.ts';
import type { Entitled } from '../authz/change.ts';
import { permissionAuthentication, permissionJson } from '../permissions/presentation.ts';

export type RoleRecord = Omit<Role, 'holders' | 'version'> & { version: number };

/** As a statement returns it: null where the role requires nothing. */
type Columns<R> = Omit<R, 'authentication'> & { authentication: Role['authentication'] | null };

const shown = <R extends { authentication: Role['authentication'] | null }>({
  authentication,
  ...role
}: R): Omit<R, 'authentication'> & Pick<Role, 'authentication'> =>
  authentication ? { ...role, authentication } : role;

const authentication = sql`
  case when r.required_acr is not null then
    json_build_object('required_acr', r.required_acr, 'enforced_from', ${isoTime('r.enforced_from')}) end as authentication`;

const ownColumns = sql`
  r.id, r.name, r.description, r.role_group_id, r.is_system, r.version, r.created_by_id, ${authentication},
  ${isoTime('r.created_at')} as created_at, ${isoTime('r.updated_at')} as updated_at`;

const roleColumns = sql`${ownColumns},
  coalesce((
    select json_agg(${permissionJson} order by p.name)
    from role_permissions rp join permissions p on p.id = rp.permission_id join permission_groups pg on pg.id = p.group_id
    where rp.role_id = r.id), '[]'::json) as permissions`;

export async function findRole(db: Db, id: string): Promise<RoleRecord | undefined> {
  const { rows } = await sql<
    Columns<RoleRecord>
  >`select ${roleColumns} from roles r where r.id = ${id}`.execute(db);
  return rows.map(shown)[0];
}

/** Returns the roles in no particular order. Leaves out unknown ids. */
export async function findRoles(tx: Tx, ids: readonly string[]): Promise<RoleRecord[]> {
  const { rows } = await sql<Columns<RoleRecord>>`
    select ${roleColumns} from roles r where r.id = any(${ids}::uuid[])`.execute(tx);
  return rows.map(shown);
}

/** Returns a role that the transaction has locked or created. */
export async function readRole(tx: Tx, id: string): Promise<RoleRecord> {
  const role = await findRole(tx, id);
  if (!role) throw new Error('a role that this transaction has locked is missing');
  return role;
}

/** Locks a role until the transaction ends and returns it; undefined if it does not exist. */
export async function lockRole(tx: Tx, id: string): Promise<RoleRecord | undefined> {
  const { rows } = await sql`select from roles where id = ${id} for update`.execute(tx);
  // A separate statement, so that it sees what was committed while the first one waited.
  return rows.length === 0 ? undefined : findRole(tx, id);
}

/** A missing condition is not applied. */
export type RoleFilter = {
  /** Wildcards are those of LIKE. */
  likePattern?: string;
  withoutHolders?: true;
  withoutPermissions?: true;
};

function matching({ likePattern, withoutHolders, withoutPermissions }: RoleFilter): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = [sql`true`];
  // Names are compared ignoring case.
  if (likePattern !== undefined) conditions.push(sql`lower(r.name) like lower(${likePattern})`);
  if (withoutHolders) conditions.push(isWithoutHolders);
  if (withoutPermissions) conditions.push(isWithoutPermissions);
  return sql.join(conditions, sql` and `);
}

export async function countRoles(db: Db, filter: RoleFilter): Promise<number> {
  const { rows } = await sql<{ total: number }>`${plannedForValues}
    select count(*)::integer as total from roles r where ${matching(filter)}`.execute(db);
  return rows[0]?.total ?? 0;
}

/** Reads each permission of the page once: several roles may have all of them. */
export const listRoles = (db: Db, filter: RoleFilter, page: PageQuery): Promise<RoleRecord[]> =>
  inSnapshot(db, async (tx) => {
    const { rows: roles } = await sql<
      Columns<Omit<RoleRecord, 'permissions'>> & { permission_ids: string }
    >`${plannedForValues}
      select ${ownColumns}, coalesce((
        select string_agg(permission_id::text, ',') from role_permissions where role_id = r.id), '') as permission_ids
      from roles r where ${matching(filter)} order by lower(r.name), r.id
      limit ${page.size} offset ${offsetOf(page)}`.execute(tx);
    const permissions = await findPermissionsOf(
      tx,
      roles.map(({ id }) => id),
    );
    const places = new Map(permissions.map(({ id }, place) => [id, place]));
    return roles.map(({ permission_ids, ...role }) => ({
      ...shown(role),
      permissions: placesOf(permission_ids, places).flatMap((place) => permissions[place] ?? []),
    }));
  });

/** Returns the permissions of any of the roles, by name. Builds no JSON: that would cost PostgreSQL three times as much. */
async function findPermissionsOf(tx: Tx, roleIds: readonly string[]): Promise<RoleRecord['permissions']> {
  const { rows } = await sql<
    Omit<RoleRecord['permissions'][number], 'group' | 'authentication'> & {
      group_name: string;
    } & Pick<Row<'permissions'>, 'required_acr' | 'max_auth_age'>
  >`${plannedForValues}
    select p.id, p.name, p.description, p.group_id, pg.name as group_name, ${isoTime('p.created_at')} as created_at,
      ${isoTime('p.updated_at')} as updated_at, p.created_by_id, p.required_acr, p.max_auth_age
    from permissions p join permission_groups pg on pg.id = p.group_id
    where p.id in (select permission_id from role_permissions where role_id = any(${roleIds}::uuid[]))
    order by p.name`.execute(tx);
  return rows.map(({ group_name, required_acr, max_auth_age, ...permission }) => ({
    ...permission,
    group: { id: permission.group_id, name: group_name },
    ...permissionAuthentication({ required_acr, max_auth_age }),
  }));
}

/** Returns where the permissions, as ids with commas between them, are in a list, in its order. */
export const placesOf = (ids: string, places: ReadonlyMap<string, number>): number[] =>
  ids
    .split(',')
    .flatMap((id) => places.get(id) ?? [])
    .toSorted((one, other) => one - other);

export type AllRoles = {
  /** By name. `permission_ids` are separated by commas. */
  roles: (Omit<RoleRecord, 'permissions'> & { permission_ids: string })[];
  /** The permissions of any role as JSON, by name. */
  permissions: { id: string; json: string }[];
};

/** Returns all roles, and each of their permissions once: most permissions belong to several roles. */
export const findAllRoles = (db: Db): Promise<AllRoles> =>
  inSnapshot(db, async (tx) => {
    const { rows: permissions } = await sql<AllRoles['permissions'][number]>`
      select p.id, ${permissionJson}::text as json
      from permissions p join permission_groups pg on pg.id = p.group_id
      where p.id in (select permission_id from role_permissions) order by p.name`.execute(tx);
    const { rows: roles } = await sql<Columns<AllRoles['roles'][number]>>`
      select ${ownColumns}, coalesce((
        select string_agg(permission_id::text, ',') from role_permissions where role_id = r.id), '') as permission_ids
      from roles r order by lower(r.name), r.id`.execute(tx);
    return { roles: roles.map(shown), permissions };
  });

export async function findRoleIds(db: Db): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from roles order by id`.execute(db);
  return rows.map((row) => row.id);
}

/** Like `listRoles`, without the records of permissions. Reads their ids only `withIds`. */
export async function listSummaries(
  db: Db,
  filter: RoleFilter,
  page: PageQuery,
  withIds: boolean,
): Promise<Omit<SummarizedRole, 'holders'>[]> {
  const { rows } = await sql<
    Columns<Omit<SummarizedRole, 'holders' | 'permission_ids'>> & { permission_ids: string[] | null }
  >`${plannedForValues}
    select r.id, r.name, r.description, r.role_group_id, r.is_system, r.created_by_id, r.version, ${authentication},
      (select count(*)::integer from role_permissions where role_id = r.id) as permission_count,
      case when ${withIds}::boolean then array(select permission_id from role_permissions where role_id = r.id) end
        as permission_ids
    from roles r where ${matching(filter)} order by lower(r.name), r.id
    limit ${page.size} offset ${offsetOf(page)}`.execute(db);
  return rows.map(({ permission_ids, ...role }) =>
    permission_ids ? { ...shown(role), permission_ids } : shown(role),
  );
}

export async function insertRole(
  { tx }: Entitled,
  role: Pick<Row<'roles'>, 'id' | 'name' | 'description' | 'role_group_id'> & {
    created_by_id: string | null;
  },
): Promise<void> {
  await tx.insertInto('roles').values(role).execute();
}

/**
 * Locks changes of role names until the transaction ends. Two transactions that swap names would deadlock otherwise.
 */
export async function lockRoleNames(tx: Tx): Promise<void> {
  await lockUntilCommit('roles.name').execute(tx);
}

export async function updateRoleFields(
  { tx }: Entitled,
  id: string,
  fields: Pick<Row<'roles'>, 'name' | 'description'>,
): Promise<void> {
  await sql`
    update roles set name = ${fields.name}, description = ${fields.description}, updated_at = now()
    where id = ${id}`.execute(tx);
}

/** Marks roles as changed, because their permissions changed. */
export async function touchRoles({ tx }: Entitled, ids: readonly string[]): Promise<void> {
  await sql`update roles set updated_at = now() where id = any(${ids}::uuid[])`.execute(tx);
}

export type PermissionLink = { roleId: string; permissionId: string };

const columnsOf = (links: readonly PermissionLink[]) =>
  sql`select * from unnest(${links.map((link) => link.roleId)}::uuid[], ${links.map((link) => link.permissionId)}::uuid[])`;

export async function addPermissions({ tx }: Entitled, links: readonly PermissionLink[]): Promise<void> {
  if (links.length === 0) return;
  await sql`insert into role_permissions (role_id, permission_id) ${columnsOf(links)} on conflict do nothing`.execute(
    tx,
  );
}

export async function removePermissions({ tx }: Entitled, links: readonly PermissionLink[]): Promise<void> {
  if (links.length === 0) return;
  await sql`delete from role_permissions where (role_id, permission_id) in (${columnsOf(links)})`.execute(tx);
}

/** Locks the permissions against deletion until the transaction ends. Returns the ids found. */
export async function lockPermissions(tx: Tx, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: string }>`
    select id from permissions where id = any(${ids}::uuid[]) order by id for key share`.execute(tx);
  return rows.map((row) => row.id);
}

/** Returns the numbers of users and of service accounts with each role, by the id of the role. Roles without any are left out. */
export async function countHoldersByKind(
  tx: Tx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, { users: number; accounts: number }>> {
  const { rows } = await sql<{ id: string; users: number; accounts: number }>`
    select id, users, accounts
    from unnest(${ids}::uuid[]) as wanted(id)
    cross join lateral (select ${holdersOfRole(sql`wanted.id`)}::integer as users) u
    cross join lateral (select count(*)::integer as accounts from held_account_roles where role_id = wanted.id) a
    where users + accounts > 0`.execute(tx);
  return new Map(rows.map(({ id, ...counts }) => [id, counts]));
}

/** Returns the number of users and service accounts with each role, by the id of the role. */
export async function countHolders(db: Db, ids: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ id: string; holders: number }>`
    select id, ${holdersOfRole(sql`wanted.id`)}::integer
      + (select count(*)::integer from held_account_roles where role_id = wanted.id) as holders
    from unnest(${ids}::uuid[]) as wanted(id)`.execute(db);
  return new Map(rows.map((row) => [row.id, row.holders]));
}

export async function setRequirement(
  { tx }: Entitled,
  id: string,
  { required_acr, enforced_from }: Pick<Row<'roles'>, 'required_acr' | 'enforced_from'>,
): Promise<void> {
  await sql`
    update roles set required_acr = ${required_acr}, enforced_from = ${enforced_from}, updated_at = now()
    where id = ${id}`.execute(tx);
}

export async function deleteRoleRows({ tx }: Entitled, ids: readonly string[]): Promise<void> {
  await sql`delete from roles where id = any(${ids}::uuid[])`.execute(tx);
}
