// What must be true of the whole database while no request is running, and that the lists of the service show exactly
// the records in it. It must not repair anything.
import assert from 'node:assert/strict';
import type { TestClient } from './client.ts';
import type { TestService } from './harness.ts';

const reachable = (table: string): string => `
  with recursive tree as (
    select id, 1 as depth from ${table} where parent_id is null
    union all
    select node.id, depth + 1 from ${table} node join tree on node.parent_id = tree.id where depth < 40
  )`;

const hasFactor = `(exists (select from totp_factors f where f.user_id = u.id)
  or exists (select from passkeys f where f.user_id = u.id))`;

/** Each query returns the rows that break a rule. */
const violations: Readonly<Record<string, string>> = {
  'a role group that cannot be reached from a root': `${reachable('role_groups')}
    select id from role_groups where id not in (select id from tree)`,
  'a permission group that cannot be reached from a root': `${reachable('permission_groups')}
    select id from permission_groups where id not in (select id from tree)`,
  'a role group deeper than 32 levels': `${reachable('role_groups')} select id from tree where depth > 32`,
  'a permission group deeper than 32 levels': `${reachable('permission_groups')}
    select id from tree where depth > 32`,
  'a role without a link to its own group': `
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
  'two accounts with one email': `
    select lower(btrim(email)) from users group by 1 having count(*) > 1`,
  'a live session of an inactive account': `
    select s.id from sessions s join users u on u.id = s.user_id
    where not u.is_active and s.revoked_at is null and s.expires_at > now() and s.epoch = u.session_epoch`,
  'a session with an epoch in the future': `
    select s.id from sessions s join users u on u.id = s.user_id where s.epoch > u.session_epoch`,
  'a session of a deleted user that is not queued for the cleanup': `
    select id from sessions where user_id not in (select id from users)
      and user_id not in (select user_id from session_ends where session_id is null and before_epoch is null)`,
  'a session of an earlier epoch that is not queued for the cleanup': `
    select s.id from sessions s join users u on u.id = s.user_id
    where s.epoch < u.session_epoch and s.revoked_at is null and s.expires_at > now() and not exists (
      select from session_ends e where e.user_id = s.user_id and e.before_epoch > s.epoch)`,
  "a token in another user's session": `
    select t.jti from session_tokens t join sessions s on s.id = t.session_id where s.user_id <> t.user_id`,
  // A proof inside a session, such as a step-up, begins another chain of refresh tokens; each such session has at most four.
  'two refresh tokens of one session that were not exchanged, or five with proofs': `
    select session_id from session_tokens where kind = 'refresh' and rotated_at is null and expires_at > now()
    group by 1 having count(*) > case when bool_and(acr is null) then 1 else 4 end`,
  'a live session of an account with a second factor that its password alone began': `
    select s.id from sessions s join users u on u.id = s.user_id
    where is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
      and coalesce(s.proof, 'password') = 'password' and ${hasFactor}`,
  'a live session of an account that awaits recovery': `
    select s.id from sessions s join users u on u.id = s.user_id
    where is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active) and u.recovery_pending`,
  'a user who is wrongly marked, or not marked, as with a second factor': `
    select u.id from users u where u.has_factor <> ${hasFactor}`,
  'recovery codes of an account without a second factor': `
    select u.id from users u where not ${hasFactor} and exists (select from recovery_codes c where c.user_id = u.id)`,
  'two valid links of one kind for one account': `
    select user_id, purpose from one_time_tokens where used_at is null and expires_at > now()
    group by 1, 2 having count(*) > 1`,
  'a valid link for an email that the account no longer has': `
    select t.user_id from one_time_tokens t join users u on u.id = t.user_id
    where t.used_at is null and t.expires_at > now() and t.email <> u.email`,
  'a kept number of holders that is not theirs': `
    select coalesce(role_id::text, 'any'), sum(change) from (
      select role_id, change from role_holder_changes
      union all select role_id, -count(*) from user_roles group by 1
      union all select null, -count(distinct user_id) from user_roles) numbers
    group by role_id having sum(change) <> 0`,
  'a user who is wrongly marked, or not marked, as without roles': `
    select id from users where without_roles <> (id not in (select user_id from user_roles))
      and not exists (select from role_holder_changes where change is null)`,
  'a kept number of users that is not theirs': `
    select total, active from user_counts
    where (total, active) <> (select count(*), count(*) filter (where is_active) from users)`,
  'no active superuser': `
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

/** Throws for the first rule that does not hold; returns the number of rules. No request may be running. */
export async function assertSound(service: Pick<TestService, 'sql'>): Promise<number> {
  for (const [what, query] of Object.entries(violations))
    assert.deepEqual(await service.sql(query), [], what);
  // PostgreSQL guarantees these, unless somebody disabled a constraint or a trigger.
  const keys = await service.sql<ForeignKey>(foreignKeys);
  for (const { name, child, parent, child_column, parent_column } of keys) {
    const orphans = await service.sql(
      `select c.${child_column} from ${child} c left join ${parent} p on p.${parent_column} = c.${child_column}
       where c.${child_column} is not null and p.${parent_column} is null`,
    );
    assert.deepEqual(orphans, [], `rows without parent: ${name}`);
  }
  return Object.keys(violations).length + keys.length;
}

/** Asserts that no account has more live sessions than `cap`. Returns 1, the number of rules checked. */
export async function assertCap(service: TestService, cap: number): Promise<number> {
  const beyond = await service.sql(
    `select s.user_id, count(*)::int from sessions s join users u on u.id = s.user_id where is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
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

/** Asserts that the pages of each list show every record exactly once. Returns the number of lists checked. */
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
