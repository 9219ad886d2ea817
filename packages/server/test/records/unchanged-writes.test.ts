// Writes that change nothing: each is 200, and leaves no new version, no audit entry and no row written.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { newName } from '@castellan/testing/records/fixture';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const make = async (path: string, body: object): Promise<string> => {
  const made = await admin.post(`/api/v1/${path}`, body);
  assert.equal(made.status, 201, made.text);
  return made.body.data.id;
};

const parent = await make('role-groups', { name: newName() });
const group = await make('role-groups', { name: newName(), parent_id: parent, description: 'kept' });
const above = await make('permission-groups', { name: newName() });
const words = await make('permission-groups', { name: newName(), parent_id: above });
const permission = await make('permissions', { name: 'read', group_id: words });
const role = await make('roles', { name: newName(), role_group_id: group, permission_ids: [permission] });
const unheld = await make('roles', { name: newName() });
const user = await make('users', {
  email: newEmail('same'),
  password: PASSWORD,
  first_name: 'Ada',
  last_name: 'Lovelace',
  role_id: [role],
});
const application = await make('applications', { client_id: 'same', name: newName() });
const account = await make('service-accounts', { name: newName(), role_ids: [role] });
const key = await make(`service-accounts/${account}/keys`, { name: 'ended' });
assert.equal((await admin.delete(`/api/v1/service-accounts/${account}/keys/${key}`)).status, 200);

const read = async (path: string) => (await admin.get(`/api/v1/${path}`)).body.data;
const put = async (path: string, body: object = {}): Promise<Answer> => admin.put(`/api/v1/${path}`, body);
/** Sends a record's own values of these fields. */
const same = async (path: string, ...fields: string[]): Promise<Answer> => {
  const record = await read(path);
  return put(path, Object.fromEntries(fields.map((field) => [field, record[field]])));
};

const writes: Record<string, () => Promise<Answer>> = {
  'a user without fields': () => put(`users/${user}`),
  'a user with the same fields': () =>
    same(
      `users/${user}`,
      ...[
        'email',
        'first_name',
        'last_name',
        'is_active',
        'is_superuser',
        'verified',
        'must_change_password',
        'external_id',
      ],
    ),
  'a user with the same roles': () => put(`users/${user}`, { role_id: [role] }),
  'users in bulk': () =>
    put('users/bulk-update', { user_ids: [user], updates: { is_active: true, role_id: [role] } }),
  'the own names': () => same('users/me', 'first_name', 'last_name'),
  'the same roles': () => admin.post(`/api/v1/users/${user}/roles`, [role]),
  'the removal of a role that the user does not have': () =>
    admin.delete(`/api/v1/users/${user}/roles`, [unheld]),
  'a role without fields': () => put(`roles/${role}`),
  'a role with the same fields': () => same(`roles/${role}`, 'name', 'description', 'role_group_id'),
  'a role with the same permissions': () => put(`roles/${role}`, { permission_ids: [permission] }),
  'the same permissions': () => admin.post(`/api/v1/roles/${role}/permissions`, [permission]),
  'a role group without fields': () => put(`role-groups/${group}`),
  'a role group with the same fields': () => same(`role-groups/${group}`, 'name', 'description', 'parent_id'),
  'a role that is in the group': () => admin.post(`/api/v1/role-groups/${group}/roles`, [role]),
  'a repair without missing links': () => admin.post('/api/v1/role-groups/sync-roles'),
  'a permission group without fields': () => put(`permission-groups/${words}`),
  'a permission group with the same fields': () =>
    same(`permission-groups/${words}`, 'name', 'description', 'parent_id'),
  'a service account without fields': () => put(`service-accounts/${account}`),
  'a service account with the same fields': () =>
    same(`service-accounts/${account}`, 'name', 'description', 'is_active'),
  'a service account with the same roles': () => put(`service-accounts/${account}`, { role_ids: [role] }),
  'a key that has ended': () => admin.delete(`/api/v1/service-accounts/${account}/keys/${key}`),
  'an application without fields': () => put(`applications/${application}`),
  'an application with the same fields': () =>
    same(`applications/${application}`, 'name', 'redirect_uris', 'scopes', 'jwks', 'required_permission_id'),
  'many changes of access': () =>
    admin.post('/api/v1/access/changes', {
      changes: [
        { user_id: user, add_role_ids: [role] },
        { role_id: role, add_permission_ids: [permission] },
        { service_account_id: account, add_role_ids: [role] },
      ],
    }),
};

const TABLES = [
  ...['users', 'roles', 'role_groups', 'permission_groups', 'permissions', 'service_accounts', 'api_keys'],
  ...['applications', 'application_secrets'],
  ...['user_roles', 'role_permissions', 'role_group_roles', 'service_account_roles'],
];
/** Every row with the transaction that wrote it last, and the audit entries. */
const state = () =>
  Promise.all([
    ...TABLES.map((table) =>
      service.sql(`select xmin::text, to_jsonb(t) - 'last_used_at' as row from ${table} t order by 2`),
    ),
    service.sql('select id, action from audit_logs order by id'),
  ]);

for (const [name, write] of Object.entries(writes))
  test(`${name}: 200, and nothing is written`, async () => {
    const before = await state();
    const answer = await write();
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(await state(), before);
  });
