// The list of locked users: it is right whoever changes a lock or a user, and a page reads none who are not locked.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { plansOf } from '@castellan/testing/plans';
import { cleanUp } from '../../src/cleanup.ts';
import { addLockChanges } from '../../src/modules/users/locked-store.ts';
import { renewUserMarks } from '../../src/modules/users/marks.ts';
import { addChanges } from '../../src/modules/users/marks-store.ts';
import { inSnapshot } from '../../src/platform/db/transaction.ts';
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
/** Takes all changes off the logs, however few they are. */
const addAll = (): Promise<void> =>
  inSnapshot(db, async (tx) => {
    await addLockChanges(tx, 1_000_000);
    await addChanges(tx, 1_000_000);
  });

const isLocked =
  'is_active and exists (select from login_attempts a where a.email = users.email and a.locked_until > now())';
/** The status of a user is that of each record; the lists must agree with it. */
async function assertListed(): Promise<void> {
  await assertSound(service);
  await assertPages(service, admin, 'status=locked', isLocked);
  const [expected] = await service.sql<{ count: number }>(
    `select count(*)::integer from users where ${isLocked}`,
  );
  const { body } = await admin.get('/api/v1/dashboard/attention');
  const item = body.data.items.find(({ code }: { code: string }) => code === 'locked_users');
  assert.equal(item?.count ?? 0, expected?.count);
}

before(async () => {
  await insertUsers('k', USERS);
  await lock('k%0@%');
  await lock('k%1@%', '-1 hour');
});

test('pages and totals are exact, before the job lists anybody, then, with changes since, and after these', async () => {
  await assertListed();
  assert.equal(await renewUserMarks(db), true);
  assert.deepEqual(await service.sql('select from lock_changes'), []);
  assert.ok((await service.sql('select from locked_users')).length > 1_000);
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
  await addAll();
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
    for (const isInLog of [true, false])
      test(`${what}, ${isInLog ? 'before' : 'after'} the list includes it`, async () => {
        const email = await oneLocked();
        if (!isInLog) await addAll();
        const { total } = await pageOf(admin, 'status=locked');
        await service.sql(change, [email]);
        for (const add of [async () => undefined, addAll]) {
          await add();
          assert.equal((await pageOf(admin, 'status=locked')).total, isListed ? total : total - 1);
          await assertSound(service);
        }
      });

  test('of an email without an account is listed with the account that takes the email', async () => {
    await service.sql(`
      insert into login_attempts (email, failures, locked_until) values ('early@example.com', 5, now() + interval '1 hour')`);
    await addAll();
    const { total } = await pageOf(admin, 'status=locked');
    await insertUsers('late', 1);
    await service.sql(
      `update users set email = 'early@example.com', is_active = true where email like 'late%'`,
    );
    assert.equal((await pageOf(admin, 'status=locked')).total, total + 1);
    await addAll();
    assert.equal((await pageOf(admin, 'status=locked')).total, total + 1);
    await assertSound(service);
  });

  test('of two users who exchange their emails is listed with the other one', async () => {
    const email = await oneLocked();
    await addAll();
    const { items } = await pageOf(admin, `status=locked&search=${email}`);
    await service.sql(`update users set email = 'swap-' || email where email = $1`, [email]);
    // The job may take the changes of one email off without those of the other.
    await inSnapshot(db, (tx) => addChanges(tx, 1));
    await service.sql(
      `insert into users (id, email, first_name, last_name) values (gen_random_uuid(), $1, 'Other', 'Lock')`,
      [email],
    );
    for (const add of [async () => undefined, addAll]) {
      await add();
      const now = await pageOf(admin, `status=locked&search=${email}`);
      assert.equal(now.items.length, 1);
      assert.notEqual(now.items[0]?.id, items[0]?.id);
      await assertListed();
    }
  });
});

test('parallel changes of locks, users and the list lose nobody and keep nobody', async () => {
  await Promise.all([
    lock('k7%'),
    lock('k8%', '-1 minute'),
    service.sql(`delete from login_attempts where email like 'k9%'`),
    service.sql(`update users set is_active = false where email like 'k7%0@%'`),
    service.sql(`update users set email = 'b' || email where email like 'k7%5@%'`),
    service.sql(`delete from users where email like 'k8%1@%'`),
    insertUsers('x', 500).then(() => lock('x%')),
    ...Array.from({ length: 3 }, () => renewUserMarks(db).catch(() => false)),
  ]);
  await assertListed();
  await renewUserMarks(db);
  await addAll();
  await assertListed();
});

test('a lock that commits while its user changes, or is made, is neither lost nor kept', async () => {
  const { pool } = service.service.deps;
  const [locking, changing] = await Promise.all([pool.connect(), pool.connect()]);
  try {
    for (const change of [
      `update users set is_active = false where email = 'race@example.com'`,
      `update users set is_active = true where email = 'race@example.com'`,
      `delete from users where email = 'race@example.com'`,
      `insert into users (id, email, first_name, last_name) values (gen_random_uuid(), 'race@example.com', 'R', 'C')`,
    ]) {
      await service.sql(
        `
        insert into users (id, email, first_name, last_name) select gen_random_uuid(), 'race@example.com', 'R', 'C'
        where $1 not like 'insert%' on conflict do nothing`,
        [change],
      );
      for (const isLockFirst of [true, false]) {
        await service.sql(`delete from login_attempts where email = 'race@example.com'`);
        await addAll();
        await locking.query('begin');
        await changing.query('begin');
        await locking.query(`
          insert into login_attempts (email, failures, locked_until) values ('race@example.com', 5, now() + interval '1 hour')`);
        await changing.query(change).catch(() => undefined);
        // The job runs between the two commits, and sees one of the changes only.
        await (isLockFirst ? locking : changing).query('commit');
        await addAll();
        await (isLockFirst ? changing : locking).query('commit');
        await assertSound(service);
        await addAll();
        await assertSound(service);
      }
    }
  } finally {
    locking.release();
    changing.release();
  }
  await assertListed();
});

test('the clean-up takes the last changes off the logs, because they name deleted users', async () => {
  const logged = () => service.sql('select email from lock_changes union all select email from user_changes');
  await addAll();
  await lock('x%1@%', '-2 hours');
  await service.sql(`delete from users where email like 'x%1@%'`);
  await renewUserMarks(db);
  assert.notDeepEqual(await logged(), []);
  await cleanUp(service.service.deps);
  assert.deepEqual(await logged(), []);
  assert.deepEqual(await service.sql(`select from locked_users where email like 'x%1@%'`), []);
  await assertListed();
});

test('after all locks, or all users, were truncated, nobody is listed', async () => {
  await service.sql('truncate login_attempts');
  assert.equal((await pageOf(admin, 'status=locked')).total, 0);
  await assertListed();
  await addAll();
  assert.deepEqual(await service.sql('select from locked_users'), []);
});

describe('what a page reads', () => {
  before(async () => {
    await lock('k%');
    await renewUserMarks(db);
    await service.sql('vacuum analyze users, login_attempts, locked_users, lock_changes, user_changes');
  });

  for (const sort of sorts)
    test(`${sort}: the locked users, and of all others nobody`, async () => {
      const { total } = await pageOf(admin, 'status=locked');
      assert.ok(total > 5_000, String(total));
      for (const page of [1, Math.ceil(total / 20), Math.ceil(total / 10)]) {
        const explained = await plansOf(service, () =>
          admin.get(`/api/v1/users/list?status=locked&size=10&sort=${sort}&page=${page}`),
        );
        for (const { table, rows } of explained.flatMap(({ steps }) => steps)) {
          const where = `page ${page}: ${table} ${rows}`;
          if (table === 'users' || table === 'login_attempts') assert.ok(rows <= 200, where);
          assert.ok(rows <= 2 * total, where);
        }
      }
    });
});

test('a page with old statistics reads no log and no lock once for each user', async () => {
  // All locks had passed, and the logs were empty, when the tables were analyzed.
  await lock('k%', '-1 hour');
  await addAll();
  await service.sql('vacuum analyze login_attempts, locked_users, lock_changes, user_changes');
  await lock('k%3%', '1 hour');
  await addAll();
  await service.sql(`update users set verified = not verified where email like 'k%'`);
  await lock('k%4@%', '2 hours');
  const [logged] = await service.sql<{ count: number }>('select count(*)::integer from user_changes');
  assert.ok(Number(logged?.count) > 10_000);
  for (const path of ['users/list?status=locked', 'users/list?status=active', 'dashboard/attention']) {
    const explained = await plansOf(service, () => admin.get(`/api/v1/${path}`));
    for (const { node, table, rows } of explained.flatMap(({ steps }) => steps))
      assert.ok(rows <= 3 * Number(logged?.count), `${path}: ${node} ${table} ${rows}`);
  }
  await assertListed();
});
