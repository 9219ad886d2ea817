// What a mailed link allows besides confirming: checking it, setting a new password, declining the registration.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { entryOf } from '@castellan/testing/accounts/audit-trail';
import {
  confirmReset,
  linkTo,
  paths,
  registerAccount,
  registration,
  resetLink,
} from '@castellan/testing/accounts/self-service';
import { createVerifiedUser, PASSWORD, startTestService } from '@castellan/testing/harness';
import { addPerson } from '@castellan/testing/users/people';
import { assertAnswered, assertFieldRefused, assertMessageOnly, assertRefused } from '../answers.ts';

const service = await startTestService({ after }, { ACCOUNT_LOCKOUT_ATTEMPTS: '3' });
const NEW_PASSWORD = 'Marble?Tundra61Fox';
const post = (path: string, body: unknown) => service.client().post(path, body);
const check = async (token: string, purpose = 'verify_email') =>
  assertAnswered(await post(paths.check, { purpose, token }));
const usersOf = (email: string) => service.sql('select id, verified from users where email = $1', [email]);
const invalid = { valid: false, already_verified: false, declinable: false };

test('checking a valid link returns its state each time and leaves it usable', async () => {
  const account = await registerAccount(service);
  for (let asked = 0; asked < 3; asked += 1)
    assert.deepEqual(await check(account.token), {
      valid: true,
      already_verified: false,
      declinable: true,
      email: account.email,
    });
  assertAnswered(await post(paths.verify, { token: account.token }));
  assert.deepEqual(await check(account.token), { ...invalid, already_verified: true });

  const reset = await resetLink(service, account.email);
  assert.deepEqual(await check(reset, 'reset_password'), { ...invalid, valid: true, email: account.email });
  assertMessageOnly(await confirmReset(service.client(), reset, NEW_PASSWORD));
  assert.deepEqual(await check(reset, 'reset_password'), invalid);
});

test('unknown, expired, replaced and wrong-purpose links are all reported as invalid, without a reason', async () => {
  const account = await registerAccount(service);
  const user = await createVerifiedUser(service);
  const reset = await resetLink(service, user.email);
  for (const [token, purpose] of [
    ['x'.repeat(43), 'verify_email'],
    ['', 'reset_password'],
    [account.token, 'reset_password'],
    [reset, 'verify_email'],
  ] as const)
    assert.deepEqual(await check(token, purpose), invalid);
  await post(paths.resend, { email: account.email });
  const newest = await linkTo(service, account.email, 'verification', 1);
  assert.deepEqual(await check(account.token), invalid);
  assert.equal((await check(newest)).valid, true);
  await service.sql(`update one_time_tokens set expires_at = now() where user_id = $1`, [account.id]);
  assert.deepEqual(await check(newest), invalid);
  for (const purpose of [undefined, 'csrf', 7])
    assertFieldRefused(await post(paths.check, { purpose, token: 'x' }), 422, 'validation_failed', 'purpose');
});

test('link checks are limited by client address', async (t) => {
  const limited = await startTestService(t, { RATE_LIMIT_LINK_CHECK: '2/minute' });
  const ask = () => limited.client().post(paths.check, { purpose: 'verify_email', token: 'x' });
  for (let asked = 0; asked < 2; asked += 1) assertAnswered(await ask());
  assertRefused(await ask(), 429, 'rate_limited');
});

test('a new password sent with the link replaces the registered one, and ends links and lock', async () => {
  const account = await registerAccount(service);
  const reset = await resetLink(service, account.email);
  for (let failed = 0; failed < 3; failed += 1)
    await service.client().login({ email: account.email, password: 'Walnut*Beacon74Surf' });
  const answer = await post(paths.verify, { token: account.token, new_password: NEW_PASSWORD });
  const user = assertAnswered(answer);
  assert.deepEqual([user.id, user.verified], [account.id, true]);
  assertRefused(await service.client().login(account), 422, 'invalid_credentials');
  assert.equal((await service.client().login({ email: account.email, password: NEW_PASSWORD })).status, 200);
  assertRefused(await confirmReset(service.client(), reset, PASSWORD), 400, 'reset_token_invalid');
  for (const action of ['password_reset', 'account_unlocked', 'email_verified'])
    assert.equal((await entryOf(service, answer.headers, action)).resource_id, account.id);
  assertRefused(await post(paths.verify, { token: account.token }), 400, 'already_verified');
});

test('a refused new password lists every broken rule, verifies nothing and leaves the link usable', async () => {
  const account = await registerAccount(service);
  for (const new_password of ['short', PASSWORD]) {
    const answer = await post(paths.verify, { token: account.token, new_password });
    assert.deepEqual([answer.status, answer.body.code], [400, 'password_rejected']);
    assert.ok(answer.body.detail.errors.length > 0);
  }
  assert.deepEqual(await usersOf(account.email), [{ id: account.id, verified: false }]);
  assertAnswered(await post(paths.verify, { token: account.token, new_password: NEW_PASSWORD }));
});

test('after ten refused passwords an hour on the links of one user none is checked; accepted ones do not count', async () => {
  const account = await registerAccount(service);
  const comparisons = () => service.service.deps.hasher.stats().verifications;
  const verify = (new_password: string) => post(paths.verify, { token: account.token, new_password });
  const link = await resetLink(service, account.email);
  const reset = (password: string) => confirmReset(service.client(), link, password);
  for (let refused = 0; refused < 10; refused += 1) {
    const answer = await (refused % 2 ? verify : reset)(refused % 3 ? 'short' : PASSWORD);
    assert.equal(answer.body.code, 'password_rejected', answer.text);
  }
  const before = comparisons();
  for (const set of [verify, reset])
    for (const password of [PASSWORD, NEW_PASSWORD, 'short']) {
      const answer = await set(password);
      assertRefused(answer, 429, 'rate_limited');
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
      const entry = await entryOf(service, answer.headers, 'rate_limited');
      assert.deepEqual([entry.resource_id, entry.details.limit], [account.id, 'link-password']);
    }
  assert.equal(comparisons(), before);
  await service.sql("delete from rate_limits where key like 'link-password|%'");
  for (let refused = 0; refused < 9; refused += 1) await reset('short');
  assertMessageOnly(await reset(NEW_PASSWORD));
  const next = await resetLink(service, account.email);
  assert.equal((await confirmReset(service.client(), next, 'short')).body.code, 'password_rejected');
});

test('a link that becomes invalid while the password is hashed is refused, and the refusal is recorded', async (t) => {
  const { hasher } = service.service.deps;
  const hash = hasher.hash.bind(hasher);
  const invalidating = (statement: string, id: string) =>
    t.mock.method(hasher, 'hash', async (...input: Parameters<typeof hash>) => {
      const hashed = await hash(...input);
      await service.sql(statement, [id]);
      return hashed;
    });
  const account = await registerAccount(service);
  const verification = invalidating(
    `with used as (update one_time_tokens set used_at = now() where user_id = $1)
     update users set verified = true where id = $1`,
    account.id,
  );
  const verified = await post(paths.verify, { token: account.token, new_password: NEW_PASSWORD });
  verification.mock.restore();
  assertRefused(verified, 400, 'already_verified');
  const refused = await entryOf(service, verified.headers, 'verification_refused');
  assert.equal(refused.details.reason, 'already_verified');

  const link = await resetLink(service, account.email);
  const resetting = invalidating('update one_time_tokens set used_at = now() where user_id = $1', account.id);
  const reset = await confirmReset(service.client(), link, NEW_PASSWORD);
  resetting.mock.restore();
  assertRefused(reset, 400, 'reset_token_invalid');
  const entry = await entryOf(service, reset.headers, 'password_refused');
  assert.equal(entry.details.reason, 'reset_token_invalid');
});

test('a new password with an invalid link is refused like the link itself', async () => {
  assertRefused(
    await post(paths.verify, { token: 'x', new_password: NEW_PASSWORD }),
    400,
    'verification_token_invalid',
  );
});

test('declining removes the account with its roles, records it, and frees the email', async () => {
  const account = await registerAccount(service);
  const answer = await post(paths.decline, { token: account.token });
  assertMessageOnly(answer);
  assert.deepEqual(await usersOf(account.email), []);
  const entry = await entryOf(service, answer.headers, 'registration_declined');
  assert.deepEqual(
    [entry.actor_id, entry.resource_id, entry.details.email],
    [null, account.id, account.email],
  );
  for (const path of [paths.decline, paths.verify])
    assertRefused(await post(path, { token: account.token }), 400, 'verification_token_invalid');
  assertAnswered(await post(paths.register, registration({ email: account.email })), 201);
});

test("a verified account, a reset link and another user's token cannot decline", async () => {
  const account = await registerAccount(service);
  assertAnswered(await post(paths.verify, { token: account.token }));
  assertRefused(await post(paths.decline, { token: account.token }), 400, 'already_verified');
  const reset = await resetLink(service, account.email);
  for (const token of [reset, 'x'.repeat(43)])
    assertRefused(await post(paths.decline, { token }), 400, 'verification_token_invalid');
  assert.equal((await usersOf(account.email)).length, 1);
});

test('an account that has been signed in to cannot be declined', async () => {
  const person = await addPerson(service);
  assert.equal((await service.client().login(person)).status, 200);
  await service.sql('update users set verified = false where id = $1', [person.id]);
  await post(paths.resend, { email: person.email });
  const token = await linkTo(service, person.email, 'verification');
  assert.deepEqual(await check(token), { ...invalid, valid: true, email: person.email });
  assertRefused(await post(paths.decline, { token }), 400, 'registration_not_pending');
  assertAnswered(await post(paths.verify, { token }));
});

for (const path of [paths.decline, paths.check])
  test(`${path} without a CSRF token is 403`, async () => {
    const bare = { headers: { 'x-csrf-token': null } };
    assertRefused(await service.client().post(path, { token: 'x' }, bare), 403, 'csrf_invalid');
  });
