// Another user's sessions, lock and verification mail.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '../harness.ts';
import { addPerson, eventsOf, isSignedIn, signedInWith } from './people.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const pathOf = (id: string, rest: string) => `/api/v1/users/${id}/${rest}`;

test("a user's live sessions are listed without anything that opens them", async () => {
  const person = await addPerson(service);
  const browser = await signIn(service, person);
  await signIn(service, person);
  const answer = await admin.get(pathOf(person.id.toUpperCase(), 'sessions'));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.length, 2);
  assert.ok(answer.body.data.every((one: { current: boolean }) => !one.current));
  assert.ok(!answer.text.includes(browser.accessToken!) && !/token|hash/.test(answer.text));
});

test('one session can be ended, others stay; one of somebody else is not found', async () => {
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
  assert.equal((await admin.delete(pathOf(person.id, 'sessions'))).status, 200);
});

test('an unlocked user can sign in again, and the event names who unlocked', async () => {
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

test('the verification mail can be sent again to whom is not verified yet', async () => {
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

test('each is 404 for nobody and 403 without its permission', async () => {
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
