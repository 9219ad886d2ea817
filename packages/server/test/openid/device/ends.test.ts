// What ends the sign-in of a device between the answer of the person and its tokens, in order and in parallel, on two instances.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { requireOfRole } from '@castellan/testing/second-factors/requirements';
import { addRole, tally } from '@castellan/testing/users/people';
import { startWithAdmin } from '../../applications/fixture.ts';
import { act, read } from '../authorize/fixture.ts';
import {
  addApplication,
  addSignedIn,
  assertDead,
  assertError,
  type SignedIn,
  type TestApplication,
  userinfo,
} from '../fixture.ts';
import { allow, allowed, begin, lookUp, poll, type, wait } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after }, { RATE_LIMIT_AUTHORIZE: 'off' });
const twin = await service.another();
const [permission] = await service.sql<{ id: string }>(
  `select id from permissions where name = 'users.read'`,
);
const fields = {
  type: 'device',
  redirect_uris: [],
  scopes: ['openid', 'offline_access'],
  required_permission_id: permission?.id,
};
const tv = await addApplication(admin, [service, twin], fields);
const role = await addRole(service, 'users.read');
const at = (index: number) => (index % 2 ? service : twin);
const person = () => addSignedIn(service, { roles: [role] });
const change = async (application: TestApplication, body: object) => {
  const path = `/api/v1/applications/${application.id}`;
  const { etag } = Object.fromEntries((await admin.get(path)).headers);
  const answer = await admin.put(path, body, { headers: { 'if-match': etag ?? '' } });
  assert.equal(answer.status, 200, answer.text);
};

const ends: Readonly<Record<string, (who: SignedIn) => Promise<unknown>>> = {
  'sign-out': ({ sessionId }) =>
    service.sql('update sessions set revoked_at = now() where id = $1', [sessionId]),
  'the end of all sessions': ({ person: { id } }) =>
    service.sql('update users set session_epoch = session_epoch + 1 where id = $1', [id]),
  deactivation: ({ person: { id } }) => service.sql('update users set is_active = false where id = $1', [id]),
  'loss of the access rule': ({ person: { id } }) =>
    service.sql('delete from user_roles where user_id = $1', [id]),
  'a password that must be changed': ({ person: { id } }) =>
    service.sql('update users set must_change_password = true where id = $1', [id]),
  'consent withdrawn': async ({ client }) =>
    assert.equal((await client.delete(`/api/v1/users/me/applications/${tv.id}`)).status, 200),
};

for (const [what, end] of Object.entries(ends))
  test(`${what} after the device was allowed leaves it without tokens`, async () => {
    const who = await person();
    const asked = await allowed(service, tv, who.client);
    await end(who);
    assertError(await poll(twin, tv, asked), 400, 'invalid_grant');
  });

for (const [what, end] of Object.entries(ends))
  test(`50 parallel polls during ${what} leave no live token`, async () => {
    const who = await person();
    const devices = [];
    for (let made = 0; made < 10; made += 1) devices.push(await allowed(service, tv, who.client));
    const running = devices.flatMap((asked) =>
      Array.from({ length: 5 }, (_, index) => poll(at(index), tv, asked)),
    );
    await Promise.race(running);
    await end(who);
    const answers = await Promise.all(running);
    for (const { status, body, text } of answers)
      assert.ok(status === 200 || (status === 400 && body.error === 'invalid_grant'), text);
    if (what === 'a password that must be changed') return;
    for (const { status, body } of answers) if (status === 200) await assertDead(service, tv, body);
  });

test('a device that may go on alone does so after a sign-out, before and after it got its tokens', async () => {
  for (const isEarly of [true, false]) {
    const who = await person();
    const asked = await allowed(service, tv, who.client, { scope: 'openid offline_access' });
    if (isEarly) await ends['sign-out']?.(who);
    const tokens = await poll(service, tv, asked);
    assert.equal(tokens.status, 200, tokens.text);
    await ends['sign-out']?.(who);
    assert.equal((await userinfo(twin, tokens.body.access_token)).status, 200);
    await ends.deactivation?.(who);
    await assertDead(twin, tv, tokens.body);
  }
});

test('50 parallel polls get one set of tokens', async () => {
  for (let round = 0; round < 3; round += 1) {
    const { client, person: who } = await person();
    const asked = await allowed(service, tv, client);
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => poll(at(index), tv, asked)));
    assert.deepEqual(tally(answers), { 200: 1, 400: 49 });
    for (const { status, body } of answers) {
      if (status === 400) assert.equal(body.error, 'invalid_grant');
      else assert.equal((await userinfo(service, body.access_token)).body.sub, who.id);
    }
  }
});

test('50 parallel answers to one device: one counts', async () => {
  for (let round = 0; round < 3; round += 1) {
    const { client, person: who } = await person();
    const asked = await begin(service, tv);
    const id = await lookUp(client, asked);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        act(client, id, 'consent', { decision: index % 2 ? 'allow' : 'deny' }),
      ),
    );
    assert.deepEqual(tally(answers), { 200: 1, 404: 49 });
    const grants = await service.sql('select from access_grants where user_id = $1', [who.id]);
    const isAllowed = answers.find(({ status }) => status === 200)?.body.data.redirect_to.endsWith('allowed');
    assert.equal(grants.length, isAllowed ? 1 : 0);
    const answer = await poll(twin, tv, asked);
    if (isAllowed) assert.equal(answer.status, 200, answer.text);
    else assertError(answer, 400, 'access_denied');
  }
});

test('a session that ends while the person allows the device grants nothing', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { client, sessionId, person: who } = await person();
    const asked = await begin(service, tv);
    const id = await lookUp(client, asked);
    await Promise.all([
      allow(client, id),
      service.sql('update sessions set revoked_at = now() where id = $1', [sessionId]),
    ]);
    const answer = await poll(twin, tv, asked);
    assert.equal(answer.status, 400, `${who.id} ${answer.text}`);
  }
});

test('the access rule and a second factor are asked for when the person answers', async () => {
  const stranger = await addSignedIn(service);
  const asked = await begin(service, tv);
  const id = await lookUp(stranger.client, asked);
  const { data } = (await read(stranger.client, id)).body;
  assert.deepEqual([data.step, data.required_permission, data.consent], ['refused', 'users.read', null]);
  const answer = await allow(stranger.client, id);
  assert.match(answer.body.data.redirect_to, /\/device\?interaction=/);
  assertError(await poll(service, tv, asked), 400, 'authorization_pending');
  assert.match((await act(stranger.client, id, 'cancel')).body.data.redirect_to, /result=denied$/);
  assertError(await poll(service, tv, asked), 400, 'access_denied');
});

test('an application that is made inactive or no longer open to devices', async () => {
  const own = await addApplication(admin, [service, twin], {
    ...fields,
    grant_types: ['device_code', 'refresh_token'],
  });
  const who = await person();
  const waiting = await begin(service, own);
  const id = await lookUp(who.client, waiting);
  const ready = await allowed(service, own, who.client);
  await change(own, { is_active: false });
  for (const asked of [waiting, ready]) assertError(await poll(twin, own, asked), 401, 'invalid_client');
  assert.equal((await read(who.client, id)).status, 404);
  assert.equal((await allow(who.client, id)).status, 404);
  assert.equal((await type(who.client, waiting.user_code)).status, 404);
  await change(own, { is_active: true });
  // What had been allowed has ended for good; what waited goes on.
  assertError(await poll(twin, own, ready), 400, 'invalid_grant');
  assertError(await poll(twin, own, waiting), 400, 'authorization_pending');
  await change(own, { grant_types: ['refresh_token', 'authorization_code'] });
  assertError(await poll(twin, own, waiting), 400, 'unauthorized_client');
  assert.equal((await read(who.client, id)).status, 404);
  await change(own, { grant_types: ['device_code', 'refresh_token'], scopes: ['email'] });
  assert.equal((await read(who.client, id)).status, 404);
  await change(own, { scopes: ['openid'] });
  assert.equal((await allow(who.client, id)).status, 200);
  assert.equal((await admin.delete(`/api/v1/applications/${own.id}`)).status, 200);
  await wait(service);
  assertError(await poll(twin, own, waiting), 401, 'invalid_client');
});

test('a second factor that is required after the device was allowed', async () => {
  const who = await person();
  const asked = await allowed(service, tv, who.client);
  await requireOfRole(service, role, 'aal2');
  try {
    assertError(await poll(twin, tv, asked), 400, 'invalid_grant');
    const next = await begin(service, tv);
    const id = await lookUp(who.client, next);
    assert.equal((await read(who.client, id)).body.data.step, 'step_up');
    assert.match((await allow(who.client, id)).body.data.redirect_to, /\/device\?interaction=/);
  } finally {
    await requireOfRole(service, role, null);
  }
  assert.equal((await poll(twin, tv, asked)).status, 200);
});
