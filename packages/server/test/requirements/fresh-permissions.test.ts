// Permissions whose operations ask for a proof of a moment ago are handed out only with such a proof. Otherwise who holds the
// tokens of an old session would make an account that asks for none.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { freshPermissions } from '@castellan/contract/permissions';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { addAppUser } from '@castellan/testing/second-factors/app';
import { addStrong, ageProofs, requireOfPermission } from '@castellan/testing/second-factors/requirements';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const ids = new Map(
  (
    await service.sql<{ id: string; name: string }>('select id, name from permissions where name = any($1)', [
      freshPermissions,
    ])
  ).map(({ id, name }) => [name, id]),
);
const needs = [
  'user.update',
  'users.create',
  'users.update',
  'role.create',
  'role.update',
  'service_account.create',
  'service_account.update',
  'access.change',
  ...freshPermissions,
];
const roles = new Map<string, string>();
for (const name of freshPermissions) roles.set(name, await addRole(service, name));

const acts: Record<string, (client: TestClient, name: string) => Promise<Answer>> = {
  'a role to a user': async (client, name) =>
    client.put(`/api/v1/users/${(await addPerson(service)).id}`, { role_id: [roles.get(name)] }),
  'a role to a new user': (client, name) =>
    client.post('/api/v1/users', {
      email: `puppet-${Math.random().toString(36).slice(2)}@example.com`,
      password: 'Copper+Violin95Moss',
      first_name: 'Pup',
      last_name: 'Pet',
      role_id: [roles.get(name)],
    }),
  'a permission to a role': async (client, name) =>
    client.post(`/api/v1/roles/${await addRole(service)}/permissions`, { permission_ids: [ids.get(name)] }),
  'a permission to a new role': (client, name) =>
    client.post('/api/v1/roles', { name: `New ${Math.random()}`, permission_ids: [ids.get(name)] }),
  'a role to a service account': async (client, name) =>
    client.put(`/api/v1/service-accounts/${(await addServiceAccount(service)).id}`, {
      role_ids: [roles.get(name)],
    }),
  'a new service account': (client, name) =>
    client.post('/api/v1/service-accounts', {
      name: `Puppet ${Math.random()}`,
      role_ids: [roles.get(name)],
    }),
  'a key': async (client, name) => {
    const { id } = await addServiceAccount(service, { permissions: [name] });
    return client.post(`/api/v1/service-accounts/${id}/keys`, { name: 'All of it' });
  },
  'a narrowed key': async (client, name) => {
    const { id } = await addServiceAccount(service, { permissions: [name] });
    return client.post(`/api/v1/service-accounts/${id}/keys`, { name: 'One', permissions: [name] });
  },
  'a change of access': async (client, name) =>
    client.post('/api/v1/access/changes', {
      changes: [{ user_id: (await addPerson(service)).id, add_role_ids: [roles.get(name)] }],
    }),
  'a password of a holder': async (client, name) => {
    const { id } = await addPerson(service, { roles: [roles.get(name) ?? ''] });
    return client.put(`/api/v1/users/${id}`, { password: 'ReplacementPassword!42' });
  },
};

const isDone = ({ status }: Answer): boolean => status === 200 || status === 201;
function assertAsks(answer: Answer, acr: 'aal1' | 'aal2', what: string): void {
  assert.deepEqual(
    [answer.status, answer.body.code, answer.body.step_up],
    [403, 'step_up_required', { required_acr: acr, max_age: 600 }],
    `${what}: ${answer.text}`,
  );
}

test('while nobody has a factor and nothing is required, an old session hands them out as before', async () => {
  const { client, person } = await signedInWith(service, ...needs);
  await ageProofs(service, person, 3_600);
  for (const [what, act] of Object.entries(acts)) {
    const answer = await act(client, 'second_factor.reset');
    assert.ok(isDone(answer), `${what}: ${answer.text}`);
  }
});

test('once anything is required, they ask for the password of accounts without a factor', async () => {
  const { client, person } = await signedInWith(service, ...needs);
  await requireOfPermission(service, 'role.delete', 'aal2');
  await ageProofs(service, person, 3_600);
  assertAsks(
    (await acts['a new service account']?.(client, 'authentication.update')) as Answer,
    'aal1',
    'old',
  );
  await requireOfPermission(service, 'role.delete', null);
});

for (const name of freshPermissions)
  for (const [what, act] of Object.entries(acts))
    test(`${name}, ${what}: with a proof of the last minutes`, async () => {
      await addAppUser(service);
      const { client: weak, person } = await signedInWith(service, ...needs);
      const young = await act(weak, name);
      assert.ok(isDone(young), young.text);
      await ageProofs(service, person, 601);
      assertAsks(await act(weak, name), 'aal1', 'an old password');

      const strong = await addStrong(service, ...needs);
      const proved = await act(strong.client, name);
      assert.ok(isDone(proved), proved.text);
      await ageProofs(service, strong, 601);
      assertAsks(await act(strong.client, name), 'aal2', 'an old factor');
    });

test('a superuser is under it, also when they make another one; other permissions are not', async () => {
  await addAppUser(service);
  const admin = await signIn(service, ADMIN);
  const [{ id } = { id: '' }] = await service.sql<{ id: string }>('select id from users where email = $1', [
    ADMIN.email,
  ]);
  await ageProofs(service, { id }, 3_600);
  const person = await addPerson(service);
  assertAsks(await admin.put(`/api/v1/users/${person.id}`, { is_superuser: true }), 'aal1', 'a superuser');
  assertAsks((await acts['a role to a user']?.(admin, 'second_factor.reset')) as Answer, 'aal1', 'a role');
  const other = await addRole(service, 'audit_log.read');
  const given = await admin.put(`/api/v1/users/${person.id}`, { role_id: [other] });
  assert.equal(given.status, 200, given.text);
});
