// The lock after failed sign-ins: what counts towards it, what ends it, and what it does not affect.
// The exact count under parallel attempts is tested in packages/hardening/test/races/lockout.test.ts.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { newEmail, signIn, startTestService } from '@castellan/testing/harness';
import { type Account, addUser, readyClient } from '@castellan/testing/sessions/accounts';
import { counterOf, expireLock, failLogins, logIn, WRONG } from '@castellan/testing/sessions/attempts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';

const service = await startTestService({ after });
const client = await readyClient(service);
const NEW_PASSWORD = 'ReplacementPassword!42';

const guess = (from: TestClient, password = WRONG) =>
  from.post('/api/v1/auth/change_password', { current_password: password, new_password: NEW_PASSWORD });

async function lockedUser(): Promise<Account> {
  const user = await addUser(service);
  await failLogins(client, user.email, 5);
  return user;
}

test('after four failures the right password is still accepted, after five it is not', async () => {
  const user = await addUser(service);
  await failLogins(client, user.email, 4);
  assert.equal((await logIn(client, user.email, user.password)).status, 200);
  await failLogins(client, user.email, 5);
  assert.equal((await logIn(client, user.email, user.password)).body.code, 'account_locked');
});

test('a right password resets the counter', async () => {
  const user = await addUser(service);
  await failLogins(client, user.email, 4);
  await logIn(client, user.email, user.password);
  assert.equal((await counterOf(service, user.email)).failures, 0);
  await failLogins(client, user.email, 4);
  assert.equal((await logIn(client, user.email, user.password)).status, 200);
});

test('the right password of an unverified account is not a failure', async () => {
  const user = await addUser(service, { verified: false });
  await failLogins(client, user.email, 3);
  assert.equal((await logIn(client, user.email, user.password)).body.code, 'email_not_verified');
  assert.equal((await counterOf(service, user.email)).failures, 0);
});

test('the right password of an inactive account counts as a failure, so that it cannot be recognised', async () => {
  const user = await addUser(service, { active: false });
  await logIn(client, user.email, user.password);
  assert.equal((await counterOf(service, user.email)).failures, 1);
});

test('a lock lasts 15 minutes by default', async () => {
  const user = await lockedUser();
  const [row] = await service.sql<{ seconds: number }>(
    'select extract(epoch from locked_until - now())::float8 as seconds from login_attempts where email = $1',
    [user.email],
  );
  assert.ok(row && row.seconds > 890 && row.seconds <= 900, `${row?.seconds} s`);
});

test('ACCOUNT_LOCKOUT_ATTEMPTS and ACCOUNT_LOCKOUT_DURATION take effect', async () => {
  const strict = await service.another({ ACCOUNT_LOCKOUT_ATTEMPTS: '2', ACCOUNT_LOCKOUT_DURATION: '1' });
  const user = await addUser(service);
  const other = await readyClient(strict);
  await failLogins(other, user.email, 2);
  const answer = await logIn(other, user.email, user.password);
  assert.equal(answer.body.code, 'account_locked');
  const seconds = Number(answer.headers.get('retry-after'));
  assert.ok(seconds > 30 && seconds <= 60, `Retry-After: ${seconds}`);
});

test('attempts while locked are not counted and do not extend the lock', async () => {
  const user = await lockedUser();
  const before = await counterOf(service, user.email);
  for (const password of [WRONG, user.password, WRONG])
    assert.equal((await logIn(client, user.email, password)).body.code, 'account_locked');
  assert.deepEqual(await counterOf(service, user.email), before);
  assert.equal(before.failures, 5);
});

test('an attempt while locked is an event with the reason "locked"', async () => {
  const user = await lockedUser();
  await logIn(client, user.email, user.password);
  const reasons = (await eventsOf(service, 'login_failed', { email: user.email })).map(
    (event) => event.details.reason,
  );
  assert.deepEqual(reasons, [...Array(5).fill('wrong_password'), 'locked']);
});

test('the first attempt after a lock has expired ends it: event, counter at 0, and the password is accepted', async () => {
  const user = await lockedUser();
  await expireLock(service, user.email);
  assert.equal((await logIn(client, user.email, user.password)).status, 200);
  assert.deepEqual(await counterOf(service, user.email), { failures: 0, running: 0, locked_until: null });
  const events = await eventsOf(service, 'account_unlocked', { email: user.email });
  assert.deepEqual(
    events.map((event) => event.details.reason),
    ['expired'],
  );
});

test('after a lock has expired a wrong password is the first of five again', async () => {
  const user = await lockedUser();
  await expireLock(service, user.email);
  await failLogins(client, user.email, 1);
  assert.deepEqual(await counterOf(service, user.email), { failures: 1, running: 0, locked_until: null });
  await failLogins(client, user.email, 4);
  assert.equal((await logIn(client, user.email, WRONG)).body.code, 'account_locked');
  assert.equal((await eventsOf(service, 'account_locked', { email: user.email })).length, 2);
});

test('the event of a lock names the account when there is one', async () => {
  const user = await lockedUser();
  const [event] = await eventsOf(service, 'account_locked', { email: user.email });
  assert.equal(event?.resource_id, user.id);
  assert.equal(event?.actor_id, null);
});

test('the events of attempts while locked, and of the end of the lock, name the account when there is one', async () => {
  const user = await lockedUser();
  const stranger = newEmail();
  await failLogins(client, stranger, 5);
  for (const email of [user.email, stranger]) {
    assert.equal((await logIn(client, email, WRONG)).body.code, 'account_locked');
    await expireLock(service, email);
    await failLogins(client, email, 1);
    const failed = await eventsOf(service, 'login_failed', { email });
    const locked = failed.find(({ details }) => details.reason === 'locked');
    const [unlocked] = await eventsOf(service, 'account_unlocked', { email });
    const id = email === user.email ? user.id : '';
    assert.deepEqual([locked?.resource_id, unlocked?.resource_id], [id, id]);
    assert.deepEqual([locked?.actor_id, unlocked?.actor_id], [null, null]);
  }
});

test('an email without an account is locked as well, and no mail is sent', async () => {
  const stranger = newEmail();
  await failLogins(client, stranger, 5);
  assert.equal((await logIn(client, stranger, WRONG)).body.code, 'account_locked');
  const [event] = await eventsOf(service, 'account_locked', { email: stranger });
  assert.equal(event?.resource_id, '');
  // A mail to another user, queued later: once it is sent, the earlier row has been processed.
  const user = await lockedUser();
  await service.mailTo(user.email);
  assert.deepEqual(
    service.mails().filter((mail) => mail.to === stranger),
    [],
  );
});

test('other spellings of an email count towards the same lock', async () => {
  const user = await addUser(service);
  for (const spelling of [user.email, user.email.toUpperCase(), ` ${user.email}`, `${user.email}  `])
    await failLogins(client, spelling, 1);
  await failLogins(client, user.email.replace('user', 'uSeR'), 1);
  assert.equal((await logIn(client, user.email, user.password)).body.code, 'account_locked');
});

test('a lock affects only one email', async () => {
  await lockedUser();
  const user = await addUser(service);
  assert.equal((await logIn(client, user.email, user.password)).status, 200);
});

test('a lock does not affect live sessions and their refreshes', async () => {
  const user = await addUser(service);
  const signedIn = await signIn(service, user);
  await failLogins(client, user.email, 5);
  assert.equal((await signedIn.get('/api/v1/users/me')).status, 200);
  assert.equal((await signedIn.post('/api/v1/auth/new_access_token')).status, 200);
  const refreshed = await signedIn.post('/api/v1/auth/refresh', { refresh_token: signedIn.refreshToken });
  assert.equal(refreshed.status, 200, refreshed.text);
});

test('the owner of a locked account can reset the password, which ends the lock with an event', async () => {
  const user = await lockedUser();
  const locked = await service.mailTo(user.email);
  assert.equal(locked.kind, 'account_locked');
  const requested = await client.post('/api/v1/auth/password-reset/request', { email: user.email });
  assert.equal(requested.status, 200, requested.text);
  const { token } = await service.mailTo(user.email, 1);
  const confirmed = await client.post('/api/v1/auth/password-reset/confirm', {
    token,
    new_password: NEW_PASSWORD,
  });
  assert.equal(confirmed.status, 200, confirmed.text);
  assert.equal((await logIn(client, user.email, NEW_PASSWORD)).status, 200);
  const events = await eventsOf(service, 'account_unlocked', { email: user.email });
  assert.deepEqual(
    events.map((event) => event.details.reason),
    ['password_set'],
  );
});

test('wrong current passwords in change_password count towards the same lock as sign-ins', async () => {
  const user = await addUser(service);
  const signedIn = await signIn(service, user);
  for (let count = 0; count < 3; count += 1) {
    const answer = await guess(signedIn);
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.body.code, 'wrong_current_password');
  }
  await failLogins(client, user.email, 2);
  const answer = await guess(signedIn, user.password);
  assert.equal(answer.status, 422);
  assert.equal(answer.body.code, 'account_locked');
  assert.ok(Number(answer.headers.get('retry-after')) > 0);
  assert.equal((await eventsOf(service, 'account_locked', { email: user.email })).length, 1);
});

test('a right current password resets the counter even if the new one is refused', async () => {
  const user = await addUser(service);
  const signedIn = await signIn(service, user);
  await guess(signedIn);
  const answer = await signedIn.post('/api/v1/auth/change_password', {
    current_password: user.password,
    new_password: 'short',
  });
  assert.equal(answer.body.code, 'password_rejected', answer.text);
  assert.equal((await counterOf(service, user.email)).failures, 0);
});

test('a sign-in with invalid input counts towards nothing', async () => {
  const user = await addUser(service);
  await logIn(client, user.email, 'x'.repeat(1_001));
  assert.equal((await counterOf(service, user.email)).failures, 0);
});

test('lowering the limit below the failures already counted locks the account and does not hang', async (t) => {
  const service = await startTestService(t, { ACCOUNT_LOCKOUT_ATTEMPTS: '5' });
  const user = await addUser(service);
  for (let count = 0; count < 4; count += 1)
    await service.client().login({ email: user.email, password: 'wrong' });
  const stricter = await service.another({ ACCOUNT_LOCKOUT_ATTEMPTS: '3' });
  const answer = await stricter.client().login(user);
  assert.equal(answer.body.code, 'account_locked', answer.text);
});
