// The list of users without roles: the marks are right whoever writes, and a page reads nobody with roles.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { plansOf } from '@castellan/testing/plans';
import { renewUserMarks } from '../../../src/modules/users/lists/page-marks.ts';
import { renewRoleHolders } from '../../../src/modules/users/role-holders-store.ts';
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

test('pages and totals are exact after every kind of change, and after the job', async () => {
  await renewRoleHolders(db);
  await insertUsers('w', USERS);
  await assertListed();
  await giveRole('w0%', 'User');
  await giveRole('w0%', 'Manager');
  await takeRole('w00%', 'User');
  await assertListed();
  await takeRole('w00%', 'Manager');
  await service.sql(`delete from users where email like 'w1%'`);
  await service.sql(`update users set email = 'a' || email where email like 'w2%'`);
  await service.sql(`update users set last_name = 'Moved', created_at = now() where email like 'w3%'`);
  await assertListed();
  await service.sql(`
    update user_roles set user_id = (select id from users where email like 'w4%' order by id limit 1)
    where user_id = (select user_id from user_roles r join users u on u.id = r.user_id where u.email like 'w0%'
      order by user_id limit 1) and role_id = (select id from roles where name = 'User')`);
  await renewRoleHolders(db);
  await assertListed();
});

test('an assignment that is updated moves the marks of both users', async () => {
  await insertUsers('m', 2);
  const [from, to] = await service.sql<{ id: string }>(
    `select id from users where email like 'm%' order by id`,
  );
  await service.sql(
    `insert into user_roles (user_id, role_id) select $1, id from roles where name = 'User'`,
    [from?.id],
  );
  await service.sql('update user_roles set user_id = $2 where user_id = $1', [from?.id, to?.id]);
  assert.deepEqual(
    await service.sql('select id, without_roles from users where id in ($1, $2) order by id', [
      from?.id,
      to?.id,
    ]),
    [
      { id: from?.id, without_roles: true },
      { id: to?.id, without_roles: false },
    ],
  );
  await renewRoleHolders(db);
  await assertListed();
});

test('together with another filter, they are found by their marks, and nobody has a role and none', async () => {
  const [expected] = await service.sql<{ count: number }>(
    `select count(*)::integer from users where not is_active and ${withoutRoles}`,
  );
  assert.equal((await pageOf(admin, 'roles=none&is_active=false')).total, expected?.count);
  const [role] = await service.sql<{ id: string }>(`select id from roles where name = 'User'`);
  assert.equal((await pageOf(admin, `roles=none&role_id=${role?.id}`)).total, 0);
});

test('parallel changes of roles and users, and the job, lose nobody and keep nobody', async () => {
  const allOf = (role: string) =>
    `delete from user_roles where role_id = (select id from roles where name = '${role}') and user_id in (
       select id from users where email like 'w0%')`;
  await giveRole('w0%', 'User');
  await giveRole('w0%', 'Manager');
  await service.sql('insert into role_holder_changes default values');
  await Promise.all([
    // Both last roles of the same users, in two transactions.
    service.sql(allOf('User')),
    service.sql(allOf('Manager')),
    giveRole('w5%', 'User'),
    giveRole('w5%', 'Manager').then(() => takeRole('w5%', 'Manager')),
    takeRole('w5%', 'User'),
    insertUsers('x', 500),
    service.sql(`update users set last_name = 'Renamed' where email like 'w6%'`),
    service.sql(`delete from users where email like 'w7%'`),
    renewRoleHolders(db),
  ]);
  await renewRoleHolders(db);
  await assertListed();
});

test('a change of one of several roles does not write the row of the user', async () => {
  await giveRole('w0%', 'User');
  const versions = () => service.sql(`select id, xmin::text from users where email like 'w0%' order by id`);
  const earlier = await versions();
  await giveRole('w0%', 'Manager');
  await takeRole('w0%', 'User');
  assert.deepEqual(await versions(), earlier);
});

describe('after an upgrade', () => {
  test('lists are right before the job has marked anybody, while it does, and then', async () => {
    await service.sql('update users set without_roles = false where without_roles');
    await service.sql('insert into role_holder_changes default values');
    await assertListed();
    await Promise.all([
      renewRoleHolders(db),
      giveRole('w8%', 'User'),
      takeRole('w5%', 'User'),
      service.sql(`delete from users where email like 'w9%'`),
      insertUsers('y', 300),
    ]);
    assert.deepEqual(await service.sql('select from role_holder_changes where change is null'), []);
    await assertListed();
  });

  test('the same after all assignments were truncated', async () => {
    await service.sql('truncate user_roles');
    const { total } = await pageOf(admin, 'roles=none');
    assert.equal((await service.sql('select from users')).length, total);
    await assertListed();
  });
});

describe('what a page reads', () => {
  before(async () => {
    await giveRole('w%', 'User');
    await insertUsers('z', 12_000);
    await renewUserMarks(db);
    await service.sql('vacuum analyze users, user_roles');
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

  for (const sort of sorts)
    test(`${sort}: nobody with roles, and nobody after the page`, async () => {
      const { total } = await pageOf(admin, 'roles=none');
      for (const page of [1, Math.ceil(total / 20), Math.ceil(total / 10)]) {
        const step = await largestStep(`sort=${sort}&page=${page}`);
        // There is no index in the order of ids: they are sorted.
        const most = sort === 'id' ? total : Math.max(200, page * 10);
        assert.ok(step.rows <= most, `page ${page}: ${JSON.stringify(step)}`);
      }
    });
});
