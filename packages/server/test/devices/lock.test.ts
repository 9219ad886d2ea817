// LOCK_EXEMPTS_KNOWN_DEVICES: strangers who lock an address do not keep its owner out, and get no more guesses by it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { newEmail, signIn, startTestService } from '@castellan/testing/harness';
import { addAppUser } from '@castellan/testing/second-factors/app';
import {
  browserWith,
  devicesOf,
  deviceTokens,
  passwordAlone,
  signInByApp,
} from '@castellan/testing/second-factors/devices';
import { type Account, addUser, readyClient } from '@castellan/testing/sessions/accounts';
import {
  codesOf,
  counterOf,
  expireLock,
  failLogins,
  logIn,
  WRONG,
} from '@castellan/testing/sessions/attempts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { statementsOf } from '@castellan/testing/statements';
import { volley } from '@castellan/testing/volley';

const service = await startTestService({ after }, { LOCK_EXEMPTS_KNOWN_DEVICES: 'true' });
const other = await service.another({ LOCK_EXEMPTS_KNOWN_DEVICES: 'true' });
const byDefault = await service.another({ LOCK_EXEMPTS_KNOWN_DEVICES: 'false' });
const stranger = await readyClient(service);
const SHOTS = 30;

/** Returns an account without a factor, and a browser that it knows. */
async function knownBrowser(): Promise<{ user: Account; client: TestClient }> {
  const user = await addUser(service);
  return { user, client: await signIn(service, user) };
}

async function lock({ email }: Account): Promise<void> {
  await failLogins(stranger, email, 5);
  assert.equal((await logIn(stranger, email, WRONG)).body.code, 'account_locked');
}

test('while strangers lock the address, its known device signs in and nobody else does', async () => {
  const { user, client } = await knownBrowser();
  await lock(user);
  const before = await counterOf(service, user.email);
  assert.equal(await passwordAlone(client, user), 200);
  assert.deepEqual(await counterOf(service, user.email), before);
  assert.equal(await passwordAlone(stranger, user), 'account_locked');
  assert.equal(await passwordAlone(browserWith(service, ['x'.repeat(43)]), user), 'account_locked');
});

test('a device of another account is a stranger', async () => {
  const { client } = await knownBrowser();
  const { user } = await knownBrowser();
  await lock(user);
  assert.equal(await passwordAlone(client, user), 'account_locked');
});

test('a forgotten device is a stranger', async () => {
  const { user, client } = await knownBrowser();
  assert.equal((await client.delete('/api/v1/auth/devices')).status, 200);
  await lock(user);
  assert.equal(await passwordAlone(client, user), 'account_locked');
});

test('one client that fails five times and then knows the password gets 422, with the setting and without', async () => {
  for (const instance of [service, byDefault]) {
    const { user, client } = await knownBrowser();
    const browser = client.at(instance.url);
    await failLogins(browser, user.email, 5);
    const answer = await logIn(browser, user.email, user.password);
    assert.deepEqual([answer.status, answer.body.code], [422, 'account_locked']);
    assert.ok(Number(answer.headers.get('retry-after')) > 890);
  }
});

test('by default a known device is locked out like everybody', async () => {
  const { user, client } = await knownBrowser();
  await lock(user);
  assert.equal(await passwordAlone(client.at(byDefault.url), user), 'account_locked');
  assert.deepEqual(
    (await devicesOf(service, user)).map((device) => device.failures),
    [0],
  );
});

test('failures of a known device count for the address as ever, and for the device', async () => {
  const { user, client } = await knownBrowser();
  await failLogins(client, user.email, 3);
  assert.equal((await counterOf(service, user.email)).failures, 3);
  assert.equal((await devicesOf(service, user))[0]?.failures, 3);
  await failLogins(stranger, user.email, 2);
  // Two guesses are left to the device, and none to the address.
  await failLogins(client, user.email, 2);
  assert.equal((await counterOf(service, user.email)).failures, 5);
  assert.equal(await passwordAlone(client, user), 'account_locked');
});

test('the fifth failure of the device closes its exemption for 15 minutes', async () => {
  const { user, client } = await knownBrowser();
  await lock(user);
  await failLogins(client, user.email, 4);
  assert.equal(await passwordAlone(client, user), 200);
  await failLogins(client, user.email, 5);
  assert.equal(await passwordAlone(client, user), 'account_locked');
  const [row] = await service.sql<{ seconds: number }>(
    'select extract(epoch from locked_until - now())::float8 as seconds from devices where user_id = $1',
    [user.id],
  );
  assert.ok(row && row.seconds > 890 && row.seconds <= 900, `${row?.seconds} s`);
  await service.sql('update devices set locked_until = now() where user_id = $1', [user.id]);
  await failLogins(client, user.email, 4);
  assert.equal(await passwordAlone(client, user), 200);
});

test('a closed exemption keeps nobody out of an address that is not locked', async () => {
  const { user, client } = await knownBrowser();
  await failLogins(client, user.email, 5);
  await expireLock(service, user.email);
  assert.equal(await passwordAlone(client, user), 200);
  assert.equal((await devicesOf(service, user))[0]?.failures, 0);
});

for (const [what, isLocked] of [
  ['while the address is locked', true],
  ['while the address is open', false],
] as const)
  test(`30 wrong passwords at once from one known device, ${what}: five are verified`, async () => {
    const { user, client } = await knownBrowser();
    client.accessToken = null;
    if (isLocked) await lock(user);
    const answers = await volley(
      Array.from({ length: SHOTS }, (_, n) => ({
        client: client.at(n % 2 === 0 ? service.url : other.url),
        method: 'POST',
        path: '/api/v1/auth/login',
        json: { email: user.email, password: WRONG },
      })),
    );
    assert.deepEqual(codesOf(answers), { invalid_credentials: 5, account_locked: SHOTS - 5 });
    assert.equal((await devicesOf(service, user))[0]?.failures, 5);
    const [row] = await service.sql<{ slots: object }>('select slots from devices where user_id = $1', [
      user.id,
    ]);
    assert.deepEqual(row?.slots, {});
    assert.equal((await counterOf(service, user.email)).failures, 5);
  });

test('guesses of a known device that began before strangers locked the address count for its five', async () => {
  const { user, client } = await knownBrowser();
  client.accessToken = null;
  const shot = (from: TestClient, n: number) => ({
    client: from.at(n % 2 === 0 ? service.url : other.url),
    method: 'POST',
    path: '/api/v1/auth/login',
    json: { email: user.email, password: WRONG },
  });
  const answers = await volley(
    Array.from({ length: SHOTS }, (_, n) => shot(n % 3 === 0 ? stranger : client, n)),
  );
  const ofDevice = codesOf(answers.filter((_, n) => n % 3 !== 0));
  assert.ok((ofDevice.invalid_credentials ?? 0) <= 5, JSON.stringify(ofDevice));
  assert.equal((await devicesOf(service, user))[0]?.failures, ofDevice.invalid_credentials ?? 0);
  assert.equal((await counterOf(service, user.email)).failures, 5);
});

test('an account with a factor passes its lock on a known device, up to the second step', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  await signInByApp(service, client, user);
  await lock(user);
  assert.equal(await passwordAlone(client, user), 'second_factor_required');
  assert.equal(await passwordAlone(stranger, user), 'account_locked');
});

test('to a stranger, an address with an account and one without cost the same statements', async () => {
  const { user } = await knownBrowser();
  const tokens = deviceTokens((await knownBrowser()).client);
  const costs = [];
  for (const email of [user.email, newEmail()]) {
    const client = browserWith(service, tokens);
    await client.get('/api/v1/auth/csrf-token');
    costs.push(await statementsOf(() => logIn(client, email, WRONG)));
    await failLogins(stranger, email, 4);
    costs.push(await statementsOf(() => logIn(client, email, WRONG)));
  }
  assert.deepEqual(costs.slice(0, 2), costs.slice(2));
  const [failure] = await eventsOf(service, 'login_failed', { email: user.email });
  assert.equal(failure?.details.reason, 'wrong_password');
});
