// POST /users: creating users as an administrator.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import {
  addPerson,
  addRole,
  eventsOf,
  roleNamed,
  signedInWith,
  tally,
} from '@castellan/testing/users/people';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);

const newcomer = (over: Record<string, unknown> = {}) => ({
  email: newEmail('new'),
  password: PASSWORD,
  first_name: 'Grace',
  last_name: 'Hopper',
  ...over,
});

test('an administrator creates a verified user with roles, who can sign in at once', async () => {
  const role = await roleNamed(service, 'User');
  const body = newcomer({
    email: `  ${newEmail('New').toUpperCase()} `,
    role_id: [role.toUpperCase(), role],
  });
  const answer = await admin.post('/api/v1/users', body);
  assert.equal(answer.status, 201, answer.text);
  const { data } = answer.body;
  assert.equal(data.email, body.email.trim().toLowerCase());
  assert.equal(data.verified, true);
  assert.equal(data.is_active, true);
  assert.equal(data.is_superuser, false);
  assert.deepEqual(
    data.roles.map((one: { name: string }) => one.name),
    ['User'],
  );
  assert.deepEqual(data.permissions, ['self.update_profile']);
  assert.match(answer.headers.get('etag') ?? '', /^"\d+"$/);
  assert.equal((await service.client().login({ email: data.email, password: PASSWORD })).status, 200);
  const [event] = await eventsOf(service, answer);
  assert.equal(event?.action, 'user_created');
  assert.equal(event?.resource_id, data.id);
  assert.deepEqual(event?.details.after?.roles, ['User']);
  assert.doesNotMatch(JSON.stringify(event), /"password|password_|argon/);
});

test('permissions in the body of a new user are refused, and an id is ignored', async () => {
  const refused = await admin.post('/api/v1/users', newcomer({ permissions: ['users.delete'] }));
  assert.deepEqual([refused.status, refused.body.code], [400, 'field_not_allowed']);
  const id = randomUUID();
  const answer = await admin.post('/api/v1/users', newcomer({ id, permissions: [] }));
  assert.equal(answer.status, 201, answer.text);
  assert.notEqual(answer.body.data.id, id);
  assert.deepEqual(answer.body.data.permissions, []);
});

test('the last name may be empty but not missing', async () => {
  const answer = await admin.post('/api/v1/users', newcomer({ last_name: '' }));
  assert.equal(answer.status, 201, answer.text);
  assert.equal(answer.body.data.last_name, '');
  const changed = await admin.put(`/api/v1/users/${answer.body.data.id}`, { last_name: 'Hopper' });
  assert.equal(changed.body.data.last_name, 'Hopper');
  const emptied = await admin.put(`/api/v1/users/${answer.body.data.id}`, { last_name: ' ' });
  assert.equal(emptied.body.data.last_name, '');
  const missing = await admin.post('/api/v1/users', newcomer({ last_name: undefined }));
  assert.deepEqual([missing.status, missing.body.errors[0].field], [400, 'last_name']);
});

test('a missing field, a wrong type and an invalid email are 400 with the field', async () => {
  for (const [over, field] of [
    [{ email: undefined }, 'email'],
    [{ password: undefined }, 'password'],
    [{ first_name: '' }, 'first_name'],
    [{ last_name: 7 }, 'last_name'],
    [{ last_name: '<b>x</b>' }, 'last_name'],
    [{ email: 'no address' }, 'email'],
    [{ role_id: ['no-uuid'] }, 'role_id.0'],
    [{ role_id: 'x' }, 'role_id'],
  ] as const) {
    const answer = await admin.post('/api/v1/users', newcomer(over));
    assert.equal(answer.status, 400, `${field}: ${answer.text}`);
    assert.equal(answer.body.errors[0].field, field);
  }
});

test('a weak password is 400 with every broken rule, and nobody is created', async () => {
  const body = newcomer({ password: 'short' });
  const answer = await admin.post('/api/v1/users', body);
  assert.equal(answer.status, 400);
  assert.equal(answer.body.code, 'password_rejected');
  assert.ok(answer.body.detail.errors.length > 1);
  assert.deepEqual(await service.sql('select from users where email = $1', [body.email]), []);
});

test('a taken email is 409 in any spelling', async () => {
  const taken = await addPerson(service);
  const answer = await admin.post('/api/v1/users', newcomer({ email: taken.email.toUpperCase() }));
  assert.equal(answer.status, 409);
  assert.equal(answer.body.code, 'email_taken');
});

test('only the unknown roles are named in the 404', async () => {
  const unknown = [randomUUID(), randomUUID()];
  const known = await roleNamed(service, 'User');
  const answer = await admin.post('/api/v1/users', newcomer({ role_id: [known, ...unknown] }));
  assert.equal(answer.status, 404);
  assert.equal(answer.body.code, 'role_not_found');
  for (const id of unknown) assert.ok(answer.body.detail.includes(id));
  assert.ok(!answer.body.detail.includes(known));
});

test('nobody creates a user with permissions that the caller lacks', async () => {
  const { client } = await signedInWith(service, 'users.create', 'role.read');
  const within = await addRole(service, 'role.read');
  const beyond = await addRole(service, 'role.read', 'role.delete');
  assert.equal((await client.post('/api/v1/users', newcomer({ role_id: [within] }))).status, 201);
  const refused = await client.post('/api/v1/users', newcomer({ role_id: [within, beyond] }));
  assert.equal(refused.status, 403);
  assert.equal(refused.body.code, 'privilege_escalation');
  assert.match(refused.body.detail, /role\.delete/);
});

test('without users.create it is 403 whatever the body contains', async () => {
  const { client } = await signedInWith(service, 'users.read', 'users.update', 'users.delete', 'user.read');
  assert.equal((await client.post('/api/v1/users', {})).status, 403);
});

test('a retry with the same Idempotency-Key gets the first answer and creates no user', async () => {
  const body = newcomer();
  const options = { headers: { 'idempotency-key': randomUUID() } };
  const first = await admin.post('/api/v1/users', body, options);
  const again = await admin.post('/api/v1/users', body, options);
  assert.equal(first.status, 201);
  assert.deepEqual([again.status, again.text], [201, first.text]);
  assert.equal(again.headers.get('etag'), first.headers.get('etag'));
});

test('of 16 parallel creations with one email one succeeds and 15 are refused as taken', async () => {
  for (let round = 0; round < 3; round += 1) {
    const body = newcomer();
    const answers = await Promise.all(Array.from({ length: 16 }, () => admin.post('/api/v1/users', body)));
    assert.deepEqual(tally(answers), { 201: 1, 409: 15 });
  }
});

test('names in every script are stored as given; 100 characters are accepted, 101 are not', async () => {
  for (const name of [
    "O'Brien",
    '100%_\\ "sure"',
    '👩‍👩‍👧 Ødegård',
    'محمد بن سلمان',
    '李',
    'é'.repeat(100),
  ]) {
    const answer = await admin.post('/api/v1/users', newcomer({ first_name: name }));
    assert.equal(answer.status, 201, name);
    assert.equal(answer.body.data.first_name, name);
  }
  for (const length of [101, 250])
    assert.equal(
      (await admin.post('/api/v1/users', newcomer({ first_name: 'x'.repeat(length) }))).status,
      400,
    );
});
