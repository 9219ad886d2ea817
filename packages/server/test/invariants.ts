// What must be true of the whole database at any moment when nothing is under way, asked of the database itself, and
// that the lists of the service show just what is in it. It must not repair anything.
import assert from 'node:assert/strict';
import type { TestClient } from './client.ts';
import type { TestService } from './harness.ts';

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
  'two accounts with one e-mail': `
    select lower(btrim(email)) from users group by 1 having count(*) > 1`,
  'a live session of a closed account': `
    select s.id from sessions s join users u on u.id = s.user_id
    where not u.is_active and s.revoked_at is null and s.expires_at > now()`,
  'a token on the allowlist of an ended session': `
    select t.jti from session_tokens t join sessions s on s.id = t.session_id where s.revoked_at is not null`,
  "a token in somebody else's session": `
    select t.jti from session_tokens t join sessions s on s.id = t.session_id where s.user_id <> t.user_id`,
  'two refresh tokens of one session that nobody exchanged': `
    select session_id from session_tokens where kind = 'refresh' and rotated_at is null
    group by 1 having count(*) > 1`,
  'two usable links of one kind for one account': `
    select user_id, purpose from one_time_tokens where used_at is null and expires_at > now()
    group by 1, 2 having count(*) > 1`,
  'a usable link for an address that the account no longer has': `
    select t.user_id from one_time_tokens t join users u on u.id = t.user_id
    where t.used_at is null and t.expires_at > now() and t.email <> u.email`,
  'nobody who is an active superuser': `
    select 'none' where not exists (select from users where is_superuser and is_active)`,
};

const foreignKeys = `
  select c.conname as name, c.conrelid::regclass::text as child, c.confrelid::regclass::text as parent,
    (select attname from pg_attribute where attrelid = c.conrelid and attnum = c.conkey[1]) as child_column,
    (select attname from pg_attribute where attrelid = c.confrelid and attnum = c.confkey[1]) as parent_column
  from pg_constraint c where c.contype = 'f' and c.connamespace = 'public'::regnamespace`;
type ForeignKey = {
  name: string;
  child: string;
  parent: string;
  child_column: string;
  parent_column: string;
};

/** Fails with the first rule that does not hold; answers how many did. Nothing may be under way meanwhile. */
export async function assertSound(service: Pick<TestService, 'sql'>): Promise<number> {
  for (const [what, query] of Object.entries(violations))
    assert.deepEqual(await service.sql(query), [], what);
  // PostgreSQL promises these; that nobody switched a constraint or trigger off is ours to see.
  const keys = await service.sql<ForeignKey>(foreignKeys);
  for (const { name, child, parent, child_column, parent_column } of keys) {
    const orphans = await service.sql(
      `select c.${child_column} from ${child} c left join ${parent} p on p.${parent_column} = c.${child_column}
       where c.${child_column} is not null and p.${parent_column} is null`,
    );
    assert.deepEqual(orphans, [], `rows without owner: ${name}`);
  }
  return Object.keys(violations).length + keys.length;
}

/** That no account has more live sessions than this; answers 1, the rule that held. */
export async function assertCap(service: TestService, cap: number): Promise<number> {
  const beyond = await service.sql(
    `select user_id, count(*)::int from sessions where revoked_at is null and expires_at > now()
     group by 1 having count(*) > $1`,
    [cap],
  );
  assert.deepEqual(beyond, [], `more than ${cap} live sessions`);
  return 1;
}

const lists: readonly [path: string, table: string][] = [
  ['users/list', 'users'],
  ['roles', 'roles'],
  ['permissions', 'permissions'],
];

/** That the lists, page by page, show every record once and no other; answers how many lists did. */
export async function assertListed(service: TestService, superuser: TestClient): Promise<number> {
  for (const [path, table] of lists) {
    const shown: string[] = [];
    for (let page = 1, pages = 1; page <= pages; page += 1) {
      const { status, text, body } = await superuser.get(`/api/v1/${path}?size=100&page=${page}`);
      assert.equal(status, 200, text);
      const records: { id: string }[] = body.data.items ?? body.data;
      shown.push(...records.map(({ id }) => id));
      pages = (body.pagination ?? body.data).pages;
    }
    const rows = await service.sql<{ id: string }>(`select id from ${table}`);
    assert.deepEqual(shown.sort(), rows.map(({ id }) => id).sort(), `the list of ${path}`);
  }
  return lists.length;
}
