// What ends the personal access tokens of an account, and what leaves them alone.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { linkTo, requestEmailChange } from '@castellan/testing/accounts/self-service';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { enrol } from '@castellan/testing/second-factors/app';
import { changeUserWhileWaiting } from '@castellan/testing/sessions/hold-user';
import { statementsOf } from '@castellan/testing/statements';
import { addPerson, type Person } from '@castellan/testing/users/people';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const twin = await service.another();
const admin = await signIn(service, ADMIN);
const NEW_PASSWORD = 'Vexing#Quartz82Lime';

type Act = (about: { person: Person; session: TestClient }) => Promise<{ status: number; text: string }>;

const resetting: Act = async ({ person }) => {
  await service.client().post('/api/v1/auth/password-reset/request', { email: person.email });
  const token = await linkTo(service, person.email, 'password_reset');
  return service.client().post('/api/v1/auth/password-reset/confirm', { token, new_password: NEW_PASSWORD });
};
const update =
  (body: Record<string, unknown>): Act =>
  ({ person }) =>
    admin.put(`/api/v1/users/${person.id}`, body);

const ending: Record<string, Act> = {
  'a new password': ({ session }) =>
    session.post('/api/v1/auth/change_password', { current_password: PASSWORD, new_password: NEW_PASSWORD }),
  'a reset': resetting,
  'a password by an administrator': update({ password: NEW_PASSWORD }),
  'a new address': (about) => update({ email: newEmail('moved') })(about),
  'a new address by its owner': async ({ session }) => {
    const token = await requestEmailChange(service, session, newEmail('own'));
    return service.client().post('/api/v1/auth/confirm-email-change', { token });
  },
  'no verified address': update({ verified: false }),
  deactivation: update({ is_active: false }),
  deletion: ({ person }) => admin.delete(`/api/v1/users/${person.id}`),
  'the end of all sessions by an administrator': ({ person }) =>
    admin.delete(`/api/v1/users/${person.id}/sessions`),
  'the end of all sessions that a filter by the user finds': ({ person }) =>
    admin.delete(`/api/v1/sessions?user_id=${person.id}`),
  'the end of all sessions that a search for the user finds': ({ person }) =>
    admin.delete(`/api/v1/sessions?search=${encodeURIComponent(person.email)}`),
  'the end of all sessions of a user who has none': async ({ person, session }) => {
    await session.post('/api/v1/auth/logout', {});
    const answer = await admin.delete(`/api/v1/sessions?user_id=${person.id}`);
    assert.deepEqual(answer.body.data, { sessions: 0, users: 1 });
    return answer;
  },
};

const sparing: Record<string, Act> = {
  'signing out': ({ session }) => session.post('/api/v1/auth/logout', {}),
  'signing out everywhere': ({ session }) => session.post('/api/v1/auth/logout/all', {}),
  'the end of one session': async ({ person }) => {
    const listed = await admin.get(`/api/v1/users/${person.id}/sessions`);
    return admin.delete(`/api/v1/users/${person.id}/sessions/${listed.body.data[0].id}`);
  },
  'the end of the sessions from an address': ({ person }) =>
    admin.delete(`/api/v1/sessions?user_id=${person.id}&address=127.0.0.1`),
  'new names': update({ first_name: 'Other' }),
  'a second factor': async ({ session }) => {
    await enrol(session);
    return { status: 200, text: '' };
  },
};

async function withToken() {
  const person = await addPerson(service);
  const session = await signIn(service, person);
  const made = await session.post('/api/v1/users/me/tokens', {
    name: 'Program',
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  assert.equal(made.status, 201, made.text);
  const programs = [service, twin].map((one) => {
    const client = one.client();
    client.accessToken = made.body.data.token;
    return client;
  });
  return { person, session, programs, id: String(made.body.data.id) };
}

for (const [name, act] of Object.entries(ending))
  test(`${name} ends the tokens of the account, at every instance and for good`, async () => {
    const { person, session, programs } = await withToken();
    for (const program of programs) assert.equal((await program.get('/api/v1/users/me')).status, 200);
    const answer = await act({ person, session });
    assert.equal(answer.status, 200, answer.text);
    for (const program of programs) assert.equal((await program.get('/api/v1/users/me')).status, 401);
    await admin.put(`/api/v1/users/${person.id}`, { is_active: true, verified: true });
    for (const program of programs) assert.equal((await program.get('/api/v1/users/me')).status, 401);
  });

for (const [name, act] of Object.entries(sparing))
  test(`${name} leaves the tokens of the account`, async () => {
    const { person, session, programs, id } = await withToken();
    const answer = await act({ person, session });
    assert.equal(answer.status, 200, answer.text);
    for (const program of programs) assert.equal((await program.get('/api/v1/users/me')).status, 200);
    const listed = await admin.get(`/api/v1/users/${person.id}/tokens`);
    assert.equal(listed.body.data[0].id, id);
  });

test('a token that has expired is refused as expired', async () => {
  const { programs, id } = await withToken();
  await service.sql("update personal_tokens set expires_at = now() - interval '1 second' where id = $1", [
    id,
  ]);
  for (const program of programs)
    assertRefused(await program.get('/api/v1/users/me'), 401, 'personal_token_expired');
});

test('a token is not made in a session that ends while the request waits', async () => {
  const person = await addPerson(service);
  const session = await signIn(service, person);
  const answer = await changeUserWhileWaiting(
    service,
    person.id,
    'update users set session_epoch = session_epoch + 1 where id = $1',
    () =>
      session.post('/api/v1/users/me/tokens', {
        name: 'Late',
        expires_at: new Date(Date.now() + 86_400_000).toISOString(),
      }),
  );
  assertRefused(answer, 401, 'token_revoked');
});

test('a stolen token that uses up the requests of its owner does not keep them from finding and ending it', async (t) => {
  const limited = await startTestService(t, { RATE_LIMIT_USER: '5/minute' });
  const session = await signIn(limited, await addPerson(limited));
  const made = await session.post('/api/v1/users/me/tokens', {
    name: 'stolen',
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  assert.equal(made.status, 201, made.text);
  const thief = limited.client();
  thief.accessToken = made.body.data.token;
  for (let count = 0; count < 5; count += 1) await thief.get('/api/v1/users/me');
  const flood = () => thief.get('/api/v1/users/me/tokens');
  assertRefused(await flood(), 429, 'rate_limited');
  const told = await limited.sql(
    `select details ->> 'limit' as limit from audit_logs where action = 'rate_limited'`,
  );
  assert.deepEqual(told, [{ limit: 'user' }]);
  assert.deepEqual(await statementsOf(async () => assertRefused(await flood(), 429, 'rate_limited')), []);
  assertRefused(await session.get('/api/v1/users/me'), 429, 'rate_limited');
  for (const list of ['users/me/applications', 'users/me/identities', 'auth/devices']) {
    const answer = await session.get(`/api/v1/${list}`);
    assert.equal(answer.status, 200, answer.text);
  }
  const [found] = (await session.get('/api/v1/users/me/tokens')).body.data;
  const ended = await session.delete(`/api/v1/users/me/tokens/${found?.id}`);
  assert.equal(ended.status, 200, ended.text);
  // Here, the token is refused for the rest of the minute without a look at it.
  const twin = await limited.another();
  assertRefused(await thief.at(twin.url).get('/api/v1/users/me/tokens'), 401, 'personal_token_revoked');
});
