// DELETE /users/{id}: what refuses it, in which order, and what is deleted with a user.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { countLiveTokens } from '@castellan/testing/sessions/accounts';
import { addPerson, addRole, eventsOf, isSignedIn, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const pathOf = (id: string) => `/api/v1/users/${id}`;

test('a deleted user is returned, and everything that gave access to the account is gone', async () => {
  const person = await addPerson(service);
  const browser = await signIn(service, person);
  await browser.post('/api/v1/auth/change_password', {
    current_password: person.password,
    new_password: 'Marble?Tundra61Fox',
  });
  await service.client().post('/api/v1/auth/password-reset/request', { email: person.email });
  await service.mailTo(person.email);
  await browser.login({ email: person.email, password: 'Marble?Tundra61Fox' });
  const answer = await admin.delete(pathOf(person.id.toUpperCase()));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.id, person.id);
  assert.equal(answer.body.data.email, person.email);
  assert.ok(answer.body.message);
  assert.equal(await isSignedIn(browser), false);
  assert.equal((await service.client().login(person)).status, 422);
  assert.equal((await admin.get(pathOf(person.id))).status, 404);
  assert.equal(await countLiveTokens(service, person.id), 0);
  for (const table of ['password_history', 'one_time_tokens'])
    assert.deepEqual(await service.sql(`select from ${table} where user_id = $1`, [person.id]), [], table);
  const [event] = await eventsOf(service, answer);
  assert.equal(event?.action, 'user_deleted');
  assert.equal(event?.details.before?.email, person.email);
});

test('audit entries keep the id of a deleted actor, and records stay without their author', async () => {
  const { client, person } = await signedInWith(service, 'role.create', 'role.read');
  const role = await client.post('/api/v1/roles', { name: `Made by ${person.id}` });
  assert.equal(role.body.data.created_by_id, person.id);
  await admin.post(`${pathOf(person.id)}/roles`, []);
  assert.equal((await admin.delete(pathOf(person.id))).status, 200);
  const made = await admin.get(`/api/v1/roles/${role.body.data.id}`);
  assert.deepEqual([made.status, made.body.data.created_by_id], [200, null]);
  const entries = await service.sql('select from audit_logs where actor_id = $1', [person.id]);
  assert.ok(entries.length > 0);
});

test('a user with roles is 409 with the number of roles', async () => {
  const roles = await Promise.all([addRole(service), addRole(service), addRole(service)]);
  const person = await addPerson(service, { roles });
  const answer = await admin.delete(pathOf(person.id));
  assert.deepEqual([answer.status, answer.body.code], [409, 'user_has_roles']);
  assert.match(answer.body.detail, /\b3 roles\b.*[Rr]emove/);
  await admin.post(`${pathOf(person.id)}/roles`, { role_ids: [] });
  assert.equal((await admin.delete(pathOf(person.id))).status, 200);
  assert.equal((await admin.delete(pathOf(person.id))).status, 404);
});

test('404 comes before 403, 403 before 412, 412 before 409', async () => {
  const stale = { headers: { 'if-match': '"0"' } };
  assert.equal((await admin.delete(pathOf(randomUUID()), undefined, stale)).status, 404);
  const me = (await admin.get('/api/v1/users/me')).body.data;
  const self = await admin.delete(pathOf(me.id.toUpperCase()), undefined, stale);
  assert.deepEqual([self.status, self.body.code], [403, 'self_delete']);
  const withRole = await addPerson(service, { roles: [await addRole(service)] });
  const refused = await admin.delete(pathOf(withRole.id), undefined, stale);
  assert.deepEqual([refused.status, refused.body.current.id], [412, withRole.id]);
  assert.equal((await admin.delete(pathOf('none'))).status, 400);
});

test('without users.delete it is 403, whether or not the user exists', async () => {
  const { client } = await signedInWith(service, 'users.read', 'users.update', 'user.update');
  const { id } = await addPerson(service);
  assert.equal((await client.delete(pathOf(id))).status, 403);
  assert.equal((await client.delete(pathOf(randomUUID()))).status, 403);
});
