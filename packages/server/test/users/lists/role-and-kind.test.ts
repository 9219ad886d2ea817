// Lists of a role among 24,000 users. Of 13,000 holders together with 11,000 inactive users, both are read once, and not asked
// for one by one; of 400 holders, only these are read; of 23,500, only a page.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { plansOf } from '@castellan/testing/plans';
import { renewUserMarks } from '../../../src/modules/users/lists/page-marks.ts';
import { renewRoleHolders } from '../../../src/modules/users/role-holders-store.ts';

const USERS = 24_000;
const INACTIVE = 11_000;
const HOLDERS = 13_000;
const FEW = 400;
const MOST = 23_500;
const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
// The tests renew what the jobs would renew at any moment.
await service.service.scheduler.stop();
const { db } = service.service.deps;

before(async () => {
  await service.sql(`
    insert into roles (id, name) values (md5('role')::uuid, 'held by many'), (md5('few')::uuid, 'held by few'),
      (md5('most')::uuid, 'held by most');
    insert into users (id, email, first_name, last_name, is_active, created_at)
    select md5('user ' || n)::uuid, md5(n::text) || '@example.com', 'Person', 'Many', n > ${INACTIVE},
      now() - make_interval(secs => n) from generate_series(1, ${USERS}) n;
    insert into user_roles (user_id, role_id)
    select md5('user ' || n)::uuid, md5('role')::uuid from generate_series(${USERS - HOLDERS + 1 - 500}, ${USERS - 500}) n;
    insert into user_roles (user_id, role_id)
    select md5('user ' || n * 50)::uuid, md5('few')::uuid from generate_series(1, ${FEW}) n`);
  await renewUserMarks(db);
  await renewRoleHolders(db);
  await service.sql('vacuum analyze');
});

for (const [sort, order] of [
  ['created_at', 'created_at, id'],
  ['-email', 'email desc, id desc'],
])
  test(`inactive holders, ${sort}: counted exactly, and both sets are read once`, async () => {
    const [role] = await service.sql<{ id: string }>(`select id from roles where name = 'held by many'`);
    const expected = await service.sql<{ id: string }>(
      `select id from users where not is_active and id in (select user_id from user_roles where role_id = $1)
       order by ${order}`,
      [role?.id],
    );
    assert.equal(expected.length, INACTIVE + HOLDERS + 500 - USERS);
    const path = `/api/v1/users/list?role_id=${role?.id}&is_active=false&sort=${sort}&size=100`;
    const page = async (number: number) => (await admin.get(`${path}&page=${number}`)).body.data;
    const pages = [await page(1), await page(5), await page(6)];
    for (const { total, total_is_estimate } of pages)
      assert.deepEqual([total, total_is_estimate], [expected.length, undefined]);
    assert.deepEqual(
      pages.map(({ items }) => items.map(({ id }: { id: string }) => id)),
      [0, 400, 500].map((from) => expected.slice(from, from + 100).map(({ id }) => id)),
    );
    const explained = await plansOf(service, () => admin.get(path));
    const most = Math.max(...explained.map((one) => one.pages));
    // To ask for each inactive user took 30,000; the holders and the inactive users fill a few hundred.
    assert.ok(most <= 5_000, `${most} pages`);
    const assignments = explained
      .flatMap(({ steps }) => steps)
      .filter(({ table }) => table === 'user_roles')
      .reduce((sum, { rows }) => sum + rows, 0);
    assert.ok(assignments <= 2 * HOLDERS, `${assignments} assignments`);
  });

for (const [filter, condition] of [
  ['', 'true'],
  ['&is_active=false', 'not is_active'],
  ['&status=active', 'is_active and verified'],
])
  test(`the few holders of a role${filter}: only they are read`, async () => {
    const [role] = await service.sql<{ id: string }>(`select id from roles where name = 'held by few'`);
    const path = `/api/v1/users/list?role_id=${role?.id}&sort=-email&size=100${filter}`;
    const expected = await service.sql<{ id: string }>(
      `select id from users where ${condition} and id in (select user_id from user_roles where role_id = $1)
       order by email desc, id desc`,
      [role?.id],
    );
    const { total, total_is_estimate, items } = (await admin.get(path)).body.data;
    assert.deepEqual([total, total_is_estimate], [expected.length, undefined]);
    assert.deepEqual(
      items.map(({ id }: { id: string }) => id),
      expected.slice(0, 100).map(({ id }) => id),
    );
    const explained = await plansOf(service, () => admin.get(path));
    const most = Math.max(
      ...explained.flatMap(({ steps }) =>
        steps.filter(({ table }) => table === 'users').map(({ rows }) => rows),
      ),
    );
    assert.ok(most <= FEW, `${most} users`);
  });

// Its assignments come after the other tests, of which they would change the plans.
describe('a role that most have', () => {
  before(async () => {
    await service.sql(`
      insert into user_roles (user_id, role_id)
      select md5('user ' || n)::uuid, md5('most')::uuid from generate_series(1, ${MOST}) n`);
    await renewRoleHolders(db);
    await service.sql('vacuum analyze');
  });

  for (const [filter, condition] of [
    ['', 'true'],
    ['&is_active=true', 'is_active'],
  ])
    test(`nobody is counted who is not shown${filter}`, async () => {
      const [role] = await service.sql<{ id: string }>(`select id from roles where name = 'held by most'`);
      const expected = await service.sql<{ id: string }>(
        `select id from users where ${condition} and id in (select user_id from user_roles where role_id = $1)
       order by email, id`,
        [role?.id],
      );
      const path = `/api/v1/users/list?role_id=${role?.id}&sort=email&size=100${filter}`;
      const page = async (number: number) => (await admin.get(`${path}&page=${number}`)).body.data;
      const last = Math.ceil(expected.length / 100);
      const pages = [await page(1), await page(101), await page(last)];
      assert.deepEqual(
        pages.map(({ items }) => items.map(({ id }: { id: string }) => id)),
        [0, 10_000, (last - 1) * 100].map((from) => expected.slice(from, from + 100).map(({ id }) => id)),
      );
      assert.deepEqual(
        pages.map(({ total, total_is_estimate }) => [total, total_is_estimate]),
        [
          [10_000, true],
          [10_101, true],
          [expected.length, undefined],
        ],
      );
      const explained = await plansOf(service, () => admin.get(path));
      const most = Math.max(
        ...explained.flatMap(({ steps }) =>
          steps.filter(({ table }) => table === 'users').map(({ rows }) => rows),
        ),
      );
      assert.ok(most <= 1_000, `${most} users`);
    });
});
