// POST /auth/change_password, and the reuse of former passwords in every operation that sets one.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { entryOf } from '@castellan/testing/accounts/audit-trail';
import { confirmReset, paths, resetLink, strongPasswords } from '@castellan/testing/accounts/self-service';
import {
  createVerifiedUser,
  PASSWORD,
  signIn,
  startTestService,
  type TestService,
} from '@castellan/testing/harness';
import { liveSessionIds } from '@castellan/testing/sessions/accounts';
import {
  assertAnswered,
  assertFieldRefused,
  assertMessageOnly,
  assertPasswordRefused,
  assertRefused,
} from '../answers.ts';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const [NEW, OTHER] = strongPasswords;

async function newUser(on: TestService = service) {
  const user = await createVerifiedUser(on);
  const client = await signIn(on, user);
  const change = (current_password: unknown, new_password: unknown) =>
    client.post(paths.changePassword, { current_password, new_password });
  return { user, client, change };
}

test('a change returns new tokens and the user; the new tokens and the new password work, the old password does not', async () => {
  const { user, client, change } = await newUser();
  const before = { access: client.accessToken, refresh: client.refreshToken };
  const answer = await change(PASSWORD, NEW);
  const data = assertAnswered(answer);
  assert.equal(data.token_type, 'bearer');
  assert.equal(data.user.id, user.id);
  assert.equal(data.user.email, user.email);
  assert.notEqual(data.access_token, before.access);
  assert.notEqual(data.refresh_token, before.refresh);
  assert.equal(client.cookies.get('refresh_token'), data.refresh_token, 'the cookie is the new one');

  const headers = { authorization: `Bearer ${data.access_token}` };
  assertAnswered(await client.get(paths.me, { headers }));
  assertAnswered(await client.post('/api/v1/auth/new_access_token'));
  assertAnswered(await service.client().post(paths.refresh, { refresh_token: data.refresh_token }));
  assertRefused(await service.client().login(user), 422, 'invalid_credentials');
  assert.equal((await service.client().login({ email: user.email, password: NEW })).status, 200);
});

test('a change ends every earlier session, including the current one', async () => {
  const { user, client, change } = await newUser();
  const others = [await signIn(service, user), await signIn(service, user)];
  const own = { access: client.accessToken, refresh: client.refreshToken };
  assertAnswered(await change(PASSWORD, NEW));
  for (const { access, refresh } of [
    own,
    ...others.map((other) => ({ access: other.accessToken, refresh: other.refreshToken })),
  ]) {
    const headers = { authorization: `Bearer ${access}` };
    const me = await service.client().get(paths.me, { headers });
    assert.match(assertRefused(me, 401, 'token_revoked').detail, /revoked/);
    const refreshed = await service.client().post(paths.refresh, { refresh_token: refresh });
    assertRefused(refreshed, 401, 'refresh_token_invalid');
  }
  const live = await liveSessionIds(service, user.id);
  assert.equal(live.length, 1);
});

test('a change invalidates a pending reset link', async () => {
  const { user, change } = await newUser();
  const token = await resetLink(service, user.email);
  assertAnswered(await change(PASSWORD, NEW));
  assertRefused(await confirmReset(service.client(), token, OTHER), 400, 'reset_token_invalid');
});

test('a change is in the audit log, with actor, resource, address and email', async () => {
  const { user, change } = await newUser();
  const entry = await entryOf(service, (await change(PASSWORD, NEW)).headers, 'password_changed');
  assert.equal(entry.actor_id, user.id);
  assert.equal(entry.resource_id, user.id);
  assert.equal(entry.details.email, user.email);
});

test('a wrong current password is 400 whatever the new one is, and changes nothing', async () => {
  const { user, client, change } = await newUser();
  for (const [current, next] of [
    ['Wrong#Quartz82Lime', NEW],
    ['Wrong#Quartz82Lime', 'short'],
    ['', NEW],
    ['x'.repeat(10_000), NEW],
  ]) {
    const answer = await change(current, next);
    assertRefused(answer, 400, 'wrong_current_password');
    const entry = await entryOf(service, answer.headers, 'password_refused');
    assert.equal(entry.actor_id, user.id);
    assert.equal(entry.details.email, user.email);
  }
  assertAnswered(await client.get(paths.me));
  assert.equal((await service.client().login(user)).status, 200);
});

test('a refused password lists every broken rule at once and ends no session', async () => {
  const { user, client, change } = await newUser();
  const errors = assertPasswordRefused(await change(PASSWORD, 'aaa123'));
  for (const rule of [/at least 12/, /upper-case/, /special/, /sequence/, /same character/])
    assert.ok(
      errors.some((one) => rule.test(one)),
      `${rule} in ${errors.join(' | ')}`,
    );
  for (const password of [
    '',
    'xY7?'.repeat(33),
    'x'.repeat(10_000),
    'SecurePassword123!',
    `Own#Name82${user.email}`.slice(0, 11),
  ])
    assertPasswordRefused(await change(PASSWORD, password));
  const refused = await change(PASSWORD, 'aaa123');
  assert.equal((await entryOf(service, refused.headers, 'password_refused')).resource_id, user.id);
  assertAnswered(await client.get(paths.me));
});

test('a change without a valid access token is 401 and requires a bearer token', async () => {
  const { client } = await newUser();
  const body = { current_password: PASSWORD, new_password: NEW };
  for (const [authorization, code] of [
    [null, 'token_missing'],
    ['Bearer nonsense', 'token_invalid'],
    [`Bearer ${client.refreshToken}`, 'token_invalid'],
    ['Basic YTpi', 'token_invalid'],
  ] as const) {
    const answer = await client.post(paths.changePassword, body, { headers: { authorization } });
    assertRefused(answer, 401, code);
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
  }
});

test('the checks come in order: CSRF 403, bearer 401, shape 422, current password 400', async () => {
  const { client, change } = await newUser();
  const bare = { headers: { 'x-csrf-token': null, authorization: null } };
  assertRefused(await client.post(paths.changePassword, {}, bare), 403, 'csrf_invalid');
  const anonymous = { headers: { authorization: null } };
  assertRefused(await client.post(paths.changePassword, {}, anonymous), 401, 'token_missing');
  assertFieldRefused(await change(undefined, NEW), 422, 'validation_failed', 'current_password');
  assertFieldRefused(await change(PASSWORD, undefined), 422, 'validation_failed', 'new_password');
  assertFieldRefused(await change(PASSWORD, 42), 422, 'validation_failed', 'new_password');
  assertRefused(await change('Wrong#Quartz82Lime', 'short'), 400, 'wrong_current_password');
});

test('the current password is accepted in another Unicode form', async () => {
  const user = await createVerifiedUser(service, { password: 'Zo\u00eb#Quartz82Lime' });
  const client = await signIn(service, { email: user.email, password: 'Zoe\u0308#Quartz82Lime' });
  const answer = await client.post(paths.changePassword, {
    current_password: user.password,
    new_password: 'Zoe\u0308#Quartz82Lime',
  });
  assert.match(assertPasswordRefused(answer).join(), /not used here before/);
});

/** Creates a user and changes their password to each of `changes`. Returns all passwords used and a further change. */
async function reuse(on: TestService, changes: readonly string[]) {
  const { user, client } = await newUser(on);
  const change = async (current_password: string, new_password: string) => {
    const answer = await client.post(paths.changePassword, { current_password, new_password });
    if (answer.status === 200) client.accessToken = answer.body.data.access_token;
    return answer;
  };
  let current = PASSWORD;
  for (const next of changes) {
    assertAnswered(await change(current, next));
    current = next;
  }
  const used = [PASSWORD, ...changes];
  return { user, used, change: (to: string) => change(current, to) };
}

test('the current and the last 5 passwords are refused by a change and by a reset; the 6th is accepted again', async () => {
  const { user, used, change } = await reuse(service, strongPasswords.slice(0, 6));
  const token = await resetLink(service, user.email);
  for (const password of used.slice(1)) {
    assert.match(assertPasswordRefused(await change(password)).join(), /not used here before/);
    const reset = await confirmReset(service.client(), token, password);
    assert.match(assertPasswordRefused(reset).join(), /not used here before/);
  }
  assertMessageOnly(await confirmReset(service.client(), token, used[0]!));
  const stored = await service.sql('select from password_history where user_id = $1', [user.id]);
  assert.equal(stored.length, 5, 'no more hashes are kept than are checked');
});

for (const [count, refused] of [
  ['0', 1],
  ['2', 3],
] as const)
  test(`with PASSWORD_HISTORY_COUNT ${count} the current and the last ${count} are refused`, async (t) => {
    const other = await startTestService(t, { PASSWORD_HISTORY_COUNT: count });
    const { used, change } = await reuse(other, strongPasswords.slice(0, 4));
    for (const password of used.slice(-refused)) assertPasswordRefused(await change(password));
    assertAnswered(await change(used.at(-refused - 1)!));
  });

test('120 changes an hour are allowed; a wrong current password counts for none of them', async () => {
  const { user, client, change } = await newUser();
  const rule = { limit: 120, windowSeconds: 3_600 };
  for (let count = 0; count < 119; count += 1)
    await service.service.deps.limiter.hit(`password-change|${user.id}`, rule);
  assertRefused(await change('Wrong#Password42', NEW), 400, 'wrong_current_password');
  const { access_token } = assertAnswered(await change(PASSWORD, NEW));
  client.accessToken = access_token;
  const refused = await change(NEW, OTHER);
  assertRefused(refused, 429, 'rate_limited');
  assert.ok(Number(refused.headers.get('retry-after')) > 60);
});
