// What must be true of roles, permissions and groups at any moment, asked of the database itself.
// It must not repair anything.
import assert from 'node:assert/strict';
import type { TestService } from '../harness.ts';

const reachable = (table: string): string => `
  with recursive tree as (
    select id, 1 as depth from ${table} where parent_id is null
    union all
    select node.id, depth + 1 from ${table} node join tree on node.parent_id = tree.id where depth < 40
  )`;

/** Each query finds the rows that break a rule. */
const violations: Readonly<Record<string, string>> = {
  'a role group that no root leads to': `${reachable('role_groups')}
    select id from role_groups where id not in (select id from tree)`,
  'a permission group that no root leads to': `${reachable('permission_groups')}
    select id from permission_groups where id not in (select id from tree)`,
  'a role group deeper than 32 levels': `${reachable('role_groups')} select id from tree where depth > 32`,
  'a permission group deeper than 32 levels': `${reachable('permission_groups')}
    select id from tree where depth > 32`,
  'a role whose own group has no link to it': `
    select r.id from roles r where role_group_id is not null and not exists (
      select from role_group_roles l where l.role_id = r.id and l.role_group_id = r.role_group_id)`,
  'a role linked to a group and to one above it': `
    with recursive above as (
      select id, parent_id from role_groups where parent_id is not null
      union
      select above.id, g.parent_id from above join role_groups g on g.id = above.parent_id where g.parent_id is not null
    )
    select low.role_id from role_group_roles low join above on above.id = low.role_group_id
    join role_group_roles high on high.role_group_id = above.parent_id and high.role_id = low.role_id`,
  'a permission whose name does not begin with its group': `
    select p.id from permissions p join permission_groups g on g.id = p.group_id
    where not starts_with(p.name, g.name || '.')`,
};

export async function assertSound(service: TestService): Promise<void> {
  for (const [what, query] of Object.entries(violations))
    assert.deepEqual(await service.sql(query), [], what);
}
