// The periodic removal of accounts that nobody verified: which go, which stay, and that nobody is removed who verifies.
// It runs every 600 ms here, and by itself: nothing is called from inside.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import pg from 'pg';
import { eventually, startTestService, type TestService } from '../harness.ts';
import { type AgedAccount, insertAccounts, remaining, sweepPassed } from './aged-accounts.ts';
import { assertAnswered, assertRefused } from './answers.ts';
import { paths, registerAccount, registration } from './self-service.ts';

const everyMoment = { CLEANUP_INTERVAL_MINUTES: '0.01' };
const service = await startTestService({ after }, everyMoment);

const deletions = (of: TestService, { id }: AgedAccount) =>
  of.sql<{ actor_id: null; resource_type: string; details: Record<string, unknown> }>(
    `select actor_id, resource_type, details from audit_logs
     where action = 'unverified_account_deleted' and resource_id = $1`,
    [id],
  );
const age = (accounts: AgedAccount[]) =>
  service.sql(`update users set created_at = now() - interval '73 hours' where id = any($1::uuid[])`, [
    accounts.map(({ id }) => id),
  ]);

test('an account that was not verified within 72 hours goes, with its role links and its mailed links', async () => {
  const account = await registerAccount(service);
  await age([account]);
  await sweepPassed(service);
  assert.deepEqual(await remaining(service, [account]), []);
  for (const table of ['user_roles', 'one_time_tokens', 'password_history', 'sessions'])
    assert.deepEqual(await service.sql(`select from ${table} where user_id = $1`, [account.id]), [], table);
  assertRefused(
    await service.client().post(paths.verify, { token: account.token }),
    400,
    'verification_token_invalid',
  );
  assertRefused(await service.client().login(account), 422, 'invalid_credentials');
  const [entry, ...more] = await deletions(service, account);
  assert.equal(more.length, 0);
  assert.equal(entry!.actor_id, null);
  assert.equal(entry!.resource_type, 'security_event');
  assert.equal(entry!.details.email, account.email);
});

test('the address of a removed account can be registered again', async () => {
  const account = await registerAccount(service);
  await age([account]);
  await sweepPassed(service);
  const again = await service.client().post(paths.register, registration({ email: account.email }));
  assert.notEqual(assertAnswered(again, 201).id, account.id);
});

for (const [what, state] of [
  ['verified', { ageHours: 10_000, verified: true }],
  ['a superuser', { ageHours: 10_000, is_superuser: true }],
  ['inactive', { ageHours: 10_000, is_active: false }],
  ['younger than 72 hours', { ageHours: 71.9 }],
] as const)
  test(`an account that is ${what} stays, with its roles`, async () => {
    const [account] = await insertAccounts(service, 1, state);
    await sweepPassed(service);
    assert.deepEqual(await remaining(service, [account!]), [account!.id]);
    assert.equal((await service.sql('select from user_roles where user_id = $1', [account!.id])).length, 1);
    assert.deepEqual(await deletions(service, account!), []);
  });

test('what a removed account had made stays, without an author', async () => {
  const [author] = await insertAccounts(service, 1, { ageHours: 1 });
  await service.sql(`insert into roles (id, name, created_by_id) values (gen_random_uuid(), 'Orphan', $1)`, [
    author!.id,
  ]);
  await age([author!]);
  await sweepPassed(service);
  assert.deepEqual(await remaining(service, [author!]), []);
  const roles = await service.sql(`select created_by_id from roles where name = 'Orphan'`);
  assert.deepEqual(roles, [{ created_by_id: null }]);
});

test('UNVERIFIED_ACCOUNT_CLEANUP_HOURS takes a fraction of an hour', async (t) => {
  const strict = await startTestService(t, { ...everyMoment, UNVERIFIED_ACCOUNT_CLEANUP_HOURS: '0.5' });
  const [old] = await insertAccounts(strict, 1, { ageHours: 0.6 });
  const [young] = await insertAccounts(strict, 1, { ageHours: 0.4 });
  await sweepPassed(strict);
  assert.deepEqual(await remaining(strict, [old!, young!]), [young!.id]);
});

/** A connection of the test's own that has done this inside a transaction, open until `end`. */
async function holding(t: TestContext, statement: string, { id }: { id: string }) {
  const connection = new pg.Client(service.databaseUrl);
  await connection.connect();
  let ended: Promise<void> | undefined;
  const end = () => (ended ??= connection.query('commit').then(() => connection.end()));
  t.after(end);
  await connection.query('begin');
  await connection.query(statement, [id]);
  return { end };
}

const waitingFor = (statement: string) =>
  eventually(async () => {
    const rows = await service.sql(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ilike $1`,
      [`%${statement}%`],
    );
    return rows.length > 0 || undefined;
  }, `a statement that waits: ${statement}`);

test('an account that is being verified while the sweep comes by stays, and keeps no other waiting', async (t) => {
  const account = await registerAccount(service);
  // The verification queues behind the change that makes the account old, so that it holds it when that is done.
  const ageing = await holding(
    t,
    `update users set created_at = now() - interval '73 hours' where id = $1`,
    account,
  );
  const verification = holding(t, 'update users set verified = true where id = $1', account);
  await waitingFor('update users set verified');
  await ageing.end();
  const held = await verification;
  await sweepPassed(service);
  assert.deepEqual(await remaining(service, [account]), [account.id]);
  await held.end();
  await sweepPassed(service);
  assert.deepEqual(await remaining(service, [account]), [account.id]);
  assert.equal((await service.client().login(account)).status, 200);
});

test('who verifies while the sweep is at his account gets one clear answer, without a deadlock', async (t) => {
  const account = await registerAccount(service);
  // The sweep has taken the account and is held up at its role links.
  const roleLink = await holding(t, 'select from user_roles where user_id = $1 for update', account);
  await age([account]);
  await waitingFor('delete from user_roles');
  const client = service.client();
  await client.get('/api/v1/auth/csrf-token');
  const verifying = client.post(paths.verify, { token: account.token });
  await waitingFor('one_time_tokens');
  await roleLink.end();
  assertRefused(await verifying, 400, 'verification_token_invalid');
  assert.deepEqual(await remaining(service, [account]), []);
  const [{ deadlocks } = { deadlocks: '1' }] = await service.sql<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  assert.equal(Number(deadlocks), 0);
});
