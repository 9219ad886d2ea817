// What a call has not proved enough to use, it hands to nobody: roles, permissions of roles, service accounts and keys.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { makePermission } from '@castellan/testing/records/fixture';
import { addStrong, requireOfPermission } from '@castellan/testing/second-factors/requirements';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const admin = await signIn(service, ADMIN);
const guarded = await makePermission(admin);
await requireOfPermission(service, guarded.name, 'aal2', 600);
const role = await addRole(service, guarded.name);
const needs = [
  'user.update',
  'users.create',
  'users.update',
  'role.create',
  'role.update',
  'service_account.create',
  'service_account.update',
  'access.change',
  guarded.name,
];
const { client: weak } = await signedInWith(service, ...needs);
const { client: strong } = await addStrong(service, ...needs);
const { client: without } = await signedInWith(service, ...needs.filter((name) => name !== guarded.name));

const acts: Record<string, (client: TestClient) => Promise<Answer>> = {
  'a role to a user': async (client) =>
    client.put(`/api/v1/users/${(await addPerson(service)).id}`, { role_id: [role] }),
  'a permission to a role': async (client) =>
    client.post(`/api/v1/roles/${await addRole(service)}/permissions`, { permission_ids: [guarded.id] }),
  'a permission to a new role': async (client) =>
    client.post('/api/v1/roles', { name: `New ${Math.random()}`, permission_ids: [guarded.id] }),
  'a role to a service account': async (client) =>
    client.put(`/api/v1/service-accounts/${(await addServiceAccount(service)).id}`, { role_ids: [role] }),
  'a permission to a key': async (client) => {
    const { id } = await addServiceAccount(service, { permissions: [guarded.name] });
    return client.post(`/api/v1/service-accounts/${id}/keys`, { name: 'All of it' });
  },
  'a permission to a narrowed key': async (client) => {
    const { id } = await addServiceAccount(service, { permissions: [guarded.name] });
    return client.post(`/api/v1/service-accounts/${id}/keys`, { name: 'One', permissions: [guarded.name] });
  },
  'a role in a change of access': async (client) =>
    client.post('/api/v1/access/changes', {
      changes: [{ user_id: (await addPerson(service)).id, add_role_ids: [role] }],
    }),
};

const takeovers: Record<string, (client: TestClient, id: string) => Promise<Answer>> = {
  'a password': (client, id) => client.put(`/api/v1/users/${id}`, { password: 'ReplacementPassword!42' }),
  'an address': (client, id) => client.put(`/api/v1/users/${id}`, { email: `taken-${id}@example.com` }),
};

for (const [what, takeOver] of Object.entries(takeovers))
  test(`${what} for a holder: only with the proof that the permission asks for`, async () => {
    const { id } = await addPerson(service, { roles: [role] });
    const refused = await takeOver(weak, id);
    assert.deepEqual([refused.status, refused.body.code], [403, 'step_up_required'], refused.text);
    const stale = await takeOver(admin, id);
    assert.deepEqual([stale.status, stale.body.code], [403, 'step_up_required'], 'superusers are under it');
    const done = await takeOver(strong, id);
    assert.equal(done.status, 200, done.text);
  });

test('a permission that requires a proof is deleted only by a call that meets it', async () => {
  const { client: deleter } = await signedInWith(service, 'permission.delete');
  const { client: strongDeleter } = await addStrong(service, 'permission.delete');
  const { id, name } = await makePermission(admin);
  await requireOfPermission(service, name, 'aal2', null);
  const refused = await deleter.delete(`/api/v1/permissions/${id}`);
  assert.deepEqual([refused.status, refused.body.code], [403, 'step_up_required'], refused.text);
  const done = await strongDeleter.delete(`/api/v1/permissions/${id}`);
  assert.equal(done.status, 200, done.text);
});

test('its group is renamed only by a call that meets it', async () => {
  const { id, group_id: group, name } = await makePermission(admin);
  await requireOfPermission(service, name, 'aal2', null);
  const refused = await admin.put(`/api/v1/permission-groups/${group}`, { name: `renamed ${id}` });
  assert.deepEqual([refused.status, refused.body.code], [403, 'step_up_required'], refused.text);
});

for (const [what, act] of Object.entries(acts))
  test(`${what}: only with the proof that the permission asks for`, async () => {
    const refused = await act(weak);
    assert.deepEqual([refused.status, refused.body.code], [403, 'step_up_required'], refused.text);
    assert.deepEqual(refused.body.step_up, { required_acr: 'aal2', max_age: 600 });
    const lacking = await act(without);
    assert.deepEqual([lacking.status, lacking.body.code], [403, 'privilege_escalation'], lacking.text);
    const given = await act(strong);
    assert.ok(given.status === 200 || given.status === 201, given.text);
  });

test('superusers are under it', async () => {
  const refused = await acts['a role to a user']?.(admin);
  assert.equal(refused?.body.code, 'step_up_required', refused?.text);
});

test('a lacking permission is told before a missing proof', async () => {
  const both = await addRole(service, guarded.name, 'audit_log.read');
  const { id } = await addPerson(service);
  const { body } = await weak.put(`/api/v1/users/${id}`, { role_id: [both] });
  assert.equal(body.code, 'privilege_escalation');
});

test('a key carries what somebody gave it who met the requirement', async () => {
  const { id } = await addServiceAccount(service, { permissions: [guarded.name] });
  const made = await strong.post(`/api/v1/service-accounts/${id}/keys`, { name: 'Given' });
  assert.deepEqual(made.body.data.permissions, [guarded.name]);
});
