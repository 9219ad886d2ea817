// The periodic removal of accounts that nobody verified: which are removed and which are kept.
// The cleanup runs every 600 ms here; no test calls it.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import {
  type AgedAccount,
  insertAccounts,
  remaining,
  waitForCleanup,
} from '@castellan/testing/accounts/aged-accounts';
import { paths, registerAccount, registration } from '@castellan/testing/accounts/self-service';
import { ADMIN, eventually, signIn, startTestService, type TestService } from '@castellan/testing/harness';
import pg from 'pg';
import { assertAnswered, assertRefused } from '../answers.ts';

const frequentCleanup = { CLEANUP_INTERVAL_MINUTES: '0.01' };
const service = await startTestService({ after }, frequentCleanup);

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

test('an account that was not verified within 72 hours is removed, with its role links and its mailed links', async () => {
  const account = await registerAccount(service);
  await age([account]);
  await waitForCleanup(service);
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

test('the email of a removed account can be registered again', async () => {
  const account = await registerAccount(service);
  await age([account]);
  await waitForCleanup(service);
  const again = await service.client().post(paths.register, registration({ email: account.email }));
  assert.notEqual(assertAnswered(again, 201).id, account.id);
});

for (const [what, state] of [
  ['verified', { ageHours: 10_000, verified: true }],
  ['a superuser', { ageHours: 10_000, is_superuser: true }],
  ['unverified by an administrator', { ageHours: 10_000, registered: false }],
  ['inactive', { ageHours: 10_000, is_active: false }],
  ['younger than 72 hours', { ageHours: 71.9 }],
] as const)
  test(`an account that is ${what} is kept, with its roles`, async () => {
    const [account] = await insertAccounts(service, 1, state);
    await waitForCleanup(service);
    assert.deepEqual(await remaining(service, [account!]), [account!.id]);
    assert.equal((await service.sql('select from user_roles where user_id = $1', [account!.id])).length, 1);
    assert.deepEqual(await deletions(service, account!), []);
  });

test('an account that was once verified is kept when an administrator makes it unverified', async () => {
  const account = await registerAccount(service);
  const verified = await service.client().post(paths.verify, { token: account.token });
  assert.equal(verified.status, 200, verified.text);
  const admin = await signIn(service, ADMIN);
  const doubted = await admin.put(`/api/v1/users/${account.id}`, { verified: false });
  assert.equal(doubted.status, 200, doubted.text);
  await age([account]);
  await waitForCleanup(service);
  assert.deepEqual(await remaining(service, [account]), [account.id]);
  assertRefused(await service.client().login(account), 422, 'email_not_verified');
});

test('records that a removed account created are kept, without an author', async () => {
  const [author] = await insertAccounts(service, 1, { ageHours: 1 });
  await service.sql(`insert into roles (id, name, created_by_id) values (gen_random_uuid(), 'Orphan', $1)`, [
    author!.id,
  ]);
  await age([author!]);
  await waitForCleanup(service);
  assert.deepEqual(await remaining(service, [author!]), []);
  const roles = await service.sql(`select created_by_id from roles where name = 'Orphan'`);
  assert.deepEqual(roles, [{ created_by_id: null }]);
});

test('UNVERIFIED_ACCOUNT_CLEANUP_HOURS accepts a fraction of an hour', async (t) => {
  const strict = await startTestService(t, { ...frequentCleanup, UNVERIFIED_ACCOUNT_CLEANUP_HOURS: '0.5' });
  const [old] = await insertAccounts(strict, 1, { ageHours: 0.6 });
  const [young] = await insertAccounts(strict, 1, { ageHours: 0.4 });
  await waitForCleanup(strict);
  assert.deepEqual(await remaining(strict, [old!, young!]), [young!.id]);
});

/** Opens a connection that has executed the statement in a transaction, which stays open until `end`. */
async function holdTransaction(t: TestContext, statement: string, { id }: { id: string }) {
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

test('an account that is being verified while the cleanup runs is kept, and does not delay the removal of others', async (t) => {
  const account = await registerAccount(service);
  // The verification waits for the change that makes the account old, so it holds the row lock when that change commits.
  const ageing = await holdTransaction(
    t,
    `update users set created_at = now() - interval '73 hours' where id = $1`,
    account,
  );
  const verification = holdTransaction(t, 'update users set verified = true where id = $1', account);
  await waitingFor('update users set verified');
  await ageing.end();
  const held = await verification;
  await waitForCleanup(service);
  assert.deepEqual(await remaining(service, [account]), [account.id]);
  await held.end();
  await waitForCleanup(service);
  assert.deepEqual(await remaining(service, [account]), [account.id]);
  assert.equal((await service.client().login(account)).status, 200);
});

test('verifying an account while the cleanup removes it gets one clear response, without a deadlock', async (t) => {
  const account = await registerAccount(service);
  // The cleanup has locked the account and waits for its role links.
  const roleLink = await holdTransaction(t, 'select from user_roles where user_id = $1 for update', account);
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
