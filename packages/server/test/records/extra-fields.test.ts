// Fields that a body should not have: ids of other records, columns that no operation sets, names that nobody knows.
// Those of access and state are refused (access-fields.test.ts); all others are ignored.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { isAccessField } from '@castellan/contract/access-fields';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const newName = () => `name-${randomUUID().slice(0, 8)}`;

/** Every column of every table, with values that would do harm or break a cast; `id` names another record. */
async function extraFields(otherId: string): Promise<Record<string, unknown>> {
  const columns = await service.sql<{ name: string; type: string }>(
    `select distinct column_name as name, data_type as type from information_schema.columns
     where table_schema = 'public'`,
  );
  const harmful = (type: string): unknown => {
    if (type === 'boolean') return true;
    if (type === 'uuid') return otherId;
    return type === 'integer' || type === 'bigint' ? 2_147_483_647 : 'x';
  };
  return {
    ...Object.fromEntries(columns.map(({ name, type }) => [name, harmful(type)])),
    unknown_field: { nested: [otherId] },
  };
}

const TABLES = 'users, roles, role_groups, permission_groups, permissions'.split(', ');

/** Every administered row by its id, without what each write raises. */
async function allRows(): Promise<Map<string, unknown>> {
  const rows = await Promise.all(
    TABLES.map((table) =>
      service.sql<{ id: string; row: unknown }>(
        `select id, to_jsonb(t) - 'version' - 'updated_at' as row from ${table} t`,
      ),
    ),
  );
  return new Map(rows.flat().map(({ id, row }) => [id, row]));
}

const permissionGroupId = async (): Promise<string> => {
  const made = await admin.post('/api/v1/permission-groups', { name: newName() });
  assert.equal(made.status, 201, made.text);
  return made.body.data.id;
};

// `fields`: what the operations of a kind take; the columns of these names are theirs to set.
const kinds: { path: string; fields: string[]; make(): Promise<object>; hasPut: boolean }[] = [
  {
    path: '/api/v1/users',
    fields: [
      'email',
      'first_name',
      'last_name',
      'is_active',
      'is_superuser',
      'verified',
      'must_change_password',
      'external_id',
      'attributes',
      'roles',
      'role_id',
      'role_ids',
      'password',
    ],
    make: async () => ({
      email: newEmail('extra'),
      password: PASSWORD,
      first_name: 'Ada',
      last_name: 'Lovelace',
    }),
    hasPut: true,
  },
  {
    path: '/api/v1/roles',
    fields: ['name', 'description', 'permission_ids', 'role_group_id'],
    make: async () => ({ name: newName() }),
    hasPut: true,
  },
  {
    path: '/api/v1/role-groups',
    fields: ['name', 'description', 'parent_id'],
    make: async () => ({ name: newName() }),
    hasPut: true,
  },
  {
    path: '/api/v1/permission-groups',
    fields: ['name', 'description', 'parent_id', 'permission_group_id'],
    make: async () => ({ name: newName() }),
    hasPut: true,
  },
  {
    path: '/api/v1/permissions',
    fields: ['name', 'description', 'group_id'],
    make: async () => ({ name: newName(), group_id: await permissionGroupId() }),
    hasPut: false,
  },
];

for (const { path, fields, make, hasPut } of kinds) {
  const withoutOwn = (extra: Record<string, unknown>) =>
    Object.fromEntries(
      Object.entries(extra).filter(([name]) => !fields.includes(name) && !isAccessField(name)),
    );
  /** The refused ones, with values that no record has. */
  const refused = (extra: Record<string, unknown>) =>
    Object.entries(extra).filter(([name]) => !fields.includes(name) && isAccessField(name));

  test(`${path}: a new record is what its own fields say, and no other record changes`, async () => {
    const other = (await admin.post(path, await make())).body.data;
    const extra = withoutOwn(await extraFields(other.id));
    const body = await make();
    const before = await allRows();
    for (const [name, value] of refused(await extraFields(other.id))) {
      const answer = await admin.post(path, { [name]: value, ...body });
      assert.equal(answer.body.code, 'field_not_allowed', `${name}: ${answer.text}`);
    }
    const made = await admin.post(path, { ...extra, ...body });
    assert.equal(made.status, 201, made.text);
    const plain = await admin.post(path, await make());
    assert.equal(plain.status, 201, plain.text);
    const { data } = made.body;
    const names = Object.keys(data).filter(
      (name) => !['id', 'group', ...fields].includes(name) && !/_at$/.test(name),
    );
    for (const name of names) assert.deepEqual(data[name], plain.body.data[name], name);
    const now = await allRows();
    for (const [id, row] of before) assert.deepEqual(now.get(id), row);
  });

  if (!hasPut) continue;
  test(`${path}: a change without its own fields changes no record`, async () => {
    const [one, other] = [await admin.post(path, await make()), await admin.post(path, await make())];
    const extra = withoutOwn(await extraFields(other.body.data.id));
    const before = await allRows();
    for (const [name, value] of refused(await extraFields(other.body.data.id))) {
      const answer = await admin.put(`${path}/${one.body.data.id}`, { [name]: value });
      assert.equal(answer.body.code, 'field_not_allowed', `${name}: ${answer.text}`);
    }
    const answer = await admin.put(`${path}/${one.body.data.id}`, extra);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(await allRows(), before);
  });
}
