// The list of users without roles: the kept rows are right whoever writes, and a page reads no more where it lies deeper.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { plansOf } from '@castellan/testing/plans';
import { renewRoleHolders } from '../../src/modules/users/role-holders-store.ts';
import { renewWithoutRoles } from '../../src/modules/users/without-roles.ts';
import { assertPages, pageOf, sorts } from './pages-fixture.ts';

const USERS = 9_000;
const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
// The tests renew what the jobs would renew at any moment.
await service.service.scheduler.stop();
const { db } = service.service.deps;

const insertUsers = (prefix: string, count: number): Promise<unknown> =>
  service.sql(
    `insert into users (id, email, first_name, last_name, is_active, created_at)
     select gen_random_uuid(), $1 || md5(n::text) || '@example.com', 'Person', md5(n::text || 'x'), n % 20 > 0,
       now() - make_interval(secs => n / 3) from generate_series(1, $2::integer) n`,
    [prefix, count],
  );
const giveRole = (emails: string, role: string): Promise<unknown> =>
  service.sql(
    `insert into user_roles (user_id, role_id)
     select u.id, r.id from users u, roles r where u.email like $1 and r.name = $2 order by u.id on conflict do nothing`,
    [emails, role],
  );
const takeRole = (emails: string, role: string): Promise<unknown> =>
  service.sql(
    `delete from user_roles where role_id = (select id from roles where name = $2)
       and user_id in (select id from users where email like $1)`,
    [emails, role],
  );

const withoutRoles = 'id not in (select user_id from user_roles)';
async function assertListed(): Promise<void> {
  await assertSound(service);
  await assertPages(service, admin, 'roles=none', withoutRoles);
}

type Step = Awaited<ReturnType<typeof plansOf>>[number]['steps'][number];
/** Returns the step that reads most. */
async function largestStep(query: string): Promise<Step> {
  const explained = await plansOf(service, () => admin.get(`/api/v1/users/list?roles=none&size=10&${query}`));
  const [largest] = explained.flatMap(({ steps }) => steps).sort((a, b) => b.rows - a.rows);
  assert.ok(largest);
  return largest;
}

test('pages and totals are exact, with recent marks, with changes since, and after these were added', async () => {
  await insertUsers('w', USERS);
  await assertListed();
  assert.equal(await renewWithoutRoles(db), true);
  await assertListed();
  await giveRole('w0%', 'User');
  await giveRole('w0%', 'Manager');
  await takeRole('w00%', 'User');
  await takeRole('w00%', 'Manager');
  await service.sql(`delete from users where email like 'w1%'`);
  await service.sql(`update users set email = 'a' || email where email like 'w2%'`);
  await service.sql(`update users set last_name = 'Moved', created_at = now() where email like 'w3%'`);
  await service.sql(`
    update user_roles set user_id = (select id from users where email like 'w4%' order by id limit 1)
    where user_id = (select user_id from user_roles r join users u on u.id = r.user_id where u.email like 'w0%'
      order by user_id limit 1) and role_id = (select id from roles where name = 'User')`);
  await renewRoleHolders(db);
  await assertListed();
  assert.equal(await renewWithoutRoles(db), true);
  assert.deepEqual(await service.sql('select from without_roles_changes'), []);
  await assertListed();
});

test('together with another filter, they are found from the list, and nobody has a role and none', async () => {
  const [expected] = await service.sql<{ count: number }>(
    `select count(*)::integer from users where not is_active and ${withoutRoles}`,
  );
  assert.equal((await pageOf(admin, 'roles=none&is_active=false')).total, expected?.count);
  const [role] = await service.sql<{ id: string }>(`select id from roles where name = 'User'`);
  assert.equal((await pageOf(admin, `roles=none&role_id=${role?.id}`)).total, 0);
});

test('parallel changes of roles, users and marks lose nobody and keep nobody', async () => {
  const begun = async (statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await service.sql(statement);
  };
  const oneRoleAtATime = (role: string) =>
    `delete from user_roles where role_id = (select id from roles where name = '${role}') and user_id in (
       select id from users where email like 'w0%')`;
  await giveRole('w0%', 'User');
  await giveRole('w0%', 'Manager');
  await Promise.all([
    // Both last roles of the same users, in two transactions.
    begun([oneRoleAtATime('User')]),
    begun([oneRoleAtATime('Manager')]),
    giveRole('w5%', 'User'),
    giveRole('w5%', 'Manager').then(() => takeRole('w5%', 'Manager')),
    takeRole('w5%', 'User'),
    insertUsers('x', 500),
    service.sql(`update users set last_name = 'Renamed' where email like 'w6%'`),
    service.sql(`delete from users where email like 'w7%'`),
    ...Array.from({ length: 3 }, () => renewWithoutRoles(db).catch(() => false)),
  ]);
  await assertListed();
  await renewWithoutRoles(db);
  await assertListed();
});

test('a new user who gets a role in the same transaction is never listed', async () => {
  const earlier = await service.sql('select from without_roles_changes');
  await service.sql(`
    with made as (
      insert into users (id, email, first_name, last_name) values (gen_random_uuid(), 'member@example.com', 'M', 'N')
      returning id)
    select from made`);
  const listed = await service.sql('select from without_roles_changes');
  assert.equal(listed.length, earlier.length + 1);
  await service.sql(`
    begin;
    insert into users (id, email, first_name, last_name) values (gen_random_uuid(), 'holder@example.com', 'M', 'N');
    insert into user_roles (user_id, role_id)
      select u.id, r.id from users u, roles r where u.email = 'holder@example.com' and r.name = 'User';
    commit`);
  assert.equal((await service.sql('select from without_roles_changes')).length, listed.length);
  await assertSound(service);
});

describe('after an upgrade', () => {
  test('lists are right before the job has listed anybody, while it does, and then', async () => {
    await service.sql(`
      begin;
      delete from users_without_roles;
      delete from without_roles_changes;
      delete from without_roles_marks where "order" <> 'end';
      update without_roles_marks set before = 0;
      insert into without_roles_listing default values;
      commit`);
    await assertListed();
    await Promise.all([
      renewWithoutRoles(db),
      giveRole('w8%', 'User'),
      takeRole('w5%', 'User'),
      service.sql(`delete from users where email like 'w9%'`),
      insertUsers('y', 300),
    ]);
    assert.equal(await renewWithoutRoles(db), true);
    assert.deepEqual(await service.sql('select from without_roles_listing'), []);
    await assertListed();
  });

  test('the same after all assignments or all users were truncated', async () => {
    await service.sql('truncate user_roles');
    const { total } = await pageOf(admin, 'roles=none');
    assert.equal((await service.sql('select from without_roles_listing')).length, 1);
    assert.equal((await service.sql('select from users')).length, total);
    await renewWithoutRoles(db);
    await assertListed();
  });
});

describe('what a page reads', () => {
  before(async () => {
    await giveRole('w%', 'User');
    await insertUsers('z', 12_000);
    await renewWithoutRoles(db);
    await service.sql('vacuum analyze users, user_roles, users_without_roles, without_roles_marks');
  });

  test('the total is exact beyond 10,000, also in the order of ids', async () => {
    const [all] = await service.sql<{ count: number }>(
      `select count(*)::integer from users where ${withoutRoles}`,
    );
    assert.ok((all?.count ?? 0) > 10_000);
    for (const sort of sorts) {
      const { total, total_is_estimate } = await pageOf(admin, `roles=none&sort=${sort}`);
      assert.deepEqual([total, total_is_estimate], [all?.count, undefined], sort);
    }
  });

  for (const sort of sorts.filter((one) => one !== 'id'))
    test(`${sort}: the same wherever it is, and nobody with roles`, async () => {
      const { total } = await pageOf(admin, 'roles=none');
      for (const page of [1, Math.ceil(total / 20), Math.ceil(total / 10)]) {
        const step = await largestStep(`sort=${sort}&page=${page}`);
        assert.ok(step.rows <= 4_500, `page ${page}: ${JSON.stringify(step)}`);
      }
    });
});
