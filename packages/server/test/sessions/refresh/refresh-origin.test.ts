// The check of a refresh against the network from which the session was started.
// The tests are behind a trusted proxy, so that X-Forwarded-For sets their network.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, startTestService, type TestService } from '@castellan/testing/harness';
import { type Account, addUser, isAccepted } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';

const service = await startTestService({ after }, { TRUSTED_PROXIES: '127.0.0.1' });
const HOME = '198.51.100.20';
const FAR = '203.0.113.20';

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

const paths = {
  refresh: (client: TestClient, address: string): Promise<Answer> =>
    client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken }, from(address)),
  new_access_token: (client: TestClient, address: string): Promise<Answer> =>
    client.post('/api/v1/auth/new_access_token', undefined, from(address)),
};

for (const [path, present] of Object.entries(paths)) {
  for (const [origin, address] of [
    [HOME, HOME],
    [HOME, '198.51.100.255'],
    [HOME, `::ffff:${HOME}`],
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
  ] as const)
    test(`${path} of a session from ${origin} is accepted from ${address}, the same network`, async () => {
      const client = await signInFrom(origin, await addUser(service));
      const answer = await present(client, address);
      assert.equal(answer.status, 200, answer.text);
    });

  for (const [origin, address] of [
    [HOME, '198.51.101.20'],
    [HOME, FAR],
    ['2001:db8:1:2::1', '2001:db8:1:3::1'],
    [HOME, '2001:db8:1:2::1'],
  ] as const)
    test(`${path} of a session from ${origin} is refused from ${address}, and ends only that session`, async () => {
      const user = await addUser(service);
      const client = await signInFrom(origin, user);
      const elsewhere = await signInFrom(origin, user);
      const answer = await present(client, address);
      assert.equal(answer.status, 401, answer.text);
      assert.equal(answer.body.code, 'refresh_token_invalid');

      assert.equal(await isAccepted(service, client.accessToken as string), false);
      assert.equal((await present(client, origin)).status, 401);
      assert.ok(await isAccepted(service, elsewhere.accessToken as string));
      assert.equal((await present(elsewhere, origin)).status, 200);

      const events = await eventsOf(service, 'refresh_origin_network_mismatch', user);
      assert.equal(events.length, 1);
      assert.equal(events[0]?.details.session_id, readToken(client.accessToken as string).claims.sid);
      assert.equal(events[0]?.details.origin_address, origin);
      assert.equal(events[0]?.details.address, address);
    });

  test(`${path} answers a mismatch with the same body as any invalid refresh token`, async () => {
    const client = await signInFrom(HOME, await addUser(service));
    const mismatch = await present(client, FAR);
    const unknown = await present(client, FAR);
    delete mismatch.body.request_id;
    delete unknown.body.request_id;
    assert.deepEqual(mismatch.body, unknown.body);
  });

  test(`${path} of a session without a recorded origin is accepted from anywhere`, async () => {
    const user = await addUser(service);
    const client = await signInFrom(HOME, user);
    await service.sql('update sessions set origin_address = null where user_id = $1', [user.id]);
    assert.equal((await present(client, FAR)).status, 200);
    assert.deepEqual(await eventsOf(service, 'refresh_origin_network_mismatch', user), []);
  });
}

test('a refresh does not change the session’s origin', async () => {
  const client = await signInFrom(HOME, await addUser(service));
  assert.equal((await paths.new_access_token(client, '198.51.100.99')).status, 200);
  assert.equal((await paths.new_access_token(client, HOME)).status, 200);
  const list = await client.get('/api/v1/auth/sessions');
  assert.equal(list.body.data[0].origin_address, HOME);
});

test('access tokens are never checked against the origin', async () => {
  const client = await signInFrom(HOME, await addUser(service));
  for (const address of [FAR, '2001:db8::1', HOME])
    assert.equal((await client.get('/api/v1/users/me', from(address))).status, 200);
});

test('VALIDATE_TOKEN_IP=false lets a session refresh from every network', async () => {
  const lax = await service.another({ VALIDATE_TOKEN_IP: 'false' });
  const client = await signInFrom(HOME, await addUser(service), lax);
  assert.equal((await paths.new_access_token(client, FAR)).status, 200);
  assert.equal((await paths.refresh(client, '2001:db8::1')).status, 200);
});

test('without a trusted proxy X-Forwarded-For does not change the network', async () => {
  const direct = await service.another({ TRUSTED_PROXIES: '' });
  const client = await signInFrom(HOME, await addUser(service), direct);
  assert.equal((await paths.refresh(client, FAR)).status, 200);
  const list = await client.get('/api/v1/auth/sessions');
  assert.equal(list.body.data[0].origin_address, '127.0.0.1');
});

const unusual = async (client: TestClient) => {
  const { body } = await client.get('/api/v1/auth/sessions');
  const session = body.data.find(({ current }: { current: boolean }) => current);
  return [session.unusual_network, session.last_address];
};

test('a sign-in from a network that the user did not use before is marked, also after the others have ended', async () => {
  const user = await addUser(service);
  const first = await signInFrom(HOME, user);
  assert.deepEqual(await unusual(first), [null, HOME], 'the first one has nothing to differ from');
  assert.deepEqual(await unusual(await signInFrom('198.51.100.99', user)), [null, '198.51.100.99']);
  await first.post('/api/v1/auth/logout/all');
  assert.deepEqual(await unusual(await signInFrom(FAR, user)), ['new', FAR]);
  assert.deepEqual(await unusual(await signInFrom(FAR, user)), [null, FAR], 'now it is known');
  assert.deepEqual(await unusual(await signInFrom('2001:db8:1:2::1', user)), ['new', '2001:db8:1:2::1']);
  assert.deepEqual(await unusual(await signInFrom('2001:db8:1:2::2', user)), [null, '2001:db8:1:2::2']);
  const other = await addUser(service);
  assert.deepEqual(await unusual(await signInFrom(HOME, other)), [null, HOME], 'users do not share networks');
});

test('a session that is used from another network is marked, where that is permitted', async (t) => {
  const own = await startTestService(t, { TRUSTED_PROXIES: '127.0.0.1', VALIDATE_TOKEN_IP: 'false' });
  const user = await addUser(own);
  const client = await signInFrom(HOME, user, own);
  const refresh = async (address: string) => {
    const { body } = await client.post(
      '/api/v1/auth/refresh',
      { refresh_token: client.refreshToken },
      from(address),
    );
    client.accessToken = body.data.access_token;
    client.refreshToken = body.data.refresh_token;
  };
  await refresh('198.51.100.99');
  assert.deepEqual(await unusual(client), [null, '198.51.100.99']);
  await refresh(FAR);
  assert.deepEqual(await unusual(client), ['changed', FAR]);
  const admin = own.client();
  await admin.login(ADMIN);
  const { body } = await admin.get(`/api/v1/sessions?user_id=${user.id}`);
  assert.equal(body.data[0].unusual_network, 'changed');
  await refresh(HOME);
  assert.deepEqual(await unusual(client), [null, HOME]);
});

test('sessions of earlier versions are not marked', async () => {
  const user = await addUser(service);
  const client = await signInFrom(HOME, user);
  await service.sql(
    'update sessions set origin_network = null, last_address = null, is_new_network = false where user_id = $1',
    [user.id],
  );
  assert.deepEqual(await unusual(client), [null, null]);
  assert.deepEqual(await unusual(await signInFrom(FAR, user)), [null, FAR], 'no network is known yet');
});
