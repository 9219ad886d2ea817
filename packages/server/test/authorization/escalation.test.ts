// Attempts to grant permissions that the caller does not hold; each is refused.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { after, test } from 'node:test';
import { ADMIN, newEmail, signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { addUser } from '@castellan/testing/sessions/accounts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);

/** Creates a user with exactly these permissions and signs in as them. */
async function signInWithOnly(at: TestService, ...permissions: string[]) {
  const user = await addUser(at);
  const [role] = await at.sql<{ id: string }>(
    'insert into roles (id, name) values (gen_random_uuid(), $1) returning id',
    [`role of ${user.email}`],
  );
  await at.sql(
    'insert into role_permissions (role_id, permission_id) select $1, id from permissions where name = any($2)',
    [role?.id, permissions],
  );
  await at.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user.id, role?.id]);
  return { user, client: await signIn(at, user) };
}

const roleNamed = async (name: string) =>
  (await admin.get(`/api/v1/roles?name_pattern=${encodeURIComponent(name)}`)).body.data[0];

test('a role with permissions that the caller lacks cannot be renamed to DEFAULT_ROLE', async () => {
  const own = await startTestService({ after });
  const { client } = await signInWithOnly(own, 'role.update', 'role.read');
  const roles = (await client.get('/api/v1/roles/list')).body.data;
  const id = (name: string): string => roles.find((role: { name: string }) => role.name === name).id;
  const leaving = await client.put(`/api/v1/roles/${id('User')}`, { name: 'Old' });
  assert.equal(leaving.status, 409, leaving.text);
  await own.sql("update roles set name = 'Old' where name = 'User'");
  const taking = await client.put(`/api/v1/roles/${id('Manager')}`, { name: 'uSER' });
  assert.equal(taking.body.code, 'privilege_escalation', taking.text);
  const [row] = await own.sql<{ details: { code: string } }>(
    "select details from audit_logs where action = 'permission_denied' and details->>'request_id' = $1",
    [taking.headers.get('x-request-id')],
  );
  assert.equal(row?.details.code, 'privilege_escalation', 'the attempt is in the audit log');
});

test('permissions that are lost while a body is being received do not count for that request', async () => {
  const boss = await addUser(service);
  await service.sql('update users set is_superuser = true where id = $1', [boss.id]);
  const client = await signIn(service, boss);
  const friend = await addUser(service);
  const { csrf_token } = (await client.get('/api/v1/auth/csrf-token')).body.data;
  const body = JSON.stringify({ is_superuser: true });
  const half = httpRequest(`${service.url}/api/v1/users/${friend.id}`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${client.accessToken}`,
      cookie: [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      'x-csrf-token': csrf_token,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    },
  });
  half.write(body.slice(0, 3));
  // The headers are processed by the time another request, sent later from here, has been answered twice.
  await client.get('/api/v1/users/me');
  await client.get('/api/v1/users/me');
  const closed = await admin.put(`/api/v1/users/${boss.id}`, { is_superuser: false, is_active: false });
  assert.equal(closed.status, 200, closed.text);
  half.end(body.slice(3));
  const [response] = (await once(half, 'response')) as [import('node:http').IncomingMessage];
  response.resume();
  assert.equal(response.statusCode, 401);
  assert.deepEqual(await service.sql('select is_superuser from users where id = $1', [friend.id]), [
    { is_superuser: false },
  ]);
});

test('users.read alone shows no sessions, and holders of a permission in a group named self.… are protected', async () => {
  const { client } = await signInWithOnly(service, 'users.read', 'users.update');
  const reader = await signInWithOnly(service, 'users.read');
  const seen = await reader.client.get(`/api/v1/users/${(await addUser(service)).id}/sessions`);
  assert.equal(seen.status, 403);

  const group = await admin.post('/api/v1/permission-groups', { name: 'self.service-desk' });
  await admin.post('/api/v1/permissions', { name: 'refund', group_id: group.body.data.id });
  const holder = await signInWithOnly(service, 'self.service-desk.refund');
  const taken = await client.put(`/api/v1/users/${holder.user.id}`, { password: 'Vexing#Quartz82Lime' });
  assert.equal(taken.body.code, 'privilege_escalation', taken.text);
  const unverified = await client.put(`/api/v1/users/${holder.user.id}`, { verified: false });
  assert.equal(unverified.body.code, 'privilege_escalation', unverified.text);
});

test('a clone with a name of the wrong type is refused, without a 5xx', async () => {
  const group = await admin.post('/api/v1/role-groups', { name: newEmail('group') });
  for (const body of [{ name: null, new_name: 'X' }, { name: 5, new_name: 'X' }, {}])
    assert.equal((await admin.post(`/api/v1/role-groups/${group.body.data.id}/clone`, body)).status, 422);
});

test('the ETag of a group changes with its members', async () => {
  const group = await admin.post('/api/v1/role-groups', { name: newEmail('group') });
  const seen = group.headers.get('etag') as string;
  await admin.post('/api/v1/roles', { name: newEmail('role'), role_group_id: group.body.data.id });
  const late = await admin.put(
    `/api/v1/role-groups/${group.body.data.id}`,
    { description: 'x' },
    { headers: { 'if-match': seen } },
  );
  assert.equal(late.status, 412, late.text);
  assert.equal(late.body.current.roles.length, 1);

  const words = await admin.post('/api/v1/permission-groups', { name: newEmail('words') });
  await admin.post('/api/v1/permissions', { name: 'read', group_id: words.body.data.id });
  const stale = await admin.put(
    `/api/v1/permission-groups/${words.body.data.id}`,
    { description: 'x' },
    { headers: { 'if-match': words.headers.get('etag') } },
  );
  assert.equal(stale.status, 412, stale.text);
});

test("the caller's own account has an ETag, and If-Match works there too", async () => {
  const user = await addUser(service);
  const [role] = [await roleNamed('User')];
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user.id, role.id]);
  const client = await signIn(service, user);
  const etag = (await client.get('/api/v1/users/me')).headers.get('etag') as string;
  const first = await client.put(
    '/api/v1/users/me',
    { first_name: 'Eve' },
    { headers: { 'if-match': etag } },
  );
  assert.equal(first.status, 200, first.text);
  const second = await client.put(
    '/api/v1/users/me',
    { first_name: 'Eva' },
    { headers: { 'if-match': etag } },
  );
  assert.equal(second.status, 412);
  assert.equal(second.body.current.first_name, 'Eve');
});
