// SQL of what roles and permissions require of sign-ins.
import type { RequirementsEnvelope } from '@castellan/contract/requirements';
import { sql } from 'kysely';
import { isoTime } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import type { Db } from '../../schema/database.ts';
import { hasPasskeyOf } from '../../schema/unmet-requirement.ts';

type Listed = RequirementsEnvelope['data'];

/**
 * Returns the roles that require something, by name, with the active users whom it concerns. `rpIds`: of the passkeys that
 * can be used.
 */
export async function findRequiringRoles(db: Db, rpIds: readonly string[]): Promise<Listed['roles']> {
  const { rows } = await sql<Listed['roles'][number]>`${plannedForValues}
    select json_build_object('id', r.id, 'name', r.name) as role, coalesce(r.required_acr, 'aal2') as required_acr,
      ${isoTime('r.enforced_from')} as enforced_from, counted.holders, counted.without_factor
    from roles r cross join lateral (
      select count(*)::integer as holders, count(*) filter (where not case r.required_acr
        when 'aal2' then u.has_factor else ${hasPasskeyOf(rpIds)} end)::integer as without_factor
      from held_user_roles held join users u on u.id = held.user_id
      where held.role_id = r.id and u.is_active) counted
    where r.required_acr is not null order by lower(r.name), r.id`.execute(db);
  return rows;
}

/** Returns the permissions that require something, by name. */
export async function findRequiringPermissions(db: Db): Promise<Listed['permissions']> {
  const { rows } = await sql<Listed['permissions'][number]>`${plannedForValues}
    select json_build_object('id', p.id, 'name', p.name) as permission, coalesce(p.required_acr, 'aal1') as required_acr,
      p.max_auth_age
    from permissions p where p.required_acr is not null or p.max_auth_age is not null
    order by lower(p.name), p.id`.execute(db);
  return rows;
}
