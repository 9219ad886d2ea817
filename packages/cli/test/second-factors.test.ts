// The commands that concern second factors: over the API, over the database, and after SECRET_KEY or the database was lost.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startTestService, TEST_SECRET_KEY, type TestService } from '@castellan/testing/harness';
import { addAppUser, beginSignIn, completeSignIn } from '@castellan/testing/second-factors/app';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { addPerson } from '@castellan/testing/users/people';
import { castellan } from './castellan.ts';
import { createEmptyDatabase, run as runSql } from './databases.ts';

const cleanups: (() => Promise<void>)[] = [];
let service: TestService;
let local: Record<string, string>;
let remote: Record<string, string>;

before(async () => {
  service = await startTestService({ after: (hook) => void cleanups.push(hook) });
  local = { DATABASE_URL: service.databaseUrl, SECRET_KEY: TEST_SECRET_KEY, PUBLIC_URL: service.url };
  const [role] = await service.sql<{ id: string }>("select id from roles where name = 'Admin'");
  const account = await addServiceAccount(service, { roles: [role?.id ?? ''] });
  remote = {
    CASTELLAN_URL: service.url,
    CASTELLAN_API_KEY: account.key,
    CASTELLAN_CONFIG: '/nonexistent/castellan.json',
  };
});
after(async () => {
  for (const cleanup of cleanups) await cleanup();
});

async function succeed(args: string[], environment: Record<string, string>): Promise<string> {
  // Passkeys need another address than the test's; without them the command warns of nothing.
  const { code, out, err } = await castellan(args, {
    SECOND_FACTORS: 'totp',
    PASSKEY_SIGN_IN: 'false',
    ...environment,
  });
  assert.deepEqual([code, err], [0, ''], args.join(' '));
  return out;
}

const recoveryToken = (text: string): string =>
  /\/login#recovery=(\S{43})\n/.exec(text)?.[1] ?? assert.fail(text);

/** Signs in with the password and the link. */
async function recover(user: { id: string; email: string; password: string }, token: string): Promise<void> {
  const client = service.client();
  const answer = await completeSignIn(client, await beginSignIn(client, user), { recovery_token: token });
  assert.equal(answer.status, 200, answer.text);
}

test('user factors shows the factors; user reset-second-factor --show prints a link that works with the password', async () => {
  const user = await addAppUser(service);
  const shown = await succeed(['user', 'factors', user.email], remote);
  assert.match(shown, /authenticator app +set up \S+\nrecovery codes +10 left\ntrusted devices +0\n/);
  const json = JSON.parse(await succeed(['user', 'factors', user.id, '--json'], remote));
  assert.equal(json.data.recovery_codes.left, 10);

  const asked = await castellan(['user', 'reset-second-factor', user.email], remote);
  assert.equal(asked.code, 1);
  assert.match(asked.err, /Nothing was changed/);
  const args = ['user', 'reset-second-factor', user.email, '--show', '--reason', 'Lost phone', '--yes'];
  const out = await succeed(args, remote);
  await recover(user, recoveryToken(out));
  const [event] = await eventsOf(service, 'second_factor_reset', user);
  assert.equal(event?.details.reason, 'Lost phone');

  const other = await addAppUser(service);
  assert.equal(
    await succeed(['user', 'reset-second-factor', other.email, '--yes'], remote),
    'Second factors reset. The recovery link is on its way.\n',
  );
  assert.match(await succeed(['user', 'factors', other.email], remote), /recovery +pending/);
});

test('reset-second-factor is the way back for the only superuser', async () => {
  const user = await addAppUser(service);
  await service.sql('update users set is_superuser = true where id = $1', [user.id]);
  const args = ['reset-second-factor', '--email', user.email.toUpperCase(), '--yes'];
  const out = await succeed(args, local);
  assert.match(out, /^Sign in with the password, then with this link\. It works once, until \S+:\nhttp/);
  await recover(user, recoveryToken(out));
  const [event] = await eventsOf(service, 'second_factor_reset', user);
  assert.deepEqual([event?.actor_id, event?.details.via], [null, 'command_line']);
});

test('reset-second-factor refuses an account without a factor, an inactive one, and an unknown email', async () => {
  const [person, inactive] = [await addPerson(service), await addAppUser(service)];
  await service.sql('update users set is_active = false where id = $1', [inactive.id]);
  for (const [email, message] of [
    [person.email, /has no second factor/],
    [inactive.email, /is not active/],
    ['nobody@example.com', /nobody@example\.com has no account/],
  ] as const) {
    const { code, err } = await castellan(['reset-second-factor', '--email', email, '--yes'], local);
    assert.equal(code, 1);
    assert.match(err, message);
  }
  assert.equal((await castellan(['reset-second-factor'], local)).code, 2);
  assert.equal((await service.sql('select from totp_factors where user_id = $1', [inactive.id])).length, 1);
});

test('doctor and reset-keys find the apps that SECRET_KEY does not open', async (t) => {
  const own = await startTestService(t);
  const [lost, kept] = [await addAppUser(own), await addAppUser(own)];
  const environment = { DATABASE_URL: own.databaseUrl, SECRET_KEY: TEST_SECRET_KEY, PUBLIC_URL: own.url };
  const doctor = async () => (await castellan(['doctor'], environment)).out;
  assert.match(await doctor(), /SECRET_KEY opens the secrets of authenticator apps/);
  await own.sql(
    `update totp_factors set secret_sealed = (select secret_sealed from totp_factors where user_id = $2) where user_id = $1`,
    [lost.id, kept.id],
  );
  const out = await succeed(['reset-keys', '--yes'], environment);
  assert.match(out, /^Authenticator apps that no longer work: 1\. They are suspended/m);
  const suspended = await own.sql<{ user_id: string }>(
    'select user_id from totp_factors where suspended_at is not null',
  );
  assert.deepEqual(suspended, [{ user_id: lost.id }]);
  const [event] = await eventsOf(own, 'totp_suspended', lost);
  assert.equal(event?.details.reason, 'secret_key');

  await own.sql(
    `update totp_factors set secret_sealed = (select secret_sealed from totp_factors where user_id = $1) where user_id = $2`,
    [lost.id, kept.id],
  );
  await own.sql(`update totp_factors set secret_sealed = decode('00', 'hex') where user_id = $1`, [kept.id]);
  assert.match(await doctor(), /SECRET_KEY does not open the secrets of authenticator apps/);
});

test('a restore says that recovery codes used since work again, and ends trust and pending sign-ins', async (t) => {
  const user = await addAppUser(service);
  await beginSignIn(service.client(), user);
  await service.sql(
    `insert into devices (id, user_id, token_hash, trusted_until, trusted_epoch)
     select gen_random_uuid(), id, sha256('device'), now() + interval '1 day', session_epoch from users where id = $1`,
    [user.id],
  );
  const folder = await mkdtemp(join(tmpdir(), 'castellan-factors-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'backup');
  await succeed(['backup', '--to', file], local);
  const { url, drop } = await createEmptyDatabase();
  t.after(drop);
  const out = await succeed(['restore', '--from', file], { ...local, DATABASE_URL: url });
  assert.match(out, /^Recovery codes that were used after \S+ work again\./m);
  const [left] = (await runSql(
    url,
    `select (select count(*)::integer from devices where trusted_until is not null) as trusted,
       (select count(*)::integer from pending_sign_ins) as pending,
       (select count(*)::integer from totp_factors where user_id = $1) as apps`,
    [user.id],
  )) as unknown as object[];
  assert.deepEqual(left, { trusted: 0, pending: 0, apps: 1 });
});
