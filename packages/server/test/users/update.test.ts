// PUT /users/{id}: fields, passwords, versions, and who may change whom.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { addPerson, addRole, eventsOf, isSignedIn, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const pathOf = (id: string) => `/api/v1/users/${id}`;
const NEW_PASSWORD = 'Marble?Tundra61Fox';

test('every named field changes, every other stays, and the log has before and after', async () => {
  const role = await addRole(service, 'role.read');
  const person = await addPerson(service, { verified: false });
  const email = newEmail('moved');
  const change = { email: ` ${email.toUpperCase()}`, first_name: 'Jo', verified: true, role_id: [role] };
  const answer = await admin.put(pathOf(person.id), change);
  assert.equal(answer.status, 200, answer.text);
  const { data } = answer.body;
  assert.deepEqual(
    [data.email, data.first_name, data.last_name, data.verified, data.is_active, data.permissions],
    [email, 'Jo', 'Lovelace', true, true, ['role.read']],
  );
  assert.deepEqual((await admin.get(pathOf(person.id))).body.data, data);
  const [updated, roles] = await eventsOf(service, answer);
  assert.equal(updated?.action, 'user_updated');
  assert.deepEqual(updated?.details.before, { email: person.email, first_name: 'Ada', verified: false });
  assert.deepEqual(updated?.details.after, { email, first_name: 'Jo', verified: true });
  assert.equal(roles?.action, 'user_roles_changed');
  assert.deepEqual(roles?.details.before, { roles: [] });
});

test('a body without changes answers 200 and changes nothing, including the version', async () => {
  const person = await addPerson(service);
  const before = await admin.get(pathOf(person.id));
  for (const body of [
    {},
    { first_name: 'Ada', email: person.email.toUpperCase(), is_active: true, role_id: [] },
  ]) {
    const answer = await admin.put(pathOf(person.id), body);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.body.data, before.body.data);
    assert.equal(answer.headers.get('etag'), before.headers.get('etag'));
    assert.deepEqual(await eventsOf(service, answer), []);
  }
});

test('an If-Match of an older version is 412 with the current record; of the current version it succeeds', async () => {
  const person = await addPerson(service);
  const { headers } = await admin.get(pathOf(person.id));
  const old = { headers: { 'if-match': headers.get('etag') } };
  const changed = await admin.put(pathOf(person.id), { first_name: 'Eins' }, old);
  assert.equal(changed.status, 200);
  assert.notEqual(changed.headers.get('etag'), headers.get('etag'));
  const refused = await admin.put(pathOf(person.id), { first_name: 'Zwei' }, old);
  assert.equal(refused.status, 412);
  assert.equal(refused.body.current.first_name, 'Eins');
  const current = { headers: { 'if-match': changed.headers.get('etag') } };
  assert.equal((await admin.put(pathOf(person.id), { first_name: 'Drei' }, current)).status, 200);
});

test('an id in upper case is the same id; an unknown one is 404, an invalid one is 400', async () => {
  const person = await addPerson(service);
  const answer = await admin.put(pathOf(person.id.toUpperCase()), { first_name: 'Upper' });
  assert.equal(answer.body.data.id, person.id);
  assert.equal((await admin.put(pathOf(randomUUID()), { first_name: 'X' })).status, 404);
  assert.equal((await admin.put(pathOf(randomUUID()), { password: NEW_PASSWORD })).status, 404);
  assert.equal((await admin.put(pathOf('7'), { first_name: 'X' })).status, 400);
});

test('a wrong type or text is 400, a taken email 409, an unknown role 404, and nothing of the body is applied', async () => {
  const person = await addPerson(service);
  const other = await addPerson(service);
  for (const [body, status] of [
    [{ first_name: 'New', is_active: 'no' }, 400],
    [{ first_name: 'New', email: 'none' }, 400],
    [{ first_name: 'New', email: null }, 400],
    [{ first_name: 'New', last_name: 'a\u0007b' }, 400],
    [{ first_name: 'New', email: other.email }, 409],
    [{ first_name: 'New', role_id: [randomUUID()] }, 404],
    [{ first_name: 'New', password: 'short' }, 400],
    [['first_name'], 400],
  ] as const) {
    const answer = await admin.put(pathOf(person.id), body);
    assert.equal(answer.status, status, answer.text);
  }
  assert.equal((await admin.get(pathOf(person.id))).body.data.first_name, 'Ada');
});

test("an administrator's password replaces the old one, ends every session and the lock, and keeps the history", async () => {
  const person = await addPerson(service);
  const browser = await signIn(service, person);
  for (let attempt = 0; attempt < 5; attempt += 1)
    await service.client().login({ email: person.email, password: 'Wrong#Guess55Lamp' });
  const answer = await admin.put(pathOf(person.id), { password: NEW_PASSWORD, first_name: 'Both' });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.first_name, 'Both');
  assert.equal(await isSignedIn(browser), false);
  assert.equal((await service.client().login(person)).status, 422);
  assert.equal((await service.client().login({ email: person.email, password: NEW_PASSWORD })).status, 200);
  const actions = (await eventsOf(service, answer)).map((event) => event.action);
  assert.deepEqual(actions.sort(), ['account_unlocked', 'password_set_by_admin', 'user_updated']);
  const reused = await admin.put(pathOf(person.id), { password: PASSWORD });
  assert.equal(reused.status, 400);
  assert.equal(reused.body.code, 'password_rejected');
  assert.ok(Array.isArray(reused.body.detail.errors));
});

test('a refused change leaves the password and the sessions unchanged', async () => {
  const person = await addPerson(service);
  const taken = await addPerson(service);
  const browser = await signIn(service, person);
  const answer = await admin.put(pathOf(person.id), { password: NEW_PASSWORD, email: taken.email });
  assert.equal(answer.status, 409);
  assert.equal(await isSignedIn(browser), true);
  assert.equal((await service.client().login(person)).status, 200);
});

test('a deactivated user is refused at the next request, on every instance, and cannot sign in', async () => {
  const person = await addPerson(service);
  const browsers = [await signIn(service, person), await signIn(service, person)];
  const second = await service.another();
  const answer = await admin.put(pathOf(person.id), { is_active: false });
  assert.equal(answer.status, 200);
  for (const browser of browsers) {
    assert.equal(await isSignedIn(browser), false);
    assert.equal(await isSignedIn(browser.at(second.url)), false);
    const refresh = { refresh_token: browser.refreshToken };
    assert.equal((await browser.post('/api/v1/auth/refresh', refresh)).status, 401);
  }
  assert.equal((await service.client().login(person)).status, 422);
  const [event] = await eventsOf(service, answer);
  assert.equal(event?.details.sessions_ended, 2);
  // The old sessions stay ended when the account is activated again.
  assert.equal((await admin.put(pathOf(person.id), { is_active: true })).status, 200);
  assert.equal(await isSignedIn(browsers[0]!), false);
});

test('a password is not set if the lock cannot be ended', async () => {
  const person = await addPerson(service);
  await service.sql(
    `insert into login_attempts (email, failures, locked_until) values ($1, 5, now() + interval '1 hour')`,
    [person.email],
  );
  await service.sql(`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger refuse before delete on login_attempts for each row execute function refuse()`);
  const refused = await admin.put(pathOf(person.id), { password: NEW_PASSWORD });
  await service.sql('drop trigger refuse on login_attempts; drop function refuse');
  assert.equal(refused.status, 500, refused.text);
  const unlocked = await admin.post(`${pathOf(person.id)}/unlock`);
  assert.equal(unlocked.body.message, 'User unlocked.');
  assert.equal((await service.client().login(person)).status, 200, 'the old password is still valid');
});

test('changing the email invalidates the links that were mailed to the old one', async () => {
  const person = await addPerson(service);
  await service.client().post('/api/v1/auth/password-reset/request', { email: person.email });
  const { token } = await service.mailTo(person.email);
  assert.equal((await admin.put(pathOf(person.id), { email: newEmail('away') })).status, 200);
  const body = { token, new_password: NEW_PASSWORD };
  assert.equal((await service.client().post('/api/v1/auth/password-reset/confirm', body)).status, 400);
});

test('only a superuser can make a superuser', async () => {
  const { client } = await signedInWith(service, 'users.update', 'users.read');
  const person = await addPerson(service);
  const refused = await client.put(pathOf(person.id), { first_name: 'X', is_superuser: true });
  assert.equal(refused.status, 403);
  assert.equal(refused.body.code, 'superuser_required');
  const unchanged = await client.put(pathOf(person.id), { first_name: 'X', is_superuser: false });
  assert.equal(unchanged.status, 200);
  const made = await admin.put(pathOf(person.id), { is_superuser: true });
  assert.equal(made.body.data.is_superuser, true);
  assert.ok(made.body.data.permissions.includes('role.delete'));
  assert.equal((await admin.put(pathOf(person.id), { is_superuser: false })).status, 200);
});

test('only a superuser can change a superuser', async () => {
  const boss = await addPerson(service, { superuser: true });
  const { client } = await signedInWith(service, 'users.update', 'users.read', 'users.delete', 'user.update');
  const role = await addRole(service);
  for (const body of [
    { email: newEmail() },
    { password: NEW_PASSWORD },
    { is_active: false },
    { is_superuser: false },
    { role_id: [role] },
    { first_name: 'Small' },
  ]) {
    const answer = await client.put(pathOf(boss.id), body);
    assert.deepEqual([answer.status, answer.body.code], [403, 'superuser_required'], JSON.stringify(body));
  }
  assert.equal((await client.post(`${pathOf(boss.id)}/roles`, { role_ids: [role] })).status, 403);
  assert.equal((await client.delete(pathOf(boss.id))).status, 403);
  assert.equal((await client.delete(`${pathOf(boss.id)}/sessions`)).status, 403);
  assert.equal((await client.post(`${pathOf(boss.id)}/unlock`)).status, 403);
  const bulk = { user_ids: [boss.id], updates: { is_active: false } };
  assert.equal((await client.put(pathOf('bulk-update'), bulk)).status, 403);
  assert.equal((await service.client().login(boss)).status, 200);
});

test('nobody takes over an account with more permissions by its password or email', async () => {
  const { client, person: self } = await signedInWith(service, 'users.update', 'users.read');
  const stronger = await addPerson(service, { roles: [await addRole(service, 'users.read', 'role.delete')] });
  const ordinary = await addPerson(service, { roles: [await addRole(service, 'self.update_profile')] });
  for (const body of [{ password: NEW_PASSWORD }, { email: newEmail() }]) {
    const refused = await client.put(pathOf(stronger.id), body);
    assert.deepEqual([refused.status, refused.body.code], [403, 'privilege_escalation']);
    assert.equal((await client.put(pathOf(ordinary.id), body)).status, 200);
  }
  assert.equal((await client.put(pathOf(self.id), { email: newEmail('self') })).status, 200);
});

test("roles assigned by an update must not exceed the caller's permissions; existing roles may stay", async () => {
  const { client } = await signedInWith(service, 'users.update', 'role.read');
  const beyond = await addRole(service, 'self.update_profile');
  const within = await addRole(service, 'role.read');
  const person = await addPerson(service, { roles: [beyond] });
  assert.equal((await client.put(pathOf(person.id), { role_id: [beyond, within] })).status, 200);
  const other = await addPerson(service);
  const refused = await client.put(pathOf(other.id), { role_id: [within, beyond] });
  assert.deepEqual([refused.status, refused.body.errors[0].field], [403, 'role_id']);
});

test('the last superuser can be neither demoted, deactivated, unverified nor deleted', async () => {
  const lonely = await startTestService({ after });
  const boss = await signIn(lonely, ADMIN);
  const { id } = (await boss.get('/api/v1/users/me')).body.data;
  await addPerson(lonely, { superuser: true, active: false });
  for (const body of [{ is_superuser: false }, { is_active: false }, { verified: false }]) {
    const answer = await boss.put(pathOf(id), body);
    assert.deepEqual([answer.status, answer.body.code], [409, 'last_superuser'], answer.text);
  }
  const all = { user_ids: [id], updates: { is_superuser: false } };
  assert.equal((await boss.put(pathOf('bulk-update'), all)).status, 409);
  assert.equal((await boss.delete(pathOf(id))).status, 403, 'deleting oneself is refused first');
  const second = await addPerson(lonely, { superuser: true });
  assert.equal((await boss.put(pathOf(second.id), { is_superuser: false })).status, 200);
  assert.equal((await boss.put(pathOf(second.id), { is_superuser: true })).status, 200);
  assert.equal((await boss.put(pathOf(id), { is_superuser: false })).status, 200);
});

test('an emptied or changed role counts at the next request of a token issued before', async () => {
  const { client, person } = await signedInWith(service, 'users.read');
  assert.equal((await client.get('/api/v1/users/list')).status, 200);
  assert.equal((await admin.put(pathOf(person.id), { role_id: [] })).status, 200);
  assert.equal((await client.get('/api/v1/users/list')).status, 403);
});

// What a body may try to smuggle past the checks: the record of somebody else, columns that no operation sets, and names
// that nobody knows.
const smuggled = (otherId: string) => ({
  id: otherId,
  user_id: otherId,
  password_hash: 'x',
  password_epoch: 'x',
  session_epoch: -1,
  pending_registration: 'x',
  created_at: 'tomorrow',
  version: 'x',
  fields: { is_superuser: true },
  passwort: NEW_PASSWORD,
});

test('fields that no change takes are ignored, and redirect nothing to another user', async () => {
  const { client: desk } = await signedInWith(service, 'users.update');
  const superuser = await addPerson(service, { superuser: true });
  const person = await addPerson(service);
  const rows = () =>
    service.sql('select * from users where id = any($1) order by id', [[superuser.id, person.id]]);
  const before = await rows();
  const extra = smuggled(superuser.id);
  const bulk = pathOf('bulk-update');
  for (const [path, body] of [
    [pathOf(person.id), extra],
    [bulk, { user_ids: [person.id], updates: extra }],
    [bulk, { users: [{ ...extra, id: person.id }] }],
  ] as const) {
    const answer = await desk.put(path, body);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(await eventsOf(service, answer), []);
  }
  assert.deepEqual(await rows(), before);

  const email = newEmail('moved');
  const change = { email, first_name: 'Jo', is_active: false };
  const answer = await admin.put(pathOf(person.id), { ...extra, ...change });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(
    (await eventsOf(service, answer)).map(({ action, details }) => [action, details.after]),
    [['user_updated', change]],
  );
  const changed = new Map((await rows()).map((row) => [row.id, row]));
  assert.deepEqual(
    changed.get(superuser.id),
    before.find(({ id }) => id === superuser.id),
  );
  assert.equal(changed.get(person.id)?.email, email);
});

test('a record that is sent back as it was read changes nothing', async () => {
  const person = await addPerson(service, { roles: [await addRole(service, 'role.read')] });
  const read = await admin.get(pathOf(person.id));
  const answer = await admin.put(pathOf(person.id), read.body.data);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.body.data, read.body.data);
  assert.equal(answer.headers.get('etag'), read.headers.get('etag'));
  assert.deepEqual(await eventsOf(service, answer), []);
});
