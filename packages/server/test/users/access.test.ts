// Administration of another user's access: sessions, lockout, email verification.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { addPerson, eventsOf, isSignedIn, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const pathOf = (id: string, rest: string) => `/api/v1/users/${id}/${rest}`;

test("a user's live sessions are listed without anything that could be used to sign in", async () => {
  const person = await addPerson(service);
  const browser = await signIn(service, person);
  await signIn(service, person);
  const answer = await admin.get(pathOf(person.id.toUpperCase(), 'sessions'));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.length, 2);
  assert.ok(answer.body.data.every((one: { current: boolean }) => !one.current));
  assert.ok(!answer.text.includes(browser.accessToken!) && !/token|hash/.test(answer.text));
});

test('one session can be ended, others stay; a session of another user is not found', async () => {
  const person = await addPerson(service);
  const kept = await signIn(service, person);
  const ended = await signIn(service, person);
  const [session] = (await ended.get('/api/v1/auth/sessions')).body.data.filter(
    (one: { current: boolean }) => one.current,
  );
  const other = await addPerson(service);
  assert.equal((await admin.delete(pathOf(other.id, `sessions/${session.id}`))).status, 404);
  const answer = await admin.delete(pathOf(person.id, `sessions/${session.id.toUpperCase()}`));
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual([await isSignedIn(ended), await isSignedIn(kept)], [false, true]);
  const [event] = await eventsOf(service, answer);
  assert.deepEqual([event?.action, event?.resource_id], ['session_revoked', person.id]);
  assert.equal((await admin.delete(pathOf(person.id, `sessions/${session.id}`))).status, 404);
});

test('all sessions of a user can be ended at once', async () => {
  const person = await addPerson(service);
  const browsers = [await signIn(service, person), await signIn(service, person)];
  const answer = await admin.delete(pathOf(person.id, 'sessions'));
  assert.equal(answer.status, 200, answer.text);
  for (const browser of browsers) assert.equal(await isSignedIn(browser), false);
  assert.equal((await eventsOf(service, answer)).length, 1);
  const again = await admin.delete(pathOf(person.id, 'sessions'));
  assert.equal(again.status, 200);
  const [event] = await eventsOf(service, again);
  assert.deepEqual(
    [event?.action, event?.resource_id, event?.details.sessions_ended],
    ['session_revoked', person.id, 0],
    'written although no session was live, because the links end',
  );
});

test('an unlocked user can sign in again, and the event names the administrator', async () => {
  const person = await addPerson(service);
  const stranger = service.client();
  for (let attempt = 0; attempt < 5; attempt += 1)
    await stranger.login({ email: person.email, password: 'Wrong#Guess55Lamp' });
  assert.equal((await stranger.login(person)).body.code, 'account_locked');
  const answer = await admin.post(pathOf(person.id, 'unlock'));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.id, person.id);
  assert.equal((await stranger.login(person)).status, 200);
  const [event] = await eventsOf(service, answer);
  assert.deepEqual(
    [event?.action, event?.resource_id, event?.details.reason],
    ['account_unlocked', person.id, 'administrator'],
  );
  const again = await admin.post(pathOf(person.id, 'unlock'));
  assert.equal(again.status, 200);
  assert.deepEqual(await eventsOf(service, again), []);
});

test('unlocking an account that is not locked keeps its failures: the lock comes at the same attempt', async () => {
  const person = await addPerson(service);
  const guess = () => service.client().login({ email: person.email, password: 'Wrong#Guess55Lamp' });
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const answer = await guess();
    assert.deepEqual([answer.status, answer.body.code], [422, 'invalid_credentials']);
    if (attempt === 4) break;
    const unlock = await admin.post(pathOf(person.id, 'unlock'));
    assert.deepEqual([unlock.status, unlock.body.message], [200, 'The user was not locked.']);
    assert.deepEqual(await eventsOf(service, unlock), []);
  }
  assert.equal((await service.client().login(person)).body.code, 'account_locked');
});

test('the verification mail can be sent again to a user who is not verified yet', async () => {
  const person = await addPerson(service, { verified: false });
  const answer = await admin.post(pathOf(person.id, 'resend-verification'));
  assert.equal(answer.status, 200, answer.text);
  const { token } = await service.mailTo(person.email);
  const [event] = await eventsOf(service, answer);
  assert.equal(event?.action, 'verification_email_sent');
  assert.equal((await service.client().post('/api/v1/auth/verify-email', { token })).status, 200);
  const verified = await admin.post(pathOf(person.id, 'resend-verification'));
  assert.deepEqual([verified.status, verified.body.code], [400, 'already_verified']);
  const closed = await addPerson(service, { verified: false, active: false });
  assert.equal((await admin.post(pathOf(closed.id, 'resend-verification'))).status, 409);
});

test('administrators cannot send more verification mails to an email than ACCOUNT_EMAIL_LIMIT allows', async (t) => {
  const limited = await startTestService(t, { ACCOUNT_EMAIL_LIMIT: '2/hour' });
  const boss = await signIn(limited, ADMIN);
  const { client: desk } = await signedInWith(limited, 'users.update');
  const person = await addPerson(limited, { verified: false });
  const superior = await addPerson(limited, { verified: false, superuser: true });
  const path = (user: { id: string }) => pathOf(user.id, 'resend-verification');
  // A refused request uses up nothing.
  for (let refused = 0; refused < 3; refused += 1)
    assert.equal((await desk.post(path(superior))).status, 403);
  for (const user of [person, superior]) {
    // Requests by everybody are counted together.
    const asked = await limited
      .client()
      .post('/api/v1/auth/resend-verification-email', { email: user.email });
    assert.equal(asked.status, 200, asked.text);
    assert.equal((await boss.post(path(user))).status, 200);
    const answer = await boss.post(path(user));
    assert.deepEqual([answer.status, answer.body.code], [429, 'rate_limited'], answer.text);
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
    assert.equal(answer.headers.get('ratelimit-limit'), '2');
  }
});

test('each operation is 404 for an unknown user and 403 without its permission', async () => {
  const { client: reader } = await signedInWith(service, 'users.read', 'user.read', 'user.update');
  const { id } = await addPerson(service);
  for (const [method, rest] of [
    ['GET', 'sessions'],
    ['DELETE', 'sessions'],
    ['DELETE', `sessions/${randomUUID()}`],
    ['POST', 'unlock'],
    ['POST', 'resend-verification'],
  ] as const) {
    assert.equal((await admin.request(method, pathOf(randomUUID(), rest))).status, 404, rest);
    const refused = await reader.request(method, pathOf(id, rest));
    assert.equal(refused.status, 403, `${method} ${rest}`);
  }
});

test('each mail that an administrator asks for has its audit entry, however many they are', async () => {
  const many = 65;
  const { client: desk } = await signedInWith(service, 'users.update');
  const people = await Promise.all(
    Array.from({ length: many }, () => addPerson(service, { verified: false })),
  );
  for (const { id } of people) assert.equal((await desk.post(pathOf(id, 'resend-verification'))).status, 200);
  const entries = await service.sql<{ resource_id: string }>(
    "select resource_id from audit_logs where action = 'verification_email_sent' and resource_id = any($1)",
    [people.map(({ id }) => id)],
  );
  assert.equal(entries.length, many);
});
