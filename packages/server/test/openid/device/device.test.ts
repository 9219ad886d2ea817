// The sign-in of a device (RFC 8628): what it is told, what the person sees and answers, and what it gets, on two instances.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { addProvider } from '@castellan/testing/openid/providers';
import { createSecretText } from '../../../src/platform/security/secret-text.ts';
import { startWithAdmin } from '../../applications/fixture.ts';
import { act, read } from '../authorize/fixture.ts';
import { addApplication, addSignedIn, assertError, refresh, userinfo } from '../fixture.ts';
import { allow, allowed, askForDevice, begin, lookUp, poll, type, wait } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after }, { RATE_LIMIT_AUTHORIZE: 'off' });
const twin = await service.another();
const device = { type: 'device', redirect_uris: [] };
const scopes = ['openid', 'profile', 'email', 'offline_access'];
const tv = await addApplication(admin, [service, twin], { ...device, scopes, name: 'Television' });
const other = await addApplication(admin, [service, twin], device);
const web = await addApplication(admin, [service, twin]);
const ada = await addSignedIn(service);
const ISSUER = service.service.deps.settings.publicUrl;

const eventsNamed = (action: string, actorId: string) =>
  service.sql<{ resource_id: string; details: Record<string, unknown> }>(
    'select resource_id, details from audit_logs where action = $1 and actor_id = $2 order by "timestamp"',
    [action, actorId],
  );

test('a device is told two codes and where to type one', async () => {
  const answer = await askForDevice(service, tv);
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/);
  const { device_code, user_code, ...told } = answer.body;
  assert.match(device_code, /^cas_dc_\w{43}_\w{6}$/);
  assert.match(user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  assert.deepEqual(told, {
    verification_uri: `${ISSUER}/device`,
    verification_uri_complete: `${ISSUER}/device?user_code=${user_code}`,
    expires_in: 600,
    interval: 5,
  });
  const rows = await service.sql<{ row: string }>('select d::text as row from device_requests d');
  assert.ok(rows.every(({ row }) => !row.includes(device_code)));
});

test('requests that an application may not make', async () => {
  assertError(await askForDevice(service, web), 400, 'unauthorized_client');
  assertError(await askForDevice(service, tv, { scope: 'unknown' }), 400, 'invalid_scope');
  assertError(
    await askForDevice(service, tv, { scope: 'openid', resource: 'https://orders.example.com' }),
    400,
    'invalid_target',
  );
  assertError(await askForDevice(service, { id: '', client_id: 'nobody' }), 401, 'invalid_client');
  assert.equal((await askForDevice(service, tv, {})).status, 200);
});

test('a person sees who asks, allows it, and the device gets their tokens, once', async () => {
  const asked = await begin(service, tv);
  assertError(await poll(twin, tv, asked), 400, 'authorization_pending');
  const id = await lookUp(ada.client, asked);
  const { data } = (await read(ada.client, id)).body;
  assert.deepEqual(
    [data.step, data.application.name, data.application.host, data.account.email],
    ['device', 'Television', null, ada.person.email],
  );
  assert.deepEqual([data.device.address, data.device.user_agent], ['127.0.0.0/24', 'TV/1.0 (test)']);
  assert.ok(Math.abs(Date.parse(data.device.asked_at) - Date.now()) < 60_000);
  assert.deepEqual(
    data.consent.scopes.map(({ name }: { name: string }) => name),
    ['openid', 'email'],
  );
  const answer = await allow(ada.client, id);
  assert.deepEqual([answer.status, answer.body.data.redirect_to], [200, `${ISSUER}/device?result=allowed`]);
  const tokens = await poll(twin, tv, asked);
  assert.equal(tokens.status, 200, tokens.text);
  assert.deepEqual([tokens.body.scope, tokens.body.token_type], ['openid email', 'Bearer']);
  const told = await userinfo(service, tokens.body.access_token);
  assert.deepEqual([told.body.sub, told.body.email], [ada.person.id, ada.person.email]);
  const claims = JSON.parse(Buffer.from(tokens.body.id_token.split('.')[1], 'base64url').toString());
  assert.deepEqual([claims.sub, claims.aud, claims.nonce], [ada.person.id, tv.client_id, undefined]);
  assertError(await poll(service, tv, asked), 400, 'invalid_grant');
  // A device that asks once more loses nothing.
  assert.equal((await refresh(service, tv, tokens.body.refresh_token)).status, 200);
  assert.equal((await read(ada.client, id)).status, 404);
  assert.equal((await allow(ada.client, id)).status, 404);
  const [event] = await eventsNamed('device_sign_in_allowed', ada.person.id);
  assert.equal(event?.resource_id, tv.id);
  assert.deepEqual(
    [event.details.scopes, event.details.device_address, event.details.device_user_agent],
    [['openid', 'email'], '127.0.0.1', 'TV/1.0 (test)'],
  );
  assert.equal((await eventsNamed('consent_given', ada.person.id)).length, 1);
});

test('consent is asked for every time, and a part of it can be left out', async () => {
  await allowed(service, tv, ada.client, { scope: 'openid email offline_access' });
  const asked = await begin(service, tv, { scope: 'openid email offline_access' });
  const id = await lookUp(ada.client, asked);
  const { consent } = (await read(ada.client, id)).body.data;
  assert.deepEqual(
    consent.scopes.map(({ is_new }: { is_new: boolean }) => is_new),
    [false, false, false],
  );
  await allow(ada.client, id, { scopes: ['email'] });
  const tokens = await poll(service, tv, asked);
  assert.equal(tokens.body.scope, 'openid email');
});

test('a person denies a device, which learns it and gets nothing', async () => {
  for (const deny of [
    (id: string) => act(ada.client, id, 'consent', { decision: 'deny' }),
    (id: string) => act(ada.client, id, 'cancel'),
  ]) {
    const asked = await begin(service, tv);
    const id = await lookUp(ada.client, asked);
    const answer = await deny(id);
    assert.deepEqual([answer.status, answer.body.data?.redirect_to], [200, `${ISSUER}/device?result=denied`]);
    assertError(await poll(twin, tv, asked), 400, 'access_denied');
    assert.equal((await allow(ada.client, id)).status, 404);
    assertError(await poll(twin, tv, asked), 400, 'access_denied');
  }
  assert.equal((await eventsNamed('device_sign_in_denied', ada.person.id)).length, 2);
});

test('a device that asks too soon waits longer, on any instance', async () => {
  const asked = await begin(service, tv);
  const intervals = async () =>
    (
      await service.sql<{ seconds: number }>(
        'select interval_seconds as seconds from device_requests where user_code = $1',
        [asked.user_code.replace('-', '')],
      )
    )[0]?.seconds;
  assertError(await poll(service, tv, asked), 400, 'authorization_pending');
  assertError(await poll(twin, tv, asked), 400, 'slow_down');
  assertError(await poll(service, tv, asked), 400, 'slow_down');
  assert.equal(await intervals(), 15);
  await wait(service);
  assertError(await poll(twin, tv, asked), 400, 'authorization_pending');
  assert.equal(await intervals(), 15);
  // What was answered is told at once.
  await allow(ada.client, await lookUp(ada.client, asked));
  assert.equal((await poll(service, tv, asked)).status, 200);
});

test('a device code that has expired, is unknown, of another application or no code', async () => {
  const asked = await begin(service, tv);
  assertError(await poll(service, other, asked), 400, 'invalid_grant');
  assertError(await poll(service, web, asked), 400, 'unauthorized_client');
  assertError(await poll(service, tv, { device_code: createSecretText('cas_dc_') }), 400, 'invalid_grant');
  assertError(await poll(service, tv, { device_code: `${asked.device_code}0` }), 400, 'invalid_grant');
  assertError(await poll(service, tv, { device_code: '' }), 400, 'invalid_request');
  // None of them counted as a request of the device.
  assertError(await poll(service, tv, asked), 400, 'authorization_pending');
  const id = await lookUp(ada.client, asked);
  await service.sql('update device_requests set expires_at = now() where user_code = $1', [
    asked.user_code.replace('-', ''),
  ]);
  assertError(await poll(service, tv, asked), 400, 'expired_token');
  assert.equal((await allow(ada.client, id)).status, 404);
  assert.equal((await type(ada.client, asked.user_code)).status, 404);
});

test('a device that was allowed and asks too late', async () => {
  const asked = await allowed(service, tv, ada.client);
  await service.sql(
    `update access_grants set code_expires_at = now() where id =
       (select grant_id from device_requests where user_code = $1)`,
    [asked.user_code.replace('-', '')],
  );
  assertError(await poll(service, tv, asked), 400, 'expired_token');
});

test('a user code in any case, with blanks or without the hyphen', async () => {
  const { user_code } = await begin(service, tv);
  for (const text of [
    user_code,
    user_code.replace('-', ''),
    ` ${user_code.toLowerCase().replace('-', ' ')} `,
  ])
    assert.equal((await type(ada.client, text)).status, 200, text);
});

test('nobody answers for the person who typed the code, and a code that is typed again is answered there', async () => {
  const bob = await addSignedIn(service);
  const asked = await begin(service, tv);
  const id = await lookUp(ada.client, asked);
  assert.equal((await read(bob.client, id)).status, 404);
  assert.equal((await allow(bob.client, id)).status, 404);
  assert.equal((await act(bob.client, id, 'cancel')).status, 404);
  const { slug, name } = await addProvider(service);
  const shown = (await read(service.client(), id)).body.data;
  assert.deepEqual([shown.step, shown.account, shown.device, shown.consent], ['sign_in', null, null, null]);
  assert.deepEqual(shown.providers, [{ slug, name, kind: 'oidc' }]);
  for (const name of ['consent', 'cancel'])
    assert.equal(
      (await act(service.client(), id, name, { decision: 'deny' })).body.code,
      'browser_session_required',
    );
  const his = await lookUp(bob.client, asked);
  assert.equal((await read(ada.client, id)).status, 404);
  assert.equal((await allow(bob.client, his)).status, 200);
  const tokens = await poll(service, tv, asked);
  assert.equal((await userinfo(service, tokens.body.access_token)).body.sub, bob.person.id);
});

test('the operations want a browser session and a CSRF token', async () => {
  const { user_code } = await begin(service, tv);
  const nobody = await type(service.client(), user_code);
  assert.deepEqual([nobody.status, nobody.body.code], [401, 'browser_session_required']);
  const bearer = await service
    .client()
    .post(
      '/api/v1/oauth/device',
      { user_code },
      { headers: { authorization: `Bearer ${ada.client.accessToken}` } },
    );
  assert.equal(bearer.status, 401);
  const id = await lookUp(ada.client, { user_code });
  for (const [path, body] of [
    ['device', { user_code }],
    [`interactions/${id}/consent`, { decision: 'allow' }],
    [`interactions/${id}/cancel`, {}],
  ] as const) {
    const answer = await ada.client.post(`/api/v1/oauth/${path}`, body, {
      headers: { 'x-csrf-token': null },
    });
    assert.deepEqual([answer.status, answer.body.code], [403, 'csrf_invalid'], path);
  }
});

test('another account is chosen, and the code is typed again', async () => {
  const { client } = await addSignedIn(service);
  const asked = await begin(service, tv);
  const id = await lookUp(client, asked);
  const stay = await act(client, id, 'account', { decision: 'continue' });
  assert.equal(stay.body.data.redirect_to, `${ISSUER}/device?interaction=${id}`);
  const leave = await act(client, id, 'account', { decision: 'switch' });
  assert.equal(leave.body.data.redirect_to, `${ISSUER}/device?user_code=${asked.user_code}`);
  assert.equal((await type(client, asked.user_code)).status, 401);
});

test('a proof that is older than ten minutes is renewed first', async () => {
  const { client, person } = await addSignedIn(service);
  const asked = await begin(service, tv);
  await service.sql(
    `update session_tokens set auth_time = now() - interval '601 seconds' where user_id = $1 and kind = 'browser'`,
    [person.id],
  );
  const id = await lookUp(client, asked);
  assert.equal((await read(client, id)).body.data.step, 'reauthenticate');
  const tooOld = await allow(client, id);
  assert.equal(tooOld.body.data.redirect_to, `${ISSUER}/device?interaction=${id}`);
  assertError(await poll(service, tv, asked), 400, 'authorization_pending');
  assert.equal((await act(client, id, 'reauthenticate', { password: 'wrong password' })).status, 400);
  const proved = await act(client, id, 'reauthenticate', { password: person.password });
  assert.equal(proved.body.data?.redirect_to, `${ISSUER}/device?interaction=${id}`, proved.text);
  assert.equal((await read(client, id)).body.data.step, 'device');
  assert.match((await allow(client, id)).body.data.redirect_to, /result=allowed$/);
  await wait(service);
  assert.equal((await poll(service, tv, asked)).status, 200);
});
