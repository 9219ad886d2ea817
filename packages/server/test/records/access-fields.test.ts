// Fields of access and state: every write of an administered record takes them or refuses them, and none drops them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { accessFields, operationsThatSet } from '@castellan/contract/access-fields';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused as assertStatus } from '@castellan/testing/http/fixture';
import { newName } from '@castellan/testing/records/fixture';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
/** Returns the body of the refusal. */
function assertRefused(answer: Answer, status: number, code: string) {
  assertStatus(answer, status, code);
  return answer.body;
}
const api = (path: string) => `/api/v1/${path}`;
const make = async (path: string, body: object): Promise<string> => {
  const made = await admin.post(api(path), body);
  assert.equal(made.status, 201, made.text);
  return made.body.data.id;
};
const read = async (path: string) => (await admin.get(api(path))).body.data;

const words = await make('permission-groups', { name: newName() });
const permission = await make('permissions', { name: 'read', group_id: words });
const permission2 = await make('permissions', { name: 'write', group_id: words });
const group = await make('role-groups', { name: newName() });
const role = await make('roles', { name: newName(), role_group_id: group, permission_ids: [permission] });
const role2 = await make('roles', { name: newName() });
const person = () => ({ email: newEmail('fields'), password: PASSWORD, first_name: 'Ada', last_name: 'L' });
const user = await make('users', { ...person(), role_id: [role] });
const account = await make('service-accounts', { name: newName(), role_ids: [role] });
const key = await make(`service-accounts/${account}/keys`, { name: 'one' });
const resource = await make('api-resources', { identifier: 'https://fields.example.com', name: newName() });
const attribute = await make('user-attributes', { name: 'fields', label: 'Fields', type: 'date' });
const application = await make('applications', { client_id: 'fields', name: newName() });
const newProvider = (): object => ({
  slug: newName('provider').toLowerCase(),
  name: newName(),
  kind: 'oidc',
  issuer: 'https://id.example.com',
  client_id: 'castellan',
  client_auth: 'none',
});
const provider = await make('identity-providers', newProvider());
const webhook = await make('webhooks', { name: 'W', url: 'http://127.0.0.1:1/', events: ['role_*'] });
const keys = `service-accounts/${account}/keys`;

type Write = { method: 'POST' | 'PUT' | 'DELETE'; path: string; route?: string; body: () => object };
/** Every write of the API that has a body, or could have one: a valid body without a field of access. */
const writes: Record<string, Write> = {
  'POST /api/v1/users': { method: 'POST', path: 'users', body: person },
  'POST /api/v1/users/invitations': {
    method: 'POST',
    path: 'users/invitations',
    body: () => ({ email: newEmail('fields') }),
  },
  'POST /api/v1/users/{user_id}/invitation': {
    method: 'POST',
    path: `users/${user}/invitation`,
    body: () => ({}),
  },
  'POST /api/v1/users/{user_id}/erase': {
    method: 'POST',
    path: `users/${user}/erase`,
    body: () => ({}),
  },
  'PUT /api/v1/users/{user_id}': { method: 'PUT', path: `users/${user}`, body: () => ({}) },
  'POST /api/v1/users/{user_id}/roles': {
    method: 'POST',
    path: `users/${user}/roles`,
    body: () => ({ role_ids: [role] }),
  },
  'DELETE /api/v1/users/{user_id}/roles': {
    method: 'DELETE',
    path: `users/${user}/roles`,
    body: () => ({ role_ids: [role2] }),
  },
  'POST /api/v1/users/{user_id}/unlock': { method: 'POST', path: `users/${user}/unlock`, body: () => ({}) },
  'POST /api/v1/users/{user_id}/resend-verification': {
    method: 'POST',
    path: `users/${user}/resend-verification`,
    body: () => ({}),
  },
  'POST /api/v1/roles': { method: 'POST', path: 'roles', body: () => ({ name: newName() }) },
  'PUT /api/v1/roles/{role_id}': { method: 'PUT', path: `roles/${role}`, body: () => ({}) },
  'POST /api/v1/roles/{role_id}/permissions': {
    method: 'POST',
    path: `roles/${role}/permissions`,
    body: () => ({ permission_ids: [permission] }),
  },
  'DELETE /api/v1/roles/{role_id}/permissions': {
    method: 'DELETE',
    path: `roles/${role}/permissions`,
    body: () => ({ permission_ids: [permission2] }),
  },
  'POST /api/v1/role-groups': { method: 'POST', path: 'role-groups', body: () => ({ name: newName() }) },
  'PUT /api/v1/role-groups/{group_id}': { method: 'PUT', path: `role-groups/${group}`, body: () => ({}) },
  'DELETE /api/v1/role-groups/bulk': {
    method: 'DELETE',
    path: 'role-groups/bulk',
    body: () => ({ group_ids: [] }),
  },
  'POST /api/v1/role-groups/{group_id}/roles': {
    method: 'POST',
    path: `role-groups/${group}/roles`,
    body: () => ({ role_ids: [role] }),
  },
  'DELETE /api/v1/role-groups/{group_id}/roles': {
    method: 'DELETE',
    path: `role-groups/${group}/roles`,
    body: () => ({ role_ids: [role2] }),
  },
  'POST /api/v1/role-groups/{group_id}/clone': {
    method: 'POST',
    path: `role-groups/${group}/clone`,
    body: () => ({ name: newName() }),
  },
  'POST /api/v1/role-groups/sync-roles': {
    method: 'POST',
    path: 'role-groups/sync-roles',
    body: () => ({}),
  },
  'POST /api/v1/permission-groups': {
    method: 'POST',
    path: 'permission-groups',
    body: () => ({ name: newName() }),
  },
  'PUT /api/v1/permission-groups/{group_id}': {
    method: 'PUT',
    path: `permission-groups/${words}`,
    body: () => ({}),
  },
  'POST /api/v1/permissions': {
    method: 'POST',
    path: 'permissions',
    body: () => ({ name: newName(), group_id: words }),
  },
  'POST /api/v1/service-accounts': {
    method: 'POST',
    path: 'service-accounts',
    body: () => ({ name: newName() }),
  },
  'PUT /api/v1/service-accounts/{service_account_id}': {
    method: 'PUT',
    path: `service-accounts/${account}`,
    body: () => ({}),
  },
  'POST /api/v1/service-accounts/{service_account_id}/keys': {
    method: 'POST',
    path: keys,
    body: () => ({ name: 'further' }),
  },
  'POST /api/v1/applications': {
    method: 'POST',
    path: 'applications',
    body: () => ({ client_id: newName('client'), name: newName() }),
  },
  'PUT /api/v1/applications/{application_id}': {
    method: 'PUT',
    path: `applications/${application}`,
    body: () => ({}),
  },
  'POST /api/v1/api-resources': {
    method: 'POST',
    path: 'api-resources',
    body: () => ({ identifier: `https://${newName('api')}.example.com`, name: newName() }),
  },
  'PUT /api/v1/api-resources/{api_resource_id}': {
    method: 'PUT',
    path: `api-resources/${resource}`,
    body: () => ({}),
  },
  'POST /api/v1/webhooks': {
    method: 'POST',
    path: 'webhooks',
    body: () => ({ name: newName(), url: 'http://127.0.0.1:1/', events: ['role_*'] }),
  },
  'PUT /api/v1/webhooks/{webhook_id}': { method: 'PUT', path: `webhooks/${webhook}`, body: () => ({}) },
  'POST /api/v1/webhooks/{webhook_id}/secrets': {
    method: 'POST',
    path: `webhooks/${webhook}/secrets`,
    body: () => ({ overlap_seconds: 0 }),
  },
  'POST /api/v1/user-attributes': {
    method: 'POST',
    path: 'user-attributes',
    body: () => ({ name: newName('a').toLowerCase().replaceAll(/\W/g, '_'), label: 'A', type: 'date' }),
  },
  'PUT /api/v1/user-attributes/{attribute_id}': {
    method: 'PUT',
    path: `user-attributes/${attribute}`,
    body: () => ({}),
  },
  'POST /api/v1/identity-providers': {
    method: 'POST',
    path: 'identity-providers',
    body: () => newProvider(),
  },
  'PUT /api/v1/identity-providers/{provider_id}': {
    method: 'PUT',
    path: `identity-providers/${provider}`,
    body: () => ({}),
  },
  'POST /api/v1/applications/{application_id}/secrets': {
    method: 'POST',
    path: `applications/${application}/secrets`,
    body: () => ({ name: 'further' }),
  },
  'POST /api/v1/service-accounts/{service_account_id}/keys/{key_id}/rotate': {
    method: 'POST',
    path: `${keys}/${key}/rotate`,
    body: () => ({}),
  },
};
/** Those whose bodies hold objects: what surrounds an object, and a valid one. */
const nested: Record<
  string,
  { method: 'POST' | 'PUT'; path: string; around(item: object): object; at: string; item: () => object }
> = {
  'PUT /api/v1/users/bulk-update': {
    method: 'PUT',
    path: 'users/bulk-update',
    around: (item) => ({ users: [item] }),
    at: 'users.0.',
    item: () => ({ id: user }),
  },
  'PUT /api/v1/users/bulk-update (updates)': {
    method: 'PUT',
    path: 'users/bulk-update',
    around: (updates) => ({ user_ids: [user], updates }),
    at: 'updates.',
    item: () => ({}),
  },
  'PUT /api/v1/users/bulk-update (beside)': {
    method: 'PUT',
    path: 'users/bulk-update',
    around: (item) => ({ ...item, user_ids: [user], updates: {} }),
    at: '',
    item: () => ({}),
  },
  'POST /api/v1/users/invitations/bulk': {
    method: 'POST',
    path: 'users/invitations/bulk',
    around: (item) => ({ invitations: [item] }),
    at: 'invitations.0.',
    item: () => ({ email: newEmail('fields') }),
  },
  'POST /api/v1/role-groups/bulk': {
    method: 'POST',
    path: 'role-groups/bulk',
    around: (item) => ({ groups: [item] }),
    at: 'groups.0.',
    item: () => ({ name: newName() }),
  },
  'POST /api/v1/role-groups/bulk (array)': {
    method: 'POST',
    path: 'role-groups/bulk',
    around: (item) => [item],
    at: '0.',
    item: () => ({ name: newName() }),
  },
  'POST /api/v1/access/changes': {
    method: 'POST',
    path: 'access/changes',
    around: (item) => ({ changes: [item] }),
    at: 'changes.0.',
    item: () => ({ user_id: user }),
  },
};
const all = [
  ...Object.entries(writes).map(([name, { method, path, body }]) => ({
    name,
    method,
    path,
    at: '',
    body: (extra: object): object => ({ ...body(), ...extra }),
  })),
  ...Object.entries(nested).map(([name, { method, path, around, at, item }]) => ({
    name,
    method,
    path,
    at,
    body: (extra: object): object => around({ ...item(), ...extra }),
  })),
];
const operationOf = (name: string): string => name.replace(/ \(.*/, '');
const send = (method: string, path: string, body: object): Promise<Answer> =>
  admin.request(method, api(path), { json: body });

const document = (await admin.get('/docs/openapi.json')).body;
const documented = Object.entries<
  Record<string, { responses: Record<string, unknown>; requestBody?: unknown }>
>(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    operation,
  })),
);

test('every write of an administered record is in this test', () => {
  const administered = documented.filter(
    ({ name, operation }) =>
      /^(POST|PUT|PATCH|DELETE) \/api\/v1\/(users|roles|role-groups|permission-groups|permissions|service-accounts|applications|api-resources|user-attributes|identity-providers|webhooks|access\/changes)\b/.test(
        name,
      ) &&
      (!name.startsWith('DELETE') || operation.requestBody !== undefined) &&
      // Of oneself.
      !name.includes(' /api/v1/users/me') &&
      // They take no field of the record. Attributes refuse whatever is not declared.
      !/\/(act-as|attributes|authentication|factors\/reset|claims-preview|test|resend|replay)$/.test(name),
  );
  assert.ok(administered.length > 20);
  assert.deepEqual(
    administered.map(({ name }) => name).sort(),
    [...new Set(all.map(({ name }) => operationOf(name)))].sort(),
  );
  for (const { name, operation } of administered)
    assert.match(JSON.stringify(operation.responses), /field_not_allowed/, name);
});

test('every operation that a refusal names exists', () => {
  const names = new Set(documented.map(({ name }) => name));
  for (const operations of Object.values(operationsThatSet))
    for (const text of Object.values(operations))
      for (const [name] of text.matchAll(/(POST|PUT|DELETE) \/[^\s`]+/g)) assert.ok(names.has(name), name);
});

// Values that no record of this test has.
const foreign: Record<string, unknown> = {
  is_system: true,
  is_verified: false,
  revoked_at: '2040-01-01T00:00:00.000Z',
  expires_at: '2040-01-01T00:00:00.000Z',
  password: PASSWORD,
  is_superuser: true,
  is_active: false,
  verified: false,
  must_change_password: true,
};
/** The fields of access that the schema of the body declares, at any depth. */
function declaredIn(name: string): Set<string> {
  const found = new Set<string>();
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [member, inner] of Object.entries(value)) {
      if (member === '$ref' && typeof inner === 'string')
        walk(
          inner
            .split('/')
            .slice(1)
            .reduce((at, step) => at[step], document),
        );
      if (member === 'properties') for (const one of Object.keys(inner as object)) found.add(one);
      walk(inner);
    }
  };
  walk(documented.find((one) => one.name === operationOf(name))?.operation.requestBody);
  return found;
}

for (const { name, method, path, at, body } of all) {
  test(`${name}: refuses the fields of access that it does not take`, async () => {
    const taken = at === '' && name.endsWith('(beside)') ? new Set<string>() : declaredIn(name);
    const refused = accessFields.filter((field) => !taken.has(field));
    assert.ok(refused.length > 0);
    for (const field of refused) {
      if (field === 'password' && name.includes('bulk-update')) continue;
      const value = foreign[field] ?? [crypto.randomUUID()];
      const answer = await send(method, path, body({ [field]: value }));
      const { detail, errors } = assertRefused(answer, 400, 'field_not_allowed');
      assert.deepEqual(
        errors?.map((one: { field: string }) => one.field),
        [`${at}${field}`],
      );
      const known = Object.values(operationsThatSet).flatMap((operations) => operations[field] ?? []);
      assert.match(detail, /use (POST|PUT|DELETE) |no operation sets it/, `${known}`);
    }
  });

  // The user is verified, not invited, and stays.
  if (/resend|\/(invitation|erase)$/.test(name)) continue;
  test(`${name}: ignores other unknown fields`, async () => {
    const answer = await send(method, path, body({ shoe_size: 43, created_at: 'x', nickname: ['x'] }));
    assert.ok(answer.status === 200 || answer.status === 201, answer.text);
  });
}

test('a refused field changes nothing, and the detail names the operation that can', async () => {
  const before = await read(`roles/${role}`);
  const answer = await admin.put(api(`roles/${role}`), { name: newName(), is_active: false, roles: [role2] });
  const { detail } = assertRefused(answer, 400, 'field_not_allowed');
  assert.match(detail, /^is_active cannot be set by this operation; no operation sets it\. roles /);
  assert.deepEqual(await read(`roles/${role}`), before);
  const keyed = await admin.post(api(keys), { name: 'narrow', permission_ids: [permission] });
  assert.match(assertRefused(keyed, 400, 'field_not_allowed').detail, /with names in `permissions`/);
});

test('the plan of an owner and an invitation are ended by their operations, not dropped by others', async () => {
  const { password: _password, ...invitation } = person();
  const { data } = (await admin.post(api('users/invitations'), invitation)).body;
  await service.sql(
    "update users set deletion_due_at = now() + interval '1 day', is_active = false where id = $1",
    [user],
  );
  const leaving = await admin.put(api(`users/${user}`), { deletion_due_at: null });
  assert.match(assertRefused(leaving, 400, 'field_not_allowed').detail, /with `is_active`/);
  const invited = await admin.put(api(`users/${data.id}`), { invited_at: null });
  assert.match(assertRefused(invited, 400, 'field_not_allowed').detail, /\/invitation/);
  for (const id of [user, data.id]) {
    const whole = await admin.put(api(`users/${id}`), await read(`users/${id}`));
    assert.equal(whole.status, 200, whole.text);
  }
  assert.equal((await admin.put(api(`users/${user}`), { is_active: true })).body.data.deletion_due_at, null);
  const copy = { ...person(), invited_at: null, deletion_due_at: null };
  assert.equal((await admin.post(api('users'), copy)).status, 201);
});

test('POST /users takes the state of the account, under the rules of PUT', async () => {
  const state = { is_active: false, is_superuser: true, verified: false, must_change_password: true };
  const made = await admin.post(api('users'), { ...person(), ...state });
  assert.equal(made.status, 201, made.text);
  const { is_active, is_superuser, verified, must_change_password } = made.body.data;
  assert.deepEqual({ is_active, is_superuser, verified, must_change_password }, state);
  assert.deepEqual(await read(`users/${made.body.data.id}`), made.body.data);

  const maker = await make('roles', {
    name: newName(),
    permission_ids: (await read('permissions?size=100'))
      .filter((one: { name: string }) => /^users?\./.test(one.name))
      .map((one: { id: string }) => one.id),
  });
  const helper = person();
  await make('users', { ...helper, role_id: [maker] });
  const help = await signIn(service, helper);
  const refused = await help.post(api('users'), { ...person(), is_superuser: true });
  const { errors } = assertRefused(refused, 403, 'superuser_required');
  assert.equal(errors?.[0]?.field, 'is_superuser');
  const plain = await help.post(api('users'), {
    ...person(),
    is_superuser: false,
    is_active: false,
    verified: false,
  });
  assert.equal(plain.status, 201, plain.text);

  const inactive = person();
  await make('users', { ...inactive, is_active: false });
  assert.equal((await service.client().post(api('auth/login'), inactive)).status, 422);
});

test('an account that is created unverified gets its mail on request, and the clean-up leaves it', async () => {
  const unverified = person();
  const id = await make('users', { ...unverified, verified: false });
  const [row] = await service.sql(`select pending_registration from users where id = '${id}'`);
  assert.deepEqual(row, { pending_registration: false });
  const login = await service.client().post(api('auth/login'), unverified);
  assertRefused(login, 422, 'email_not_verified');
  const queued = await service.sql(`select 1 from outbox where payload->>'email' = '${unverified.email}'`);
  assert.equal(queued.length, 0);
  assert.equal((await admin.post(api(`users/${id}/resend-verification`), {})).status, 200);
});

test('POST /service-accounts takes is_active', async () => {
  const id = await make('service-accounts', { name: newName(), is_active: false });
  assert.equal((await read(`service-accounts/${id}`)).is_active, false);
});

const idsOf = (records: { id: string }[]): string[] => records.map(({ id }) => id).sort();
const both = [role, role2].sort();

for (const field of ['role_id', 'role_ids', 'roles'] as const) {
  test(`${field} names roles wherever roles are given`, async () => {
    const id = await make('users', { ...person(), [field]: [role] });
    const roles = async () => idsOf((await read(`users/${id}`)).roles);
    assert.deepEqual(await roles(), [role]);
    const steps: [string, string, object, string[]][] = [
      ['PUT', `users/${id}`, { [field]: both }, both],
      ['PUT', `users/${id}`, { [field]: [] }, []],
      ['PUT', 'users/bulk-update', { user_ids: [id], updates: { [field]: [role2] } }, [role2]],
      ['PUT', 'users/bulk-update', { users: [{ id, [field]: [role] }] }, [role]],
      ['POST', `users/${id}/roles`, { [field]: both }, both],
      ['DELETE', `users/${id}/roles`, { [field]: [role2] }, [role]],
    ];
    for (const [method, path, body, expected] of steps) {
      const answer = await send(method, path, body);
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(await roles(), expected, `${method} ${path} ${JSON.stringify(body)}`);
    }
    const made = await make('service-accounts', { name: newName(), [field]: [role] });
    const changed = await admin.put(api(`service-accounts/${made}`), { [field]: both });
    assert.deepEqual(idsOf(changed.body.data.roles), both, changed.text);
    const folder = await make('role-groups', { name: newName() });
    const added = await admin.post(api(`role-groups/${folder}/roles`), { [field]: both });
    assert.deepEqual(idsOf(added.body.data.roles), both, added.text);
    const removed = await send('DELETE', `role-groups/${folder}/roles`, { [field]: both });
    assert.deepEqual(removed.body.data.roles, [], removed.text);
  });
}

for (const field of ['permission_ids', 'permissions'] as const) {
  test(`${field} names permissions wherever the permissions of a role are given`, async () => {
    const id = await make('roles', { name: newName(), [field]: [permission] });
    const held = async () => idsOf((await read(`roles/${id}`)).permissions);
    assert.deepEqual(await held(), [permission]);
    const steps: [string, string, object, string[]][] = [
      ['PUT', `roles/${id}`, { [field]: [permission2] }, [permission2]],
      ['POST', `roles/${id}/permissions`, { [field]: [permission] }, [permission]],
      ['DELETE', `roles/${id}/permissions`, { [field]: [permission] }, []],
    ];
    for (const [method, path, body, expected] of steps) {
      const answer = await send(method, path, body);
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(await held(), expected, `${method} ${path} ${JSON.stringify(body)}`);
    }
  });
}

test('names of one list that hold different ids are refused', async () => {
  const cases: [string, string, object, number, string, string][] = [
    ['PUT', `users/${user}`, { role_id: [role], roles: [role2] }, 400, 'invalid_input', 'roles'],
    ['PUT', `users/${user}`, { role_ids: [], role_id: [role] }, 400, 'invalid_input', 'role_ids'],
    [
      'POST',
      'users',
      { ...person(), role_ids: [role], roles: [], role_id: [role2] },
      400,
      'invalid_input',
      'role_ids',
    ],
    [
      'PUT',
      'users/bulk-update',
      { users: [{ id: user, role_id: [role], role_ids: [role2] }] },
      400,
      'invalid_input',
      'users.0.role_ids',
    ],
    ['POST', `users/${user}/roles`, { role_id: [role2], role_ids: [role] }, 400, 'invalid_input', 'role_ids'],
    [
      'PUT',
      `roles/${role}`,
      { permission_ids: [], permissions: [permission2] },
      422,
      'validation_failed',
      'permissions',
    ],
    [
      'PUT',
      `service-accounts/${account}`,
      { role_ids: [role2], role_id: [role] },
      422,
      'validation_failed',
      'role_ids',
    ],
  ];
  for (const [method, path, body, status, code, field] of cases) {
    const { errors } = assertRefused(await send(method, path, body), status, code);
    assert.deepEqual(
      errors?.map(({ field, code }: { field: string; code: string }) => [field, code]),
      [[field, 'ambiguous']],
    );
  }
  const agreed = { role_id: [role.toUpperCase()], role_ids: [role, role], roles: [role] };
  assert.equal((await admin.put(api(`users/${user}`), agreed)).status, 200);
  assertRefused(await admin.put(api(`users/${user}`), { roles: 'all' }), 400, 'invalid_input');
  assertRefused(await admin.post(api(`roles/${role}/permissions`), {}), 422, 'validation_failed');
});

const records = {
  user: `users/${user}`,
  role: `roles/${role}`,
  'role group': `role-groups/${group}`,
  'permission group': `permission-groups/${words}`,
  'service account': `service-accounts/${account}`,
};
for (const [noun, path] of Object.entries(records)) {
  test(`a ${noun} that is sent back whole and unchanged stays as it is`, async () => {
    const before = await admin.get(api(path));
    const whole = before.body.data;
    for (const query of noun === 'role' || noun === 'user' ? ['', '?dry_run=true'] : ['']) {
      const etag = before.headers.get('etag') ?? '';
      const answer = await admin.put(api(`${path}${query}`), whole, { headers: { 'if-match': etag } });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.body.data.would_be_refused ?? null, null);
    }
    const now = await admin.get(api(path));
    assert.equal(now.headers.get('etag'), before.headers.get('etag'));
    assert.deepEqual(now.body.data, whole);
  });
}

test('a record that is sent back may have names for records, and a change beside its lists', async () => {
  const whole = await read(`users/${user}`);
  const named = { ...whole, roles: whole.roles.map((one: { name: string }) => one.name.toUpperCase()) };
  assert.equal((await admin.put(api(`users/${user}`), named)).status, 200);
  const bulk = await admin.put(api('users/bulk-update'), { users: [whole] });
  assert.equal(bulk.status, 200, bulk.text);
  const moved = await admin.put(api(`users/${user}`), { ...whole, role_id: [role2] });
  assert.deepEqual(idsOf(moved.body.data.roles), [role2], moved.text);
  const emptied = await admin.put(api(`users/${user}`), { ...(await read(`users/${user}`)), role_id: [] });
  assert.deepEqual(emptied.body.data.roles, [], emptied.text);
  const filled = await admin.put(api(`users/${user}`), { ...(await read(`users/${user}`)), role_id: [role] });
  assert.deepEqual(idsOf(filled.body.data.roles), [role], filled.text);
  const roleRecord = await read(`roles/${role2}`);
  const widened = await admin.put(api(`roles/${role2}`), { ...roleRecord, permission_ids: [permission] });
  assert.deepEqual(idsOf(widened.body.data.permissions), [permission], widened.text);
});

test('a record whose lists were edited is refused, as a preview too', async () => {
  const whole = await read(`users/${user}`);
  const edits = [
    { roles: [...whole.roles, { id: role2, name: 'other' }] },
    { roles: ['Admin'] },
    { permissions: [...whole.permissions, 'users.delete'] },
  ];
  for (const edit of edits)
    for (const query of ['', '?dry_run=true'])
      assertRefused(
        await admin.put(api(`users/${user}${query}`), { ...whole, ...edit }),
        400,
        'field_not_allowed',
      );
  assert.deepEqual(await read(`users/${user}`), whole);
});

test('If-Match comes before the comparison, because the value may have changed since', async () => {
  const before = await admin.get(api(`users/${user}`));
  assert.equal((await admin.put(api(`users/${user}`), { first_name: 'Augusta', role_id: [] })).status, 200);
  const headers = { 'if-match': before.headers.get('etag') ?? '' };
  const answer = await admin.put(api(`users/${user}`), before.body.data, { headers });
  assertRefused(answer, 412, 'precondition_failed');
  assert.equal((await admin.put(api(`users/${user}`), { role_id: [role] })).status, 200);
});

test('callers without the permission, and ids of no record, get the same answer as without such a field', async () => {
  const none = person();
  await make('users', none);
  const nobody = await signIn(service, none);
  const refused = await nobody.put(api(`users/${user}`), { permissions: ['x'] });
  assertRefused(refused, 403, 'permission_denied');
  const missing = await admin.put(api(`users/${crypto.randomUUID()}`), { permissions: ['x'] });
  assertRefused(missing, 404, 'user_not_found');
});

test('password in bulk and the refusals of PUT /users/me keep their codes', async () => {
  const bulk = await admin.put(api('users/bulk-update'), {
    users: [{ id: user, password: PASSWORD, roles: ['x'] }],
  });
  assert.equal(bulk.status, 400);
  const plain = await admin.put(api('users/bulk-update'), {
    user_ids: [user],
    updates: {},
    password: PASSWORD,
  });
  assertRefused(plain, 400, 'password_in_bulk');
  for (const field of accessFields)
    assertRefused(await admin.put(api('users/me'), { [field]: true }), 400, 'field_not_allowed');
});

test('registration ignores fields of access, as ever', async () => {
  const answer = await service.client().post(api('auth/register'), {
    ...person(),
    is_superuser: true,
    verified: true,
    roles: [role],
  });
  assert.equal(answer.status, 201, answer.text);
  assert.equal(answer.body.data.is_superuser, false);
  assert.equal(answer.body.data.verified, false);
});
