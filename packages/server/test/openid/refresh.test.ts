// Refresh tokens of applications: the turns of a grant, what a repeated one means, and when a grant ends.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { requireOfRole } from '@castellan/testing/second-factors/requirements';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { addRole } from '@castellan/testing/users/people';
import { createSecretText } from '../../src/platform/security/secret-text.ts';
import { startWithAdmin } from '../applications/fixture.ts';
import {
  addApplication,
  addGrant,
  addSignedIn,
  assertDead,
  assertError,
  exchange,
  newVerifier,
  post,
  refresh,
  tokensOf,
  userinfo,
} from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const twin = await service.another();
const instances = [service, twin];
const web = await addApplication(admin, instances, {
  scopes: ['openid', 'profile', 'email', 'roles', 'groups', 'offline_access'],
});
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const ageTurn = (grantId: string) =>
  service.sql(`update access_grants set turned_at = turned_at - interval '31 seconds' where id = $1`, [
    grantId,
  ]);

test('each use brings the next refresh token and new claims, with the first sign-in in the ID token', async () => {
  const who = await addSignedIn(service);
  const first = await tokensOf(service, web, who, { nonce: 'n-1' });
  await service.sql(`update users set first_name = 'Augusta' where id = $1`, [who.person.id]);
  const answer = await refresh(twin, web, first.refresh_token);
  assert.equal(answer.status, 200, answer.text);
  assert.notEqual(answer.body.refresh_token, first.refresh_token);
  assert.notEqual(answer.body.access_token, first.access_token);
  const [before, now] = [first.id_token, answer.body.id_token].map(
    (token) => readToken(token).claims as unknown as Record<string, unknown>,
  );
  assert.equal(now?.nonce, undefined);
  assert.equal(now?.given_name, 'Augusta');
  for (const name of ['sub', 'sid', 'auth_time', 'acr']) assert.equal(now?.[name], before?.[name], name);
  // The access token of before lives until it expires.
  assert.equal((await userinfo(service, first.access_token)).status, 200);
  const [event] = await eventsOf(service, 'application_tokens_refreshed', { id: web.id });
  assert.equal(event?.actor_id, who.person.id);
});

test('the one before, in the reuse interval, brings the same successor byte for byte', async () => {
  const first = await tokensOf(service, web, await addSignedIn(service));
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => refresh(index % 2 ? service : twin, web, first.refresh_token)),
  );
  for (const { status, text } of answers) assert.equal(status, 200, text);
  assert.equal(new Set(answers.map(({ body }) => body.refresh_token)).size, 1);
  assert.equal(new Set(answers.map(({ body }) => body.access_token)).size, 20);
  const next = await refresh(service, web, answers[0]?.body.refresh_token);
  assert.equal(next.status, 200);
});

test('one before after the interval, or an older one, ends the grant', async () => {
  for (const older of [false, true]) {
    const who = await addSignedIn(service);
    const first = await tokensOf(service, web, who);
    const second = await refresh(service, web, first.refresh_token);
    const third = older ? await refresh(service, web, second.body.refresh_token) : second;
    if (!older) await ageTurn(first.grant.id);
    assertError(await refresh(twin, web, first.refresh_token), 400, 'invalid_grant');
    await assertDead(service, web, third.body);
    await assertDead(service, web, first);
    const events = await eventsOf(service, 'application_refresh_token_reuse', { id: web.id });
    assert.equal(events.filter(({ actor_id }) => actor_id === who.person.id).length, 1);
  }
});

test('a turn ahead, as after a restore, is refused and ends nothing', async () => {
  const first = await tokensOf(service, web, await addSignedIn(service));
  const second = await refresh(service, web, first.refresh_token);
  await service.sql('update access_grants set turn = 0, turned_at = null where id = $1', [first.grant.id]);
  assertError(await refresh(service, web, second.body.refresh_token), 400, 'invalid_grant');
  assert.equal((await refresh(service, web, first.refresh_token)).status, 200);
});

test('a scope can be narrowed for one access token and never widened', async () => {
  const first = await tokensOf(service, web, await addSignedIn(service));
  assertError(
    await refresh(service, web, first.refresh_token, { scope: 'openid roles' }),
    400,
    'invalid_scope',
  );
  const narrow = await refresh(service, web, first.refresh_token, { scope: 'openid' });
  assert.equal(narrow.body.scope, 'openid');
  assert.deepEqual(Object.keys((await userinfo(service, narrow.body.access_token)).body), ['sub']);
  const whole = await refresh(service, web, narrow.body.refresh_token);
  assert.equal(whole.body.scope, 'openid profile email');
});

test('another application cannot use the token, and does not end it by trying', async () => {
  const other = await addApplication(admin, instances);
  const first = await tokensOf(service, web, await addSignedIn(service));
  assertError(await refresh(service, other, first.refresh_token), 400, 'invalid_grant');
  assert.equal((await refresh(service, web, first.refresh_token)).status, 200);
});

test('a bound grant ends with its session, an offline one with all sessions of the account', async () => {
  const who = await addSignedIn(service);
  const bound = await tokensOf(service, web, who);
  const offline = await tokensOf(service, web, who, { offline: true, scopes: ['openid', 'offline_access'] });
  assert.equal((await who.client.post('/api/v1/auth/logout')).status, 200);
  await assertDead(twin, web, bound);
  const next = await refresh(twin, web, offline.refresh_token);
  assert.equal(next.status, 200, next.text);
  await service.sql('update users set session_epoch = session_epoch + 1 where id = $1', [who.person.id]);
  await assertDead(twin, web, next.body);
});

test('an account that must do something first has no use of its tokens, and loses none', async () => {
  const role = await addRole(service);
  const who = await addSignedIn(service, { roles: [role] });
  const scopes = ['openid', 'offline_access'];
  const weak = await tokensOf(service, web, who, { offline: true, scopes });
  const strong = await tokensOf(service, web, who, { acr: 'aal2', amr: ['pwd', 'otp', 'mfa'] });
  const unused = await addGrant(service, web, who);

  await requireOfRole(service, role, 'aal2');
  await assertDead(twin, web, weak);
  assertError(await exchange(twin, web, unused), 400, 'invalid_grant');
  assert.equal((await userinfo(twin, strong.access_token)).status, 200);
  const next = await refresh(twin, web, strong.refresh_token);
  assert.equal(next.status, 200, next.text);
  await requireOfRole(service, role, 'aal2', "now() + interval '1 hour'");
  assert.equal((await userinfo(twin, weak.access_token)).status, 200, 'it is only announced');

  await service.sql('update users set must_change_password = true where id = $1', [who.person.id]);
  for (const tokens of [weak, next.body]) await assertDead(twin, web, tokens);
  assertError(await exchange(twin, web, unused), 400, 'invalid_grant');

  await service.sql('update users set must_change_password = false where id = $1', [who.person.id]);
  for (const tokens of [weak, next.body]) {
    assert.equal((await userinfo(twin, tokens.access_token)).status, 200);
    assert.equal((await refresh(twin, web, tokens.refresh_token)).status, 200);
  }
  assert.equal((await exchange(twin, web, unused)).status, 200);
});

test('idle and absolute ends are those of the database', async () => {
  for (const end of ['refresh_expires_at', 'expires_at']) {
    const first = await tokensOf(service, web, await addSignedIn(service));
    await service.sql(`update access_grants set ${end} = now() where id = $1`, [first.grant.id]);
    assertError(await refresh(service, web, first.refresh_token), 400, 'invalid_grant');
  }
  const first = await tokensOf(service, web, await addSignedIn(service));
  const [row] = await service.sql<{ days: number; idle: number }>(
    `select round(extract(epoch from expires_at - now()) / 86400)::int as days,
       round(extract(epoch from refresh_expires_at - now()) / 86400)::int as idle
     from access_grants where id = $1`,
    [first.grant.id],
  );
  assert.deepEqual(row, { days: 30, idle: 7 });
});

test('revocation: an access token alone, a refresh token of any turn everything; always 200', async () => {
  const first = await tokensOf(service, web, await addSignedIn(service));
  const second = await refresh(service, web, first.refresh_token);
  const other = await addApplication(admin, instances);
  for (const token of [second.body.access_token, second.body.refresh_token])
    assert.equal((await post(service, 'revoke', other, { token })).status, 200);
  assert.equal((await userinfo(service, second.body.access_token)).status, 200);
  const wrong = { client_id: web.client_id, client_secret: 'x' };
  assertError(
    await post(service, 'revoke', null, { token: second.body.access_token, ...wrong }),
    401,
    'invalid_client',
  );
  assert.equal((await post(service, 'revoke', web, { token: second.body.access_token })).status, 200);
  assertError(await userinfo(service, second.body.access_token), 401, 'invalid_token');
  const third = await refresh(service, web, second.body.refresh_token);
  assert.equal(third.status, 200);
  // Who holds a token may end it, and an old one does.
  assert.equal((await post(service, 'revoke', null, { token: first.refresh_token })).status, 200);
  await assertDead(twin, web, third.body);
  assert.equal((await post(service, 'revoke', null, { token: first.refresh_token })).status, 200);
});

test('RATE_LIMIT_REFRESH counts per grant, RATE_LIMIT_APPLICATION per application', async (t) => {
  const limited = await startWithAdmin(t, {
    RATE_LIMIT_REFRESH: '2/minute',
    RATE_LIMIT_APPLICATION: '8/minute',
  });
  const application = await addApplication(limited.admin, [limited.service]);
  const who = await addSignedIn(limited.service);
  const [one, other] = [
    await tokensOf(limited.service, application, who),
    await tokensOf(limited.service, application, who),
  ];
  let token = one.refresh_token;
  for (let times = 0; times < 2; times += 1)
    token = (await refresh(limited.service, application, token)).body.refresh_token;
  assertError(await refresh(limited.service, application, token), 429, 'rate_limited');
  assert.equal((await refresh(limited.service, application, other.refresh_token)).status, 200);
  assert.equal((await userinfo(limited.service, other.access_token)).status, 200);
  assert.equal((await userinfo(limited.service, other.access_token)).status, 200);
  assertError(await userinfo(limited.service, other.access_token), 429, 'rate_limited');
});

test('a stranger who names an application without a secret uses up nothing of others', async (t) => {
  const limited = await startWithAdmin(t, {
    RATE_LIMIT_APPLICATION: '3/minute',
    TRUSTED_PROXIES: '127.0.0.1',
  });
  const spa = await addApplication(limited.admin, [limited.service], { type: 'spa' });
  const code = createSecretText('cas_ac_');
  const from = (address: string) =>
    exchange(limited.service, spa, { code, verifier: newVerifier() }, {}, { 'x-forwarded-for': address });
  for (let times = 0; times < 3; times += 1) assertError(await from('203.0.113.9'), 400, 'invalid_grant');
  assertError(await from('203.0.113.9'), 429, 'rate_limited');
  assertError(await from('198.51.100.7'), 400, 'invalid_grant');
});

test('without a reuse interval, every repetition ends the grant', async (t) => {
  const strict = await startWithAdmin(t, { REFRESH_REUSE_INTERVAL: '0' });
  const application = await addApplication(strict.admin, [strict.service]);
  const first = await tokensOf(strict.service, application, await addSignedIn(strict.service));
  const second = await refresh(strict.service, application, first.refresh_token);
  await wait(5);
  assertError(await refresh(strict.service, application, first.refresh_token), 400, 'invalid_grant');
  await assertDead(strict.service, application, second.body);
});
