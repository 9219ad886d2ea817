// The name of the affected record in audit entries: as it was at that time, whatever becomes of the record.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';
import { removeUnverifiedAccounts } from '../../src/modules/users/service.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);

type Named = { action: string; resource_name: string | null };

/** Returns the action and the name of each entry about this record, oldest first, from the list and from the export. */
async function namesOf(resourceId: string): Promise<[string, string | null][]> {
  const { body } = await admin.get(`/api/v1/audit-logs?resource_id=${resourceId}&size=100`);
  const exported = await admin.get(`/api/v1/audit-logs/export?resource_id=${resourceId}`);
  const pick = ({ action, resource_name }: Named): [string, string | null] => [action, resource_name];
  const listed = body.data.map(pick);
  assert.deepEqual(
    exported.text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => pick(JSON.parse(line))),
    listed,
  );
  return listed.reverse();
}

test('a role is named as it was at that time, after it was renamed and deleted too', async () => {
  const { body } = await admin.post('/api/v1/roles', { name: 'First name' });
  const { id } = body.data;
  const [permission] = await service.sql<{ id: string }>(
    "select id from permissions where name = 'role.read'",
  );
  await admin.post(`/api/v1/roles/${id}/permissions`, { permission_ids: [permission?.id] });
  await admin.put(`/api/v1/roles/${id}`, { name: 'Second name', permission_ids: [] });
  await admin.put(`/api/v1/roles/${id}`, { description: 'Only this' });
  assert.equal((await admin.delete(`/api/v1/roles/${id}`)).status, 204);
  assert.deepEqual(await namesOf(id), [
    ['role_created', 'First name'],
    ['role_permissions_changed', 'First name'],
    ['role_updated', 'Second name'],
    ['role_permissions_changed', 'Second name'],
    ['role_updated', 'Second name'],
    ['role_deleted', 'Second name'],
  ]);
});

test('an application is named in the entries about its secrets, too', async () => {
  const { body } = await admin.post('/api/v1/applications', { client_id: 'wiki', name: 'Wiki' });
  const { id } = body.data;
  const secrets = `/api/v1/applications/${id}/secrets`;
  const made = await admin.post(secrets, { name: '2027' });
  await admin.put(`/api/v1/applications/${id}`, { name: 'Handbook' });
  assert.equal((await admin.delete(`${secrets}/${made.body.data.id}`)).status, 200);
  const names = await namesOf(id);
  assert.deepEqual(names.splice(0, 2).sort(), [
    ['application_created', 'Wiki'],
    ['application_secret_created', 'Wiki'],
  ]);
  assert.deepEqual(names, [
    ['application_secret_created', 'Wiki'],
    ['application_updated', 'Handbook'],
    ['application_secret_revoked', 'Handbook'],
  ]);
});

test('groups and permissions are named', async () => {
  const role = await addRole(service);
  const group = (await admin.post('/api/v1/role-groups', { name: 'Team' })).body.data.id;
  await admin.post(`/api/v1/role-groups/${group}/roles`, { role_ids: [role] });
  const clone = (await admin.post(`/api/v1/role-groups/${group}/clone`, { name: 'Team copy' })).body.data.id;
  assert.deepEqual(await namesOf(group), [
    ['role_group_created', 'Team'],
    ['role_group_roles_changed', 'Team'],
  ]);
  assert.deepEqual(await namesOf(clone), [['role_group_cloned', 'Team copy']]);

  const permissions = (await admin.post('/api/v1/permission-groups', { name: 'letters' })).body.data.id;
  const permission = (await admin.post('/api/v1/permissions', { name: 'send', group_id: permissions })).body
    .data.id;
  await admin.put(`/api/v1/permission-groups/${permissions}`, { name: 'parcels' });
  await admin.delete(`/api/v1/permissions/${permission}`);
  await admin.delete(`/api/v1/permission-groups/${permissions}`);
  assert.deepEqual(await namesOf(permission), [
    ['permission_created', 'letters.send'],
    ['permission_deleted', 'parcels.send'],
  ]);
  assert.deepEqual(await namesOf(permissions), [
    ['permission_group_created', 'letters'],
    ['permission_group_updated', 'parcels'],
    ['permission_group_deleted', 'parcels'],
  ]);
});

test('a user is named by the email of that time, in changes and in security events alike', async () => {
  const [before, later] = [newEmail('before'), newEmail('later')];
  const { id } = await addPerson(service, { email: before, roles: [await addRole(service)] });
  await service.client().login({ email: before, password: 'Wrong#Quartz82Lime' });
  assert.equal((await service.client().login({ email: before, password: PASSWORD })).status, 200);
  await admin.put(`/api/v1/users/${id}`, { first_name: 'Grace' });
  await admin.put(`/api/v1/users/${id}`, { email: later });
  await admin.delete(`/api/v1/users/${id}/sessions`);
  await admin.post(`/api/v1/users/${id}/roles`, { role_ids: [] });
  assert.equal((await admin.delete(`/api/v1/users/${id}`)).status, 200);
  assert.deepEqual(await namesOf(id), [
    ['login_failed', before],
    ['login_succeeded', before],
    ['user_updated', before],
    ['user_updated', later],
    ['session_revoked', later],
    ['user_roles_changed', later],
    ['user_deleted', later],
  ]);
});

test('an account that is gone with the event is named, and a refused caller too', async () => {
  const person = await addPerson(service, { verified: false });
  await service.sql(
    "update users set pending_registration = true, created_at = now() - interval '9 days' where id = $1",
    [person.id],
  );
  await removeUnverifiedAccounts(service.service.deps, 24);
  assert.deepEqual(await namesOf(person.id), [['unverified_account_deleted', person.email]]);

  const { client, person: caller } = await signedInWith(service, 'self.update_profile');
  assert.equal((await client.get('/api/v1/roles')).status, 403);
  const names = await namesOf(caller.id);
  assert.deepEqual(names.at(-1), ['permission_denied', caller.email]);
});

test('an entry of an earlier version has the name that its details tell, or none', async () => {
  const [gone, kept] = [randomUUID(), await addPerson(service)];
  for (const [resource, details, name] of [
    [gone, { before: { name: 'Old' }, after: { name: 'New' } }, 'New'],
    [gone, { before: { name: 'Old' }, after: null }, 'Old'],
    [gone, { before: { email: 'a@example.com' }, after: { email: 'b@example.com' } }, 'b@example.com'],
    [gone, { email: 'c@example.com' }, 'c@example.com'],
    [gone, { after: 'no record' }, null],
    [kept.id, {}, null],
    ['', { email: 'typed@example.com' }, null],
  ] as const) {
    const kind = `old-${randomUUID()}`;
    await service.sql(
      `insert into audit_logs (id, action, resource_type, resource_id, details) values ($1, 'role_updated', $2, $3, $4)`,
      [randomUUID(), kind, resource, JSON.stringify(details)],
    );
    const { body } = await admin.get(`/api/v1/audit-logs?resource_type=${kind}`);
    assert.equal(body.data[0].resource_name, name, JSON.stringify(details));
  }
});
