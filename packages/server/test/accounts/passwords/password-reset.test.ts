// POST /auth/password-reset/request and /confirm: the mailed link sets a new password once and ends all sessions.
// Races are tested in packages/hardening/test/races.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { entryOf } from '@castellan/testing/accounts/audit-trail';
import {
  confirmReset,
  mailsTo,
  paths,
  registerAccount,
  resetLink,
  strongPasswords,
  waitForEmptyOutbox,
} from '@castellan/testing/accounts/self-service';
import { createVerifiedUser, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { assertFieldRefused, assertMessageOnly, assertPasswordRefused, assertRefused } from '../answers.ts';

const service = await startTestService({ after }, { ACCOUNT_LOCKOUT_ATTEMPTS: '3' });
const [NEW, OTHER] = strongPasswords;
const request = (email: unknown) => service.client().post(paths.requestReset, { email });
const confirm = (token: string, password: string) => confirmReset(service.client(), token, password);

test('known, unverified, inactive and unknown emails get the same status, text and headers', async () => {
  const verified = await createVerifiedUser(service);
  const unverified = await registerAccount(service);
  const inactive = await createVerifiedUser(service);
  await service.sql('update users set is_active = false where id = $1', [inactive.id]);
  const unknown = newEmail('nobody');
  const answers = [];
  for (const { email } of [verified, unverified, inactive, { email: unknown }])
    answers.push(await request(email));
  assert.equal(new Set(answers.map(assertMessageOnly)).size, 1);
  assert.equal(new Set(answers.map(({ headers }) => [...headers.keys()].sort().join())).size, 1);

  await waitForEmptyOutbox(service);
  assert.equal(mailsTo(service, verified.email, 'password_reset').length, 1);
  assert.deepEqual(mailsTo(service, inactive.email, 'password_reset'), []);
  assert.deepEqual(mailsTo(service, unknown, 'password_reset'), []);
});

test('a request is in the audit log before the answer, with the account if there is one', async () => {
  const user = await createVerifiedUser(service);
  const known = await request(user.email);
  const entry = await entryOf(service, known.headers, 'password_reset_requested');
  assert.equal(entry.actor_id, null);
  assert.equal(entry.resource_id, user.id);
  assert.equal(entry.details.email, user.email);
  const stranger = newEmail('nobody');
  const unknown = await entryOf(service, (await request(stranger)).headers, 'password_reset_requested');
  assert.equal(unknown.resource_id, '');
  assert.equal(unknown.details.email, stranger);
});

for (const email of ['', 'plain', 'ada@example', 'ada@example.com>', 'x'.repeat(9_000)])
  test(`a request for ${JSON.stringify(email.slice(0, 30))} (${email.length}) is 400: not an email`, async () => {
    assertRefused(await request(email), 400, 'invalid_email');
  });

test('a body of the wrong shape is 422 and names the fields', async () => {
  for (const email of [undefined, null, 7])
    assertFieldRefused(await request(email), 422, 'validation_failed', 'email');
  const send = (body: object) => service.client().post(paths.confirmReset, body);
  assertFieldRefused(await send({ new_password: NEW }), 422, 'validation_failed', 'token');
  assertFieldRefused(await send({ token: 'x' }), 422, 'validation_failed', 'new_password');
  assertFieldRefused(await send({ token: 'x', new_password: 7 }), 422, 'validation_failed', 'new_password');
});

test('without a CSRF token both operations are 403, and the link stays usable', async () => {
  const user = await createVerifiedUser(service);
  const token = await resetLink(service, user.email);
  const bare = { headers: { 'x-csrf-token': null } };
  assertRefused(
    await service.client().post(paths.requestReset, { email: user.email }, bare),
    403,
    'csrf_invalid',
  );
  const body = { token, new_password: NEW };
  assertRefused(await service.client().post(paths.confirmReset, body, bare), 403, 'csrf_invalid');
  assertMessageOnly(await confirm(token, NEW));
});

test('a reset sets the password: the new one signs in, the old one does not', async () => {
  const user = await createVerifiedUser(service);
  const answer = await confirm(await resetLink(service, user.email), NEW);
  assertMessageOnly(answer);
  assert.doesNotMatch(answer.text, /access_token|refresh_token/);
  assertRefused(await service.client().login(user), 422, 'invalid_credentials');
  assert.equal((await service.client().login({ email: user.email, password: NEW })).status, 200);
  const entry = await entryOf(service, answer.headers, 'password_reset');
  assert.equal(entry.actor_id, user.id);
  assert.equal(entry.resource_id, user.id);
  assert.equal(entry.details.email, user.email);
});

test('a reset ends every session: access tokens and refresh tokens', async () => {
  const user = await createVerifiedUser(service);
  const sessions = [await signIn(service, user), await signIn(service, user), await signIn(service, user)];
  assertMessageOnly(await confirm(await resetLink(service, user.email), NEW));
  for (const session of sessions) {
    assert.match(assertRefused(await session.get(paths.me), 401, 'token_revoked').detail, /revoked/);
    const refreshed = await session.post(paths.refresh, { refresh_token: session.refreshToken });
    assertRefused(refreshed, 401, 'refresh_token_invalid');
    assertRefused(await session.post('/api/v1/auth/new_access_token'), 401, 'refresh_token_invalid');
  }
});

test('a reset invalidates all pending links, including those for verification', async () => {
  const account = await registerAccount(service);
  assertMessageOnly(await confirm(await resetLink(service, account.email), NEW));
  assertRefused(
    await service.client().post(paths.verify, { token: account.token }),
    400,
    'verification_token_invalid',
  );
  const left = await service.sql('select from one_time_tokens where user_id = $1 and used_at is null', [
    account.id,
  ]);
  assert.equal(left.length, 0);
});

test('a reset does not verify the email', async () => {
  const account = await registerAccount(service);
  assertMessageOnly(await confirm(await resetLink(service, account.email), NEW));
  const login = await service.client().login({ email: account.email, password: NEW });
  assertRefused(login, 422, 'email_not_verified');
});

test('a reset clears the lock and the counter of failed attempts', async () => {
  const user = await createVerifiedUser(service);
  const guess = () => service.client().login({ email: user.email, password: 'Wrong#Quartz82Lime' });
  for (let attempt = 0; attempt < 3; attempt += 1) await guess();
  assertRefused(await service.client().login(user), 422, 'account_locked');
  const answer = await confirm(await resetLink(service, user.email), NEW);
  assertMessageOnly(answer);
  const entry = await entryOf(service, answer.headers, 'account_unlocked');
  assert.equal(entry.resource_id, user.id);
  assert.equal(entry.details.email, user.email);
  assertRefused(await guess(), 422, 'invalid_credentials');
  assertRefused(await guess(), 422, 'invalid_credentials');
  assert.equal((await service.client().login({ email: user.email, password: NEW })).status, 200);
});

test('a used link is 400 and changes nothing', async () => {
  const user = await createVerifiedUser(service);
  const token = await resetLink(service, user.email);
  assertMessageOnly(await confirm(token, NEW));
  const again = await confirm(token, OTHER);
  assertRefused(again, 400, 'reset_token_invalid');
  const entry = await entryOf(service, again.headers, 'password_refused');
  assert.equal(entry.details.reason, 'reset_token_invalid');
  assert.equal((await service.client().login({ email: user.email, password: NEW })).status, 200);
});

test('a link is valid for 30 minutes and 400 afterwards', async () => {
  const user = await createVerifiedUser(service);
  const token = await resetLink(service, user.email);
  const [row] = await service.sql<{ minutes: number }>(
    `select extract(epoch from expires_at - created_at)::int / 60 as minutes from one_time_tokens
     where user_id = $1 and purpose = 'reset_password'`,
    [user.id],
  );
  assert.equal(row!.minutes, 30);
  await service.sql(
    `update one_time_tokens set expires_at = now() - interval '1 second' where user_id = $1`,
    [user.id],
  );
  // Also with a password that would be refused: an invalid link reveals no password rules.
  for (const password of [NEW, 'short'])
    assertRefused(await confirm(token, password), 400, 'reset_token_invalid');
  assert.equal((await service.client().login(user)).status, 200);
});

test('only the newest link works', async () => {
  const user = await createVerifiedUser(service);
  const first = await resetLink(service, user.email);
  const second = await resetLink(service, user.email);
  assertRefused(await confirm(first, NEW), 400, 'reset_token_invalid');
  assertMessageOnly(await confirm(second, NEW));
});

test('the link of an account that was deactivated, deleted or given another email is 400', async () => {
  for (const statement of [
    'update users set is_active = false where id = $1',
    `update users set email = 'moved-' || email where id = $1`,
    'with links as (delete from user_roles where user_id = $1) delete from one_time_tokens where user_id = $1',
  ]) {
    const user = await createVerifiedUser(service);
    const token = await resetLink(service, user.email);
    await service.sql(statement, [user.id]);
    assertRefused(await confirm(token, NEW), 400, 'reset_token_invalid');
  }
});

test('a refused password lists every broken rule, and the link stays usable', async () => {
  const user = await createVerifiedUser(service);
  const session = await signIn(service, user);
  const token = await resetLink(service, user.email);
  for (const password of ['aaa123', '', 'x'.repeat(10_000)])
    assert.ok(assertPasswordRefused(await confirm(token, password)).length > 2);
  const reused = await confirm(token, PASSWORD);
  assert.match(assertPasswordRefused(reused).join(), /not used here before/);
  const entry = await entryOf(service, reused.headers, 'password_refused');
  assert.equal(entry.resource_id, user.id);
  assert.equal(entry.details.email, user.email);
  assert.equal((await session.get(paths.me)).status, 200, 'a refusal ends no session');
  assertMessageOnly(await confirm(token, NEW));
});

test('an invalid link reveals nothing about the password: the link is checked first', async () => {
  assertRefused(await confirm('x'.repeat(43), 'short'), 400, 'reset_token_invalid');
});
