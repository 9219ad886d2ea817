// POST and DELETE /users/{id}/roles.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { addPerson, addRole, eventsOf, roleNamed, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const pathOf = (id: string) => `/api/v1/users/${id}/roles`;
const idsOf = (list: { id: string }[]) => list.map((one) => one.id).sort();

test('the sent roles become the roles of the user, in each of the three forms', async () => {
  const [first, second] = [await addRole(service, 'role.read'), await addRole(service, 'role.update')];
  const person = await addPerson(service, { roles: [first] });
  for (const [body, expected] of [
    [{ role_ids: [second.toUpperCase(), second] }, [second]],
    [{ role_id: [first], user_id: randomUUID() }, [first]],
    [[first, second], [first, second].sort()],
    [{ role_ids: [] }, []],
    [[first], [first]],
    [[], []],
  ] as const) {
    const answer = await admin.post(pathOf(person.id), body);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(idsOf(answer.body.data.roles), expected);
    assert.ok(answer.body.message);
  }
});

test('a replacement is in the log with the names before and after; an identical one is not', async () => {
  const person = await addPerson(service, { roles: [await roleNamed(service, 'User')] });
  const body = { role_ids: [await roleNamed(service, 'Manager')] };
  const answer = await admin.post(pathOf(person.id), body);
  const [event] = await eventsOf(service, answer);
  assert.equal(event?.action, 'user_roles_changed');
  assert.equal(event?.resource_id, person.id);
  assert.deepEqual(
    [event?.details.before, event?.details.after],
    [{ roles: ['User'] }, { roles: ['Manager'] }],
  );
  const again = await admin.post(pathOf(person.id), body);
  assert.equal(again.headers.get('etag'), answer.headers.get('etag'));
  assert.deepEqual(await eventsOf(service, again), []);
});

test('assigned and removed roles count at the next request of a token issued before', async () => {
  const { client, person } = await signedInWith(service, 'self.update_profile');
  assert.equal((await client.get('/api/v1/roles')).status, 403);
  const role = await addRole(service, 'role.read');
  assert.equal((await admin.post(pathOf(person.id), [role])).status, 200);
  assert.equal((await client.get('/api/v1/roles')).status, 200);
  assert.equal((await admin.delete(pathOf(person.id), { role_ids: [role] })).status, 200);
  assert.equal((await client.get('/api/v1/roles')).status, 403);
});

test('single roles are removed by body, by query, or by both', async () => {
  const roles = await Promise.all(Array.from({ length: 4 }, () => addRole(service)));
  const [a, b, c, d] = roles as [string, string, string, string];
  const person = await addPerson(service, { roles });
  const both = await admin.delete(`${pathOf(person.id)}?role_ids=${a}`, { role_ids: [b.toUpperCase()] });
  assert.deepEqual(idsOf(both.body.data.roles), [c, d].sort());
  const query = await admin.delete(`${pathOf(person.id)}?role_ids=${c}&role_ids=${a}`);
  assert.equal(query.status, 200, 'a role that the user does not have changes nothing');
  assert.deepEqual(idsOf(query.body.data.roles), [d]);
  const bare = await admin.delete(pathOf(person.id), [d]);
  assert.deepEqual(bare.body.data.roles, []);
  assert.equal((await admin.delete(pathOf(person.id))).status, 400);
  assert.equal((await admin.delete(pathOf(person.id), { role_ids: [] })).status, 400);
});

test('unknown roles are named, an unknown user is 404, no ids are 400, and nothing changes', async () => {
  const held = await addRole(service);
  const person = await addPerson(service, { roles: [held] });
  const unknown = randomUUID();
  for (const answer of [
    await admin.post(pathOf(person.id), { role_ids: [unknown, held] }),
    await admin.delete(pathOf(person.id), { role_ids: [unknown, held] }),
  ]) {
    assert.deepEqual([answer.status, answer.body.code], [404, 'role_not_found']);
    assert.ok(answer.body.detail.includes(unknown) && !answer.body.detail.includes(held));
  }
  const stranger = await admin.post(pathOf(randomUUID()), { role_ids: [held] });
  assert.deepEqual([stranger.status, stranger.body.code], [404, 'user_not_found']);
  for (const body of [{}, { role_ids: 'x' }, { role_ids: ['x'] }, { roles: ['x'] }, 'x', null])
    assert.equal((await admin.post(pathOf(person.id), body)).status, 400, JSON.stringify(body));
  const many = await admin.post(
    pathOf(person.id),
    Array.from({ length: 1_500 }, () => randomUUID()),
  );
  assert.equal(many.status, 400);
  assert.match(many.body.detail, /\b1000\b/);
  const large = await admin.post(
    pathOf(person.id),
    Array.from({ length: 10_000 }, () => randomUUID()),
  );
  assert.deepEqual([large.status, large.body.code], [413, 'body_too_large']);
  assert.deepEqual(idsOf((await admin.get(`/api/v1/users/${person.id}`)).body.data.roles), [held]);
});

test('nobody assigns or removes a role with permissions that they lack, but existing roles may stay', async () => {
  const { client, person: self } = await signedInWith(service, 'user.update', 'role.read');
  const within = await addRole(service, 'role.read');
  const beyond = await addRole(service, 'role.read', 'self.update_profile');
  const person = await addPerson(service, { roles: [beyond] });
  assert.equal((await client.post(pathOf(person.id), [beyond, within])).status, 200);
  const removal = await client.post(pathOf(person.id), [within]);
  assert.deepEqual([removal.status, removal.body.code], [403, 'privilege_escalation']);
  assert.equal((await admin.post(pathOf(person.id), [within])).status, 200);
  for (const id of [person.id, self.id]) {
    const refused = await client.post(pathOf(id), [beyond]);
    assert.deepEqual([refused.status, refused.body.code], [403, 'privilege_escalation']);
  }
  const adminRole = await roleNamed(service, 'Admin');
  assert.equal((await client.post(pathOf(self.id), [adminRole])).status, 403);
});

test('the operation requires user.update; users.update is another permission', async () => {
  const { client } = await signedInWith(service, 'users.update');
  const { id } = await addPerson(service);
  assert.equal((await client.post(pathOf(id), [])).status, 403);
  assert.equal((await client.delete(pathOf(id), [randomUUID()])).status, 403);
});

test('If-Match of an older version is 412', async () => {
  const person = await addPerson(service);
  const stale = { headers: { 'if-match': '"0"' } };
  assert.equal((await admin.post(pathOf(person.id), [], stale)).status, 412);
});
