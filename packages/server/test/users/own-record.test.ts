// GET /users/me keeps the text of an unchanged record, but every response shows what the database holds.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, newEmail, signIn, startTestService } from '@castellan/testing/harness';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const ME = '/api/v1/users/me';

test('a change of the record, its roles or their permissions shows in the next response', async () => {
  const email = newEmail();
  const password = 'Vexing#Quartz82Lime';
  const created = await admin.post('/api/v1/users', {
    email,
    password,
    first_name: 'Ada',
    last_name: 'Lovelace',
    verified: true,
  });
  const { id } = created.body.data;
  const user = await signIn(service, { email, password });
  const first = await user.get(ME);
  assert.equal(first.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.deepEqual((await user.get(ME)).body, first.body);

  await admin.put(`/api/v1/users/${id}`, { first_name: 'Grace' });
  const renamed = await user.get(ME);
  assert.equal(renamed.body.data.first_name, 'Grace');
  assert.notEqual(renamed.headers.get('etag'), first.headers.get('etag'));

  const role = await admin.post('/api/v1/roles', { name: `Reader ${id}` });
  await admin.post(`/api/v1/users/${id}/roles`, { role_ids: [role.body.data.id] });
  const given = await user.get(ME);
  assert.deepEqual(
    given.body.data.roles.map(({ name }: { name: string }) => name),
    [`Reader ${id}`],
  );
  assert.deepEqual(given.body.data.permissions, []);

  const [permission] = (await admin.get('/api/v1/permissions')).body.data;
  const put = await admin.post(`/api/v1/roles/${role.body.data.id}/permissions`, {
    permission_ids: [permission.id],
  });
  assert.equal(put.status, 200, JSON.stringify(put.body));
  assert.deepEqual((await user.get(ME)).body.data.permissions, [permission.name]);
});
