// The list of locked users: it is right whoever changes a lock or a user, and a page reads none who are not locked.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { plansOf } from '@castellan/testing/plans';
import { renewUserMarks } from '../../../src/modules/users/lists/page-marks.ts';
import { assertPages, pageOf, sorts } from './pages-fixture.ts';

const USERS = 12_000;
const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
// The tests renew what the jobs would renew at any moment.
await service.service.scheduler.stop();
const { db } = service.service.deps;

const insertUsers = (prefix: string, count: number): Promise<unknown> =>
  service.sql(
    `insert into users (id, email, first_name, last_name, is_active, verified, created_at)
     select gen_random_uuid(), $1 || left(md5(n::text), 10) || '@example.com', 'Person', left(md5(n || 'x'), 6), n % 20 > 0,
       n % 3 > 0, now() - make_interval(secs => n / 3) from generate_series(1, $2::integer) n`,
    [prefix, count],
  );
/** Locks emails for this time from now on; a lock of a negative time has passed. */
const lock = (emails: string, time = '1 hour'): Promise<unknown> =>
  service.sql(
    `insert into login_attempts (email, failures, locked_until)
     select email, 5, now() + $2::interval from users where email like $1
     on conflict (email) do update set locked_until = excluded.locked_until`,
    [emails, time],
  );
const isLocked =
  'is_active and exists (select from login_attempts a where a.email = users.email and a.locked_until > now())';
/** The status of a user is that of each record; the lists must agree with it. */
async function assertListed(): Promise<void> {
  await assertPages(service, admin, 'status=locked', isLocked);
  const [expected] = await service.sql<{ count: number }>(
    `select count(*)::integer from users where ${isLocked}`,
  );
  const { body } = await admin.get('/api/v1/dashboard/attention');
  const item = body.data.items.find(({ code }: { code: string }) => code === 'locked_users');
  // The overview counts up to 1,000.
  assert.equal(item?.count ?? 0, Math.min(expected?.count ?? 0, 1_000));
}

before(async () => {
  await insertUsers('k', USERS);
  await lock('k%0@%');
  await lock('k%1@%', '-1 hour');
});

test('pages and totals are exact, also after every kind of change', async () => {
  await assertListed();
  await lock('k%2@%');
  await lock('k0%', '-1 minute');
  await service.sql(`delete from login_attempts where email like 'k1%'`);
  await service.sql(`delete from users where email like 'k2%'`);
  await service.sql(`update users set email = 'a' || email where email like 'k3%'`);
  await service.sql(`update users set last_name = 'Moved', created_at = now() where email like 'k4%'`);
  await service.sql(`update users set is_active = not is_active where email like 'k5%'`);
  await service.sql(`update users set verified = not verified where email like 'k6%'`);
  await assertListed();
  assert.equal(await renewUserMarks(db), true);
  await assertListed();
});

describe('one lock', () => {
  let number = 0;
  const oneLocked = async (): Promise<string> => {
    number += 1;
    const email = `one${number}@example.com`;
    await service.sql(
      `insert into users (id, email, first_name, last_name, verified) values (gen_random_uuid(), $1, 'One', 'Lock', true)`,
      [email],
    );
    await lock(email);
    return email;
  };
  const changes: readonly [what: string, change: string, isListed: boolean][] = [
    ['that goes on', 'select $1::text', true],
    ['that an administrator ends', 'delete from login_attempts where email = $1', false],
    [
      'that has passed',
      `update login_attempts set locked_until = now() - interval '1 second' where email = $1`,
      false,
    ],
    ['that was taken off', 'update login_attempts set locked_until = null where email = $1', false],
    ['whose user is deactivated', 'update users set is_active = false where email = $1', false],
    ['whose user has a new email', `update users set email = 'new-' || email where email = $1`, false],
    ['whose user is deleted', 'delete from users where email = $1', false],
    ['whose user is verified no more', 'update users set verified = false where email = $1', true],
    [
      'that belongs to another email now',
      `update login_attempts set email = 'other-' || email where email = $1`,
      false,
    ],
  ];
  for (const [what, change, isListed] of changes)
    test(what, async () => {
      const email = await oneLocked();
      const { total } = await pageOf(admin, 'status=locked');
      await service.sql(change, [email]);
      assert.equal((await pageOf(admin, 'status=locked')).total, isListed ? total : total - 1);
    });

  test('of an email without an account is listed with the account that takes the email', async () => {
    await service.sql(`
      insert into login_attempts (email, failures, locked_until) values ('early@example.com', 5, now() + interval '1 hour')`);
    const { total } = await pageOf(admin, 'status=locked');
    await insertUsers('late', 1);
    await service.sql(
      `update users set email = 'early@example.com', is_active = true where email like 'late%'`,
    );
    assert.equal((await pageOf(admin, 'status=locked')).total, total + 1);
  });
});

test('after all locks were truncated, nobody is listed', async () => {
  await service.sql('truncate login_attempts');
  assert.equal((await pageOf(admin, 'status=locked')).total, 0);
  await assertListed();
});

describe('what a page reads', () => {
  before(async () => {
    await lock('k%');
    await renewUserMarks(db);
    await service.sql('vacuum analyze users, login_attempts, user_changes');
  });

  for (const sort of sorts)
    test(`${sort}: each lock in force and its user once, and of all others nobody`, async () => {
      const { total } = await pageOf(admin, 'status=locked');
      const [locks] = await service.sql<{ count: number }>(
        'select count(*)::integer from login_attempts where locked_until > now()',
      );
      assert.ok(total > 5_000, String(total));
      for (const page of [1, Math.ceil(total / 20), Math.ceil(total / 10)]) {
        const explained = await plansOf(service, () =>
          admin.get(`/api/v1/users/list?status=locked&size=10&sort=${sort}&page=${page}`),
        );
        for (const { table, rows } of explained.flatMap(({ steps }) => steps))
          assert.ok(rows <= Number(locks?.count) + 200, `page ${page}: ${table} ${rows}`);
      }
    });
});

test('a page with old statistics reads neither all locks nor all users for each lock', async () => {
  // All locks had passed when the tables were analyzed.
  await lock('k%', '-1 hour');
  await service.sql('vacuum analyze login_attempts');
  await lock('k%3%', '1 hour');
  await renewUserMarks(db);
  for (const path of ['users/list?status=locked', 'users/list?status=active', 'dashboard/attention']) {
    const explained = await plansOf(service, () => admin.get(`/api/v1/${path}`));
    for (const { node, table, rows } of explained.flatMap(({ steps }) => steps))
      assert.ok(rows <= USERS, `${path}: ${node} ${table} ${rows}`);
  }
  await assertListed();
});
