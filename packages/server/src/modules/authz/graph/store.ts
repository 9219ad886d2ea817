// SQL that reads the role → permission graph and the log of its changes. It writes nothing: triggers write the log.
// Call the others than `findRenewal` in one repeatable-read transaction, so that their results are consistent.
import { sql } from 'kysely';
import { onlyRow } from '../../../platform/db/sql.ts';
import type { Db, Row, Tx } from '../../../schema/database.ts';
import type { PermissionRow, RoleRow } from './compiled-graph.ts';

/** Null ids mean that any record may have changed. */
export type Change = Pick<Row<'authz_changes'>, 'previous_stamp' | 'stamp' | 'role_ids' | 'permission_ids'>;

/** Returns the current stamp, and the changes after `since`, oldest first; none if the log does not contain `since`. */
export async function findChanges(
  tx: Tx,
  since: string | undefined,
): Promise<{ stamp: string; changes: Change[] }> {
  const { rows } = await sql<Change & { now: string; version: string | null }>`
    select present.stamp as now, c.version, c.previous_stamp, c.stamp, c.role_ids, c.permission_ids
    from authz_version present
    left join authz_changes c on c.version > (select version from authz_changes where stamp = ${since ?? null}::uuid)
    order by c.version`.execute(tx);
  const [first] = rows;
  if (!first) throw new Error('authz_version has no row');
  return { stamp: first.now, changes: rows.filter(({ version }) => version !== null) };
}

const enforcedFromMs = sql`(extract(epoch from r.enforced_from) * 1000)::float8`;

export type Renewal = { stamp: string; changes: Change[]; roles: RoleRow[]; permissions: PermissionRow[] };

/**
 * Returns what `findChanges` returns, with the roles and permissions that these changes touched, from one snapshot: one
 * statement, because every round trip delays the requests that wait for the graph.
 */
export async function findRenewal(db: Db, since: string): Promise<Renewal> {
  const { rows } = await sql<Renewal>`
    with logged as materialized (
      select c.* from authz_changes c
      where c.version > (select version from authz_changes where stamp = ${since}::uuid))
    select present.stamp,
      coalesce((
        select json_agg(json_build_object('previous_stamp', previous_stamp, 'stamp', stamp, 'role_ids', role_ids,
          'permission_ids', permission_ids) order by version)
        from logged), '[]') as changes,
      coalesce((
        select json_agg(json_build_object('id', r.id, 'name', r.name, 'description', r.description,
          'is_system', r.is_system, 'required_acr', r.required_acr, 'enforced_from_ms', ${enforcedFromMs}, 'permission_ids', (
            select string_agg(held.permission_id::text, ',') from role_permissions held where held.role_id = r.id)))
        from roles r where r.id = any(array(select unnest(role_ids) from logged))), '[]') as roles,
      coalesce((
        select json_agg(json_build_object('id', p.id, 'name', p.name, 'lower_name', lower(p.name),
          'required_acr', p.required_acr, 'max_auth_age', p.max_auth_age))
        from permissions p where p.id = any(array(select unnest(permission_ids) from logged))), '[]') as permissions
    from authz_version present`.execute(db);
  return onlyRow({ rows });
}

export async function findRoles(tx: Tx, ids: readonly string[] | 'all'): Promise<RoleRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<RoleRow>`
    select r.id, r.name, r.description, r.is_system, r.required_acr, ${enforcedFromMs} as enforced_from_ms, string_agg(held.permission_id::text, ',') as permission_ids
    from roles r left join role_permissions held on held.role_id = r.id
    where ${ids === 'all' ? sql`true` : sql`r.id = any(${ids}::uuid[])`}
    group by r.id`.execute(tx);
  return rows;
}

export async function findPermissions(tx: Tx, ids: readonly string[] | 'all'): Promise<PermissionRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<PermissionRow>`
    select id, name, lower(name) as lower_name, required_acr, max_auth_age from permissions
    where ${ids === 'all' ? sql`true` : sql`id = any(${ids}::uuid[])`}`.execute(tx);
  return rows;
}
