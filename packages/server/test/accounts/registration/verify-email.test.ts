// POST /auth/verify-email: the mailed token works once, within its lifetime, and only for its email.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { entryOf } from '@castellan/testing/accounts/audit-trail';
import { linkTo, paths, registerAccount } from '@castellan/testing/accounts/self-service';
import { startTestService } from '@castellan/testing/harness';
import { assertAnswered, assertFieldRefused, assertRefused } from '../answers.ts';

const service = await startTestService({ after });
const verify = (token: unknown) => service.client().post(paths.verify, { token });
const isVerified = async (id: string) =>
  (await service.sql<{ verified: boolean }>('select verified from users where id = $1', [id]))[0]?.verified;

test('the mailed token verifies the account, and the answer contains the user', async () => {
  const account = await registerAccount(service);
  const answer = await verify(account.token);
  const user = assertAnswered(answer);
  assert.equal(user.id, account.id);
  assert.equal(user.email, account.email);
  assert.equal(user.verified, true);
  assert.equal(user.is_active, true);
  assert.deepEqual(user.permissions, ['self.update_profile']);
  const entry = await entryOf(service, answer.headers, 'email_verified');
  assert.equal(entry.actor_id, account.id);
  assert.equal(entry.resource_id, account.id);
  assert.equal(entry.details.email, account.email);
});

test('verifying starts no session: only the password does', async () => {
  const account = await registerAccount(service);
  const client = service.client();
  assertRefused(await client.login(account), 422, 'email_not_verified');
  const answer = await client.post(paths.verify, { token: account.token });
  assert.doesNotMatch(answer.text, /access_token|refresh_token/);
  assert.deepEqual([...client.cookies.keys()], ['csrf_token']);
  assert.equal((await client.login(account)).status, 200);
});

test('a second use of the token is 400 and says that the email is already verified', async () => {
  const account = await registerAccount(service);
  assertAnswered(await verify(account.token));
  const again = await verify(account.token);
  assertRefused(again, 400, 'already_verified');
  const entry = await entryOf(service, again.headers, 'verification_refused');
  assert.equal(entry.details.reason, 'already_verified');
});

test('the pending token of an account that was verified by other means is 400, already verified', async () => {
  const account = await registerAccount(service);
  await service.sql('update users set verified = true where id = $1', [account.id]);
  assertRefused(await verify(account.token), 400, 'already_verified');
});

test('a token that was never issued is 400 and recorded without a user', async () => {
  const answer = await verify('x'.repeat(43));
  assertRefused(answer, 400, 'verification_token_invalid');
  const entry = await entryOf(service, answer.headers, 'verification_refused');
  assert.equal(entry.actor_id, null);
  assert.equal(entry.resource_id, '');
  assert.equal(entry.details.reason, 'verification_token_invalid');
});

test('a token of a wrong type, or a missing one, is 422 and names the field', async () => {
  for (const token of [undefined, null, 42, ['x'], { $ne: '' }])
    assertFieldRefused(await verify(token), 422, 'validation_failed', 'token');
});

test('without a CSRF token verifying is 403 and the token stays usable', async () => {
  const account = await registerAccount(service);
  const answer = await service
    .client()
    .post(paths.verify, { token: account.token }, { headers: { 'x-csrf-token': null } });
  assertRefused(answer, 403, 'csrf_invalid');
  assertAnswered(await verify(account.token));
});

test('a token is valid for 24 hours and 400 afterwards', async () => {
  const { id, token } = await registerAccount(service);
  const [row] = await service.sql<{ minutes: number }>(
    `select extract(epoch from expires_at - created_at)::int / 60 as minutes from one_time_tokens where user_id = $1`,
    [id],
  );
  assert.equal(row!.minutes, 24 * 60);
  await service.sql(
    `update one_time_tokens set expires_at = now() - interval '1 second' where user_id = $1`,
    [id],
  );
  assertRefused(await verify(token), 400, 'verification_token_invalid');
  assert.equal(await isVerified(id), false);
});

test('only the newest token works', async () => {
  const { email, token } = await registerAccount(service);
  await service.client().post(paths.resend, { email });
  const newest = await linkTo(service, email, 'verification', 1);
  assert.notEqual(newest, token);
  assertRefused(await verify(token), 400, 'verification_token_invalid');
  assertAnswered(await verify(newest));
});

test('the token of a deleted account is 400', async () => {
  const { id, token } = await registerAccount(service);
  await service.sql('delete from user_roles where user_id = $1', [id]);
  await service.sql('delete from users where id = $1', [id]);
  assertRefused(await verify(token), 400, 'verification_token_invalid');
});

test('a token verifies only the email to which it was mailed', async () => {
  const { id, token } = await registerAccount(service);
  await service.sql(`update users set email = 'moved-' || email where id = $1`, [id]);
  assertRefused(await verify(token), 400, 'verification_token_invalid');
  assert.equal(await isVerified(id), false);
});

test('a token has no effect on another account', async () => {
  const [one, other] = await Promise.all([registerAccount(service), registerAccount(service)]);
  assert.equal(assertAnswered(await verify(one.token)).id, one.id);
  assert.equal(await isVerified(other.id), false);
});
