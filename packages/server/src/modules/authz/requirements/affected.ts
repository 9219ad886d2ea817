// Whom a requirement of a role or of a permission concerns: active users, and those among them without a factor that reaches it.
// It must not decide anything: it counts for previews and lists.
import type { Acr } from '@castellan/contract/authentication';
import { type RawBuilder, sql } from 'kysely';
import { onlyRow } from '../../../platform/db/sql.ts';
import { plannedForValues } from '../../../platform/db/statement-names.ts';
import type { Db } from '../../../schema/database.ts';
import { hasPasskeyOf } from '../../../schema/unmet-requirement.ts';

/** A role or a permission, by its id. */
export type Required = { kind: 'role' | 'permission'; id: string };

export type Affected = {
  holders: number;
  without_factor: number;
  subjects: { type: 'user'; id: string; name: string }[];
  more: number;
};

/** SQL condition on a user `u`: one of their factors reaches the level. By the columns for lists. */
function hasFactorFor(acr: Acr | null, rpIds: readonly string[]): RawBuilder<boolean> {
  if (acr === null || acr === 'aal1') return sql`true`;
  if (acr === 'aal2') return sql`u.has_factor`;
  return hasPasskeyOf(rpIds);
}

const holdersOf = ({ kind, id }: Required): RawBuilder<unknown> =>
  kind === 'role'
    ? sql`select user_id from held_user_roles where role_id = ${id}`
    : sql`
      select held.user_id from role_permissions through join held_user_roles held on held.role_id = through.role_id
      where through.permission_id = ${id}
      union
      select id from users where is_superuser`;

/** Returns whom the level would concern. `rpIds`: of the passkeys that can be used. `named`: how many of those without a factor are named, by name. */
export async function findAffected(
  db: Db,
  required: Required,
  { acr, rpIds }: { acr: Acr | null; rpIds: readonly string[] },
  named: number,
): Promise<Affected> {
  const answer = await sql<Omit<Affected, 'more'>>`${plannedForValues}
    with holder as materialized (
      select u.id, rtrim(u.first_name || ' ' || u.last_name) as name, ${hasFactorFor(acr, rpIds)} as has_factor
      from users u where u.is_active and u.id in (${holdersOf(required)}))
    select count(*)::integer as holders, count(*) filter (where not has_factor)::integer as without_factor,
      coalesce((
        select json_agg(json_build_object('type', 'user', 'id', id, 'name', name) order by lower(name), id)
        from (select * from holder where not has_factor order by lower(name), id limit ${named}) shown), '[]') as subjects
    from holder`.execute(db);
  const found = onlyRow(answer);
  return { ...found, more: found.without_factor - found.subjects.length };
}
