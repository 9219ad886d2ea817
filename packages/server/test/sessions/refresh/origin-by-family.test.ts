// VALIDATE_TOKEN_IP=by-family: a session has one origin of each address family, and a refresh must come from that of its own.
// The tests are behind a trusted proxy, so that X-Forwarded-For sets their address.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { startTestService, type TestService } from '@castellan/testing/harness';
import { type Account, addUser, isAccepted } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { statementsOf } from '@castellan/testing/statements';
import { type Shot, volley } from '@castellan/testing/volley';

const service = await startTestService(
  { after },
  { TRUSTED_PROXIES: '127.0.0.1', VALIDATE_TOKEN_IP: 'by-family' },
);
const other = await service.another();

const FOUR = '198.51.100.20';
const FOUR_NEAR = '198.51.100.255';
const FOUR_FAR = '203.0.113.20';
const SIX = '2001:db8:1:2::1';
const SIX_NEAR = '2001:db8:1:2:ffff:ffff:ffff:ffff';
const SIX_FAR = '2001:db8:1:3::1';
const mapped = (address: string): string => `::ffff:${address}`;

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

async function signInFrom(address: string, user: Account, where: TestService = service): Promise<TestClient> {
  const client = where.client();
  const { email, password } = user;
  const { status, body } = await client.post('/api/v1/auth/login', { email, password }, from(address));
  assert.equal(status, 200);
  client.accessToken = body.data.access_token;
  client.refreshToken = body.data.refresh_token;
  return client;
}

/** Both ways to present a refresh token. The first one replaces it, and keeps the successor. */
const paths = {
  async refresh(client: TestClient, address: string): Promise<Answer> {
    const answer = await client.post(
      '/api/v1/auth/refresh',
      { refresh_token: client.refreshToken },
      from(address),
    );
    if (answer.status === 200) client.refreshToken = answer.body.data.refresh_token;
    return answer;
  },
  new_access_token: (client: TestClient, address: string): Promise<Answer> =>
    client.post('/api/v1/auth/new_access_token', undefined, from(address)),
};

/** Returns the address that each session of the user remembers of the other family. */
const remembered = async (user: Account): Promise<unknown[]> =>
  (
    await service.sql('select other_origin_address from sessions where user_id = $1 order by created_at', [
      user.id,
    ])
  ).map((row) => row.other_origin_address);

for (const [path, present] of Object.entries(paths)) {
  for (const [what, addresses, origin] of [
    ['IPv4 and IPv6 in turns', [FOUR, SIX, FOUR_NEAR, SIX_NEAR, SIX, FOUR], SIX],
    ['IPv6 and IPv4 in turns', [SIX, FOUR, SIX_NEAR, FOUR_NEAR, FOUR, SIX], FOUR],
    ['IPv4 also as mapped IPv6, which is no other family', [FOUR, mapped(FOUR), mapped(FOUR_NEAR)], null],
    ['mapped IPv6, then IPv4 and IPv6', [mapped(FOUR), FOUR, SIX, FOUR_NEAR, SIX_NEAR], SIX],
    ['IPv6, then mapped IPv6, which is IPv4', [SIX, mapped(FOUR), FOUR_NEAR], FOUR],
  ] as const)
    test(`${path} goes on over ${what}`, async () => {
      const user = await addUser(service);
      const [first, ...later] = addresses;
      const client = await signInFrom(first, user);
      for (const address of later) {
        const answer = await present(client, address);
        assert.equal(answer.status, 200, `${address}: ${answer.text}`);
      }
      assert.deepEqual(await remembered(user), [origin]);
      assert.deepEqual(await eventsOf(service, 'refresh_origin_network_mismatch', user), []);
    });

  for (const [what, addresses, origin] of [
    ['another IPv4 network than the sign-in', [FOUR, FOUR_FAR], FOUR],
    ['another IPv6 network than the sign-in', [SIX, SIX_FAR], SIX],
    ['another IPv6 network than the first one', [FOUR, SIX, SIX_FAR], SIX],
    ['another IPv4 network than the first one', [SIX, FOUR, FOUR_FAR], FOUR],
    ['another IPv4 network, after IPv6', [FOUR, SIX, FOUR_FAR], FOUR],
    ['another IPv4 network, as mapped IPv6', [FOUR, mapped(FOUR_FAR)], FOUR],
  ] as const)
    test(`${path} from ${what} is refused as any invalid token, and ends the session alone`, async () => {
      const user = await addUser(service);
      const [first, ...later] = addresses;
      const last = later.at(-1) ?? assert.fail();
      const client = await signInFrom(first, user);
      const elsewhere = await signInFrom(first, user);
      for (const address of later.slice(0, -1)) assert.equal((await present(client, address)).status, 200);
      const mismatch = await present(client, last);
      assert.equal(mismatch.status, 401, mismatch.text);
      const unknown = await present(client, last);
      for (const { body } of [mismatch, unknown]) delete body.request_id;
      assert.deepEqual(mismatch.body, unknown.body);
      assert.equal(await isAccepted(service, client.accessToken as string), false);
      assert.equal((await present(elsewhere, first)).status, 200);
      const events = await eventsOf(service, 'refresh_origin_network_mismatch', user);
      assert.deepEqual(
        events.map(({ details }) => details.origin_address),
        [origin],
      );
    });

  test(`${path} of the other family is recorded once, as a new origin`, async () => {
    const user = await addUser(service);
    const client = await signInFrom(FOUR, user);
    for (const address of [FOUR, SIX, SIX_NEAR, FOUR]) await present(client, address);
    const events = await eventsOf(service, 'session_refreshed', user);
    assert.deepEqual(
      events.map(({ details }) => [details.address, details.new_origin]).sort(),
      [
        [FOUR, undefined],
        [FOUR, undefined],
        [SIX, true],
        [SIX_NEAR, undefined],
      ].sort(),
    );
  });

  test(`${path}: of two networks of the other family at once, one is remembered and the other one ends the session`, async () => {
    for (let round = 0; round < 8; round += 1) {
      const user = await addUser(service);
      const client = await signInFrom(FOUR, user);
      const shot = (address: string, instance: TestService): Shot => ({
        client: client.at(instance.url),
        method: 'POST',
        path: `/api/v1/auth/${path}`,
        json: { refresh_token: client.refreshToken },
        headers: { 'x-forwarded-for': address },
      });
      const answers = await volley([shot(SIX, service), shot(SIX_FAR, other)]);
      const statuses = answers.map(({ status }) => status);
      assert.deepEqual([...statuses].sort(), [200, 401]);
      const isFirst = statuses[0] === 200;
      assert.deepEqual(await remembered(user), [isFirst ? SIX : SIX_FAR]);
      const [event, ...more] = await eventsOf(service, 'refresh_origin_network_mismatch', user);
      assert.deepEqual(more, []);
      assert.equal(event?.details.address, isFirst ? SIX_FAR : SIX);
      assert.equal(event?.details.origin_address, isFirst ? SIX : SIX_FAR);
      assert.equal((await present(client, FOUR)).status, 401, 'the session has ended');
    }
  });

  test(`${path}: two of one network of the other family at once are both accepted`, async () => {
    const user = await addUser(service);
    const client = await signInFrom(FOUR, user);
    const answers = await volley(
      [service, other].map((instance, index) => ({
        client: client.at(instance.url),
        method: 'POST',
        path: `/api/v1/auth/${path}`,
        json: { refresh_token: client.refreshToken },
        headers: { 'x-forwarded-for': index === 0 ? SIX : SIX_NEAR },
      })),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
    const [address] = await remembered(user);
    assert.ok(address === SIX || address === SIX_NEAR, String(address));
  });

  test(`${path} sends no statement more than with true, also the first of its family`, async () => {
    const strict = await service.another({ VALIDATE_TOKEN_IP: 'true' });
    const usual = await signInFrom(FOUR, await addUser(service), strict);
    const client = await signInFrom(FOUR, await addUser(service));
    const countOf = async (whose: TestClient, address: string): Promise<number> =>
      (
        await statementsOf(async () => {
          assert.equal((await present(whose, address)).status, 200);
        })
      ).length;
    await present(usual, FOUR);
    await present(client, FOUR);
    const count = await countOf(usual, FOUR);
    for (const address of [FOUR, SIX, SIX_NEAR]) assert.equal(await countOf(client, address), count, address);
  });
}

test('a refused refresh claims no family', async () => {
  const user = await addUser(service);
  const client = await signInFrom(FOUR, user);
  const { refreshToken: exchanged } = client;
  assert.equal((await paths.refresh(client, FOUR)).status, 200);
  await service.sql(
    `update session_tokens set rotated_at = now() - interval '1 hour' where user_id = $1 and rotated_at is not null`,
    [user.id],
  );
  const answer = await client.post('/api/v1/auth/refresh', { refresh_token: exchanged }, from(SIX));
  assert.equal(answer.status, 401);
  assert.equal((await eventsOf(service, 'refresh_token_reuse', user)).length, 1);
  assert.deepEqual(await remembered(user), [null]);
});

test('a session without a recorded origin is accepted from anywhere, and remembers none', async () => {
  const user = await addUser(service);
  const client = await signInFrom(FOUR, user);
  await service.sql('update sessions set origin_address = null where user_id = $1', [user.id]);
  for (const address of [FOUR_FAR, SIX, SIX_FAR])
    assert.equal((await paths.new_access_token(client, address)).status, 200);
  assert.deepEqual(await remembered(user), [null]);
});

test('each session has origins of its own', async () => {
  const user = await addUser(service);
  const client = await signInFrom(FOUR, user);
  assert.equal((await paths.refresh(client, SIX)).status, 200);
  const later = await signInFrom(SIX, user);
  assert.deepEqual(await remembered(user), [SIX, null]);
  assert.equal((await paths.refresh(later, FOUR_FAR)).status, 200);
  assert.deepEqual(await remembered(user), [SIX, FOUR_FAR]);
});

test('true and false remember no other family; true does not count one that is remembered', async () => {
  const lax = await service.another({ VALIDATE_TOKEN_IP: 'false' });
  const strict = await service.another({ VALIDATE_TOKEN_IP: 'true' });
  const user = await addUser(service);
  const client = await signInFrom(FOUR, user);
  assert.equal((await paths.new_access_token(client.at(lax.url), SIX_FAR)).status, 200);
  assert.deepEqual(await remembered(user), [null]);
  assert.equal((await paths.new_access_token(client, SIX)).status, 200);
  assert.equal((await paths.new_access_token(client.at(strict.url), FOUR)).status, 200);
  assert.equal((await paths.new_access_token(client.at(strict.url), SIX)).status, 401);
});

test('the record of a session shows the address of its sign-in and that of its last use', async () => {
  const client = await signInFrom(FOUR, await addUser(service));
  const keys = async (): Promise<string[]> => {
    const { body } = await client.get('/api/v1/auth/sessions');
    return Object.keys(body.data[0]);
  };
  const before = await keys();
  await paths.new_access_token(client, SIX);
  const { body } = await client.get('/api/v1/auth/sessions');
  const { origin_address, last_address, unusual_network } = body.data[0];
  assert.deepEqual([origin_address, last_address, unusual_network], [FOUR, SIX, 'changed']);
  assert.deepEqual(await keys(), before);
});
