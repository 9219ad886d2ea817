// `must_change_password`: who sets it, what it leaves open, and how it ends.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { linkTo, paths, registerAccount, strongPasswords } from '@castellan/testing/accounts/self-service';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused, routesOf } from '@castellan/testing/http/fixture';
import { addPerson, eventsOf, type Person, roleNamed } from '@castellan/testing/users/people';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const admin = await signIn(service, ADMIN);
const [first, second, third] = strongPasswords;

const demand = async (id: string, wanted = true) => {
  const answer = await admin.put(`/api/v1/users/${id}`, { must_change_password: wanted });
  assert.deepEqual([answer.status, answer.body.data?.must_change_password], [200, wanted], answer.text);
  return answer;
};

/** Returns a user who must change their password, signed in. */
async function demanded(
  state: Parameters<typeof addPerson>[1] = {},
): Promise<{ person: Person; client: TestClient }> {
  const person = await addPerson(service, state);
  const client = await signIn(service, person);
  await demand(person.id);
  return { person, client };
}

async function assertOpen(client: TestClient): Promise<void> {
  const me = await client.get(paths.me);
  assert.deepEqual([me.status, me.body.data.must_change_password], [200, false]);
  assert.equal((await client.get('/api/v1/dashboard')).status, 200);
}

/** The operations that stay open, besides the public ones. */
const open = [
  'GET /api/v1/users/me',
  'POST /api/v1/auth/change_password',
  'POST /api/v1/auth/logout',
  'POST /api/v1/auth/logout/all',
];

test("until the password is changed, exactly the user's own record, change_password and sign-out are open", async () => {
  // Operations with another shape of errors refuse too, with a code of that shape.
  const routes = (await routesOf(service)).filter(
    ({ url, config }) => url.startsWith('/api/') && config.errorShape === undefined,
  );
  assert.ok(routes.length > 60);
  // A superuser, so that no permission is missing.
  for (const superuser of [true, false]) {
    const { person, client } = await demanded({ superuser });
    const refused: string[] = [];
    for (const { method, path } of routes) {
      const answer = await client.request(method, path, {
        ...(method === 'GET' ? {} : { json: {} }),
      });
      assert.ok(answer.status < 500, answer.text);
      if (answer.body?.code === 'password_change_required') {
        assert.equal(answer.status, 403);
        refused.push(`${method} ${path}`);
      }
      // Signing out has ended the session.
      if (answer.status === 200) await client.login(person);
    }
    const guarded = routes.filter(({ config }) => config.access !== 'public');
    assert.deepEqual(
      guarded
        .map(({ method, path }) => `${method} ${path}`)
        .filter((name) => !refused.includes(name))
        .sort(),
      open,
    );
    assert.equal(refused.length, guarded.length - open.length);
  }
});

test('it counts at the next request, before the permission and the body, and both kinds of refresh go on', async () => {
  const { client } = await demanded();
  assertRefused(await client.get('/api/v1/roles'), 403, 'password_change_required');
  const answer = await client.request('PUT', paths.me, {
    raw: '{',
    headers: { 'content-type': 'application/json' },
  });
  assertRefused(answer, 403, 'password_change_required');
  assert.match(answer.body.detail, /change_password/);

  const renewed = await client.post(paths.refresh, { refresh_token: client.refreshToken });
  assert.equal(renewed.status, 200);
  client.accessToken = renewed.body.data.access_token;
  assertRefused(await client.get('/api/v1/dashboard'), 403, 'password_change_required');
  const again = await client.post('/api/v1/auth/new_access_token');
  assert.equal(again.status, 200);
  client.accessToken = again.body.data.access_token;
  assertRefused(await client.get('/api/v1/dashboard'), 403, 'password_change_required');
  assert.equal((await client.get(paths.me)).body.data.must_change_password, true);
});

test('an administrator demands it at the creation; the sign-in says so, and a changed password ends it', async () => {
  const body = { email: newEmail(), password: PASSWORD, first_name: 'Ada', last_name: 'Lovelace' };
  const created = await admin.post('/api/v1/users', { ...body, must_change_password: true });
  assert.deepEqual([created.status, created.body.data.must_change_password], [201, true]);
  const [entry] = await eventsOf(service, created);
  assert.equal(entry?.details.after?.must_change_password, true);

  const client = service.client();
  const signedIn = await client.login(body);
  assert.equal(signedIn.body.data.user.must_change_password, true);
  const same = await client.post(paths.changePassword, {
    current_password: PASSWORD,
    new_password: PASSWORD,
  });
  assert.equal(same.status, 400, 'the same password does not end it');
  assertRefused(await client.get('/api/v1/dashboard'), 403, 'password_change_required');
  const changed = await client.post(paths.changePassword, {
    current_password: PASSWORD,
    new_password: first,
  });
  assert.equal(changed.status, 200, changed.text);
  assert.equal(changed.body.data.user.must_change_password, false);
  client.accessToken = changed.body.data.access_token;
  await assertOpen(client);

  const plain = await admin.post('/api/v1/users', { ...body, email: newEmail() });
  assert.equal(plain.body.data.must_change_password, false, 'by default nobody must');
});

test('one and many users are changed with an audit entry and a new version, in both directions', async () => {
  const people = [await addPerson(service), await addPerson(service)];
  const [person] = people as [Person, Person];
  const before = await admin.get(`/api/v1/users/${person.id}`);
  const answer = await demand(person.id);
  assert.notEqual(answer.headers.get('etag'), before.headers.get('etag'));
  const [entry] = await eventsOf(service, answer);
  assert.deepEqual(
    [entry?.action, entry?.details.before, entry?.details.after],
    ['user_updated', { must_change_password: false }, { must_change_password: true }],
  );
  const many = await admin.put('/api/v1/users/bulk-update', {
    user_ids: people.map(({ id }) => id),
    updates: { must_change_password: true },
  });
  assert.deepEqual(
    many.body.data.map((one: { must_change_password: boolean }) => one.must_change_password),
    [true, true],
  );
  assert.equal((await eventsOf(service, many)).length, 1, 'one of them had it already');
  await demand(person.id, false);
  await assertOpen(await signIn(service, person));
});

test('a mailed reset ends it', async () => {
  const { person } = await demanded();
  await service.client().post(paths.requestReset, { email: person.email });
  const token = await linkTo(service, person.email, 'password_reset');
  const reset = await service.client().post(paths.confirmReset, { token, new_password: first });
  assert.equal(reset.status, 200, reset.text);
  await assertOpen(await signIn(service, { ...person, password: first }));
});

test('a password chosen with the verification link ends it', async () => {
  const { id, email, token } = await registerAccount(service);
  await demand(id);
  const verified = await service.client().post(paths.verify, { token, new_password: first });
  assert.deepEqual([verified.status, verified.body.data?.must_change_password], [200, false], verified.text);
  await assertOpen(await signIn(service, { email, password: first }));
});

test('a password set by an administrator leaves it as the administrator says', async () => {
  const person = await addPerson(service);
  const set = async (body: Record<string, unknown>) => {
    const answer = await admin.put(`/api/v1/users/${person.id}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.data.must_change_password;
  };
  assert.equal(await set({ password: first, must_change_password: true }), true);
  assert.equal(await set({ password: second }), true, 'as it was');
  const client = await signIn(service, { ...person, password: second });
  assertRefused(await client.get('/api/v1/dashboard'), 403, 'password_change_required');
  assert.equal(await set({ password: third, must_change_password: false }), false);
  await assertOpen(await signIn(service, { ...person, password: third }));
});

test('users cannot end it themselves, and other values than true and false are refused', async () => {
  const person = await addPerson(service, { roles: [await roleNamed(service, 'User')] });
  const client = await signIn(service, person);
  const own = await client.put(paths.me, { must_change_password: false });
  assertRefused(own, 400, 'field_not_allowed');
  for (const value of ['true', 1, null]) {
    const answer = await admin.put(`/api/v1/users/${person.id}`, { must_change_password: value });
    assertRefused(answer, 400, 'invalid_input');
    assert.equal(answer.body.errors[0].field, 'must_change_password');
  }
});

test('the document names the refusal for every guarded operation except the open ones', async () => {
  const { paths: described } = (await service.client().get('/docs/openapi.json')).body;
  for (const [path, methods] of Object.entries<Record<string, Record<string, unknown>>>(described))
    for (const [method, operation] of Object.entries(methods)) {
      const name = `${method.toUpperCase()} ${path}`;
      // Operations with the errors of OAuth name none of the service's own codes.
      if (path.startsWith('/api/v1/oauth/')) continue;
      const isRefused = operation['x-access'] !== 'public' && !open.includes(name);
      assert.equal(String(operation.description).includes('`password_change_required`'), isRefused, name);
    }
});
