// Tests that no password or token is stored as plain text: not in the log at level trace, and not in any table.
// It runs every flow that accepts or creates a secret, including those that end in a refusal.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertNoPlaintext } from '@castellan/testing/accounts/audit-trail';
import {
  confirmReset,
  paths,
  registerAccount,
  registration,
  resetLink,
} from '@castellan/testing/accounts/self-service';
import { ADMIN, PASSWORD, startTestService } from '@castellan/testing/harness';

const service = await startTestService({ after }, { LOG_LEVEL: 'trace' });

test('after every flow of an account no password and no token is in the log or in a table', async () => {
  const secrets = {
    password: PASSWORD,
    refusedAtRegistration: 'refused#registration',
    taken: 'Copper+Violin95Moss',
    wrong: 'Wrong#Quartz82Lime',
    tooLong: `Oversized#${'q'.repeat(1_100)}`,
    changed: 'Marble?Tundra61Fox',
    refusedAtChange: 'refused#change',
    reset: 'Walnut*Beacon74Surf',
    refusedAtReset: 'refused#reset',
    forgedToken: 'forged-token-that-nobody-was-given',
    admin: ADMIN.password,
  };
  const client = service.client();
  const register = (over: object) =>
    client.post(paths.register, registration(over as Record<string, unknown>));
  const account = await registerAccount(service);
  const { email } = account;
  await register({ password: secrets.refusedAtRegistration });
  await register({ email, password: secrets.taken });
  await register({ password: [secrets.taken] });
  await client.post(paths.verify, { token: secrets.forgedToken });
  await client.post(paths.verify, { token: account.token });
  await client.post(paths.verify, { token: account.token });
  await client.login({ email, password: secrets.wrong });
  await client.login({ email, password: secrets.tooLong });
  await client.login({ email: 'x', password: secrets.wrong });
  await client.request('POST', '/api/v1/auth/login', {
    raw: `{"email":"${email}","password":"${secrets.wrong}"`,
    headers: { 'content-type': 'application/json' },
  });
  await client.login(ADMIN);
  const signedIn = await client.login({ email, password: PASSWORD });
  assert.equal(signedIn.status, 200);
  const change = (current_password: string, new_password: string) =>
    client.post(paths.changePassword, { current_password, new_password });
  await change(secrets.wrong, secrets.changed);
  await change(PASSWORD, secrets.refusedAtChange);
  await client.put(paths.me, { password: secrets.changed });
  const changed = await change(PASSWORD, secrets.changed);
  assert.equal(changed.status, 200);
  const refreshed = await client.post(paths.refresh, { refresh_token: changed.body.data.refresh_token });
  await client.post(paths.refresh, { refresh_token: secrets.forgedToken });
  const link = await resetLink(service, email);
  await confirmReset(client, secrets.forgedToken, secrets.reset);
  await confirmReset(client, link, secrets.refusedAtReset);
  assert.equal((await confirmReset(client, link, secrets.reset)).status, 200);
  await confirmReset(client, link, secrets.reset);
  const unused = await resetLink(service, email);

  const tokens = [signedIn, changed, refreshed].flatMap(({ body }) => [
    body.data.access_token,
    body.data.refresh_token,
  ]);
  await assertNoPlaintext(service, [...Object.values(secrets), account.token, link, unused, ...tokens]);
  const hashes = await service.sql<{ password_hash: string }>('select password_hash from users');
  const log = service.logLines.join('\n');
  const audit = await service.sql<{ row: string }>('select t::text as row from audit_logs t');
  for (const { password_hash } of hashes) {
    assert.match(password_hash, /^\$argon2id\$/);
    assert.ok(!log.includes(password_hash), 'the log contains no password hash');
    assert.ok(!audit.some(({ row }) => row.includes(password_hash)));
  }
  assert.ok(!log.includes('argon2id') && !audit.some(({ row }) => row.includes('argon2id')));
});

test('the search for secrets finds one that is there', async () => {
  await service.sql(
    `insert into audit_logs (id, action, resource_type, details) values (gen_random_uuid(), 'x', 'x', '{"a": "Planted#Secret47"}')`,
  );
  await assert.rejects(assertNoPlaintext(service, ['Planted#Secret47']), /audit_logs/);
});
