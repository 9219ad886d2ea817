// What a start writes to the database: everything at the first start, only what is missing at later ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paths } from '@castellan/testing/accounts/self-service';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { assertAnswered, assertRefused } from './answers.ts';
import { createEmptyDatabase, type EmptyDatabase } from './empty-database.ts';

const MANAGER = [
  'permission.read',
  'permission_group.read',
  'role.read',
  'role_group.read',
  'self.update_profile',
  'user.read',
  'users.read',
];

const rolesOf = async (database: EmptyDatabase) =>
  Object.fromEntries(
    (
      await database.sql<{ name: string; permissions: string[] }>(
        `select r.name, array_agg(p.name order by p.name collate "C") filter (where p.name is not null) as permissions
         from roles r left join role_permissions l on l.role_id = r.id left join permissions p on p.id = l.permission_id
         group by r.name`,
      )
    ).map(({ name, permissions }) => [name, permissions]),
  );

const permissionsIn = async (database: EmptyDatabase) =>
  (await database.sql<{ name: string }>('select name from permissions order by name collate "C"')).map(
    ({ name }) => name,
  );

/** Returns every row of every table that the seed writes. */
async function allRows(database: EmptyDatabase): Promise<Record<string, string[]>> {
  const all: Record<string, string[]> = {};
  for (const table of [
    'users',
    'user_roles',
    'roles',
    'role_permissions',
    'permissions',
    'permission_groups',
    'role_groups',
    'role_group_roles',
    'signing_keys',
    'password_history',
  ]) {
    const rows = await database.sql<{ row: string }>(`select t::text as row from ${table} t order by 1`);
    all[table] = rows.map(({ row }) => row);
  }
  return all;
}

test('two instances that start at once on an empty database both work, and seed it once', async (t) => {
  const database = await createEmptyDatabase(t);
  const instances = await Promise.all([database.start(), database.start()]);
  const prepared = await Promise.all(instances.map((instance) => instance.service.prepared));
  assert.equal(prepared.filter((one) => one.madeSuperuser).length, 1);
  assert.equal(prepared.filter((one) => one.migrations.length > 0).length, 1);

  const permissions = await permissionsIn(database);
  for (const name of [...MANAGER, 'users.delete', 'role.create', 'permission.delete', 'audit_log.read'])
    assert.equal(permissions.filter((one) => one === name).length, 1, name);
  const { Admin, Manager, User, Service, ...others } = await rolesOf(database);
  assert.deepEqual(Admin, permissions);
  assert.deepEqual(Manager, MANAGER);
  assert.deepEqual(User, ['self.update_profile']);
  assert.deepEqual(Service, ['access.check', 'access.watch', 'token.introspect']);
  assert.deepEqual(others, {});
  assert.deepEqual(await database.sql('select name from roles where is_system'), [{ name: 'Admin' }]);
  const placed = await database.sql(
    `select g.name as group, r.name as role from role_group_roles l join roles r on r.id = l.role_id
     join role_groups g on g.id = l.role_group_id and g.id = r.role_group_id order by r.name`,
  );
  assert.deepEqual(placed, [
    { group: 'Administrative', role: 'Admin' },
    { group: 'Operational', role: 'Manager' },
    { group: 'Standard', role: 'Service' },
    { group: 'Standard', role: 'User' },
  ]);
  const prefixed = await database.sql(
    `select from permissions p join permission_groups g on g.id = p.group_id where p.name not like g.name || '.%'`,
  );
  assert.equal(prefixed.length, 0);

  // Each instance accepts the tokens of the other.
  const client = await signIn(instances[0]!, ADMIN);
  const me = assertAnswered(await client.at(instances[1]!.url).get(paths.me));
  assert.equal(me.email, ADMIN.email);
  assert.equal(me.is_superuser, true);
  assert.equal(me.verified, true);
  assert.deepEqual(
    me.roles.map((role: { name: string }) => role.name),
    ['Admin'],
  );
});

test('later starts change nothing: no id, time, hash or key', async (t) => {
  const database = await createEmptyDatabase(t);
  await (await database.start()).stop();
  const before = await allRows(database);
  for (const environment of [
    {},
    { FIRST_SUPERUSER_EMAIL: 'other@example.com', FIRST_SUPERUSER_PASSWORD: 'Thicket!Orbit47Jade' },
  ]) {
    const instance = await database.start(environment);
    const { madeSuperuser, madePassword, migrations } = await instance.service.prepared;
    assert.deepEqual([madeSuperuser, madePassword, migrations], [false, null, []]);
    await instance.stop();
    assert.deepEqual(await allRows(database), before);
  }
});

test('a start adds missing permissions to Admin, but does not undo changes of Manager and User', async (t) => {
  const database = await createEmptyDatabase(t);
  await (await database.start()).stop();
  await database.sql(`delete from role_permissions where role_id = (select id from roles where name = 'Manager')
    and permission_id in (select id from permissions where name in ('users.read', 'role.read'))`);
  await database.sql(`insert into role_permissions (role_id, permission_id)
    select roles.id, permissions.id from roles, permissions where roles.name = 'Manager' and permissions.name = 'role.delete'`);
  await database.sql(
    `delete from role_permissions where role_id = (select id from roles where name = 'User')`,
  );
  await database.sql(`update roles set description = 'Ours' where name = 'Manager'`);
  await database.sql(`delete from role_permissions where role_id = (select id from roles where name = 'Admin')
    and permission_id in (select id from permissions where name in ('users.delete', 'role.read'))`);
  await database.sql(`insert into permissions (id, name, group_id)
    select gen_random_uuid(), 'users.export', id from permission_groups where name = 'users'`);
  await database.start();
  const { Admin, Manager, User } = await rolesOf(database);
  const permissions = await permissionsIn(database);
  assert.ok(permissions.includes('users.export'));
  assert.deepEqual(Admin, permissions);
  const changed = MANAGER.filter((name) => !['users.read', 'role.read'].includes(name));
  assert.deepEqual(Manager, [...changed, 'role.delete'].sort());
  assert.equal(User, null);
  const [manager] = await database.sql(`select description from roles where name = 'Manager'`);
  assert.equal(manager!.description, 'Ours');
});

test('a missing permission is created again at a start', async (t) => {
  const database = await createEmptyDatabase(t);
  await (await database.start()).stop();
  const before = await permissionsIn(database);
  await database.sql(
    `delete from role_permissions where permission_id in (select id from permissions where name = 'role.read')`,
  );
  await database.sql(`delete from permissions where name = 'role.read'`);
  await database.start();
  assert.deepEqual(await permissionsIn(database), before);
  const { Admin } = await rolesOf(database);
  assert.deepEqual(Admin, before);
});

test("a new built-in permission takes over the name of a customer's record, and only the role Admin gets it", async (t) => {
  const database = await createEmptyDatabase(t);
  await (await database.start()).stop();
  // As before an upgrade: the customer has a permission of that name, in another spelling, and a role has it.
  await database.sql(
    `delete from role_permissions where permission_id in (select id from permissions where name = 'audit_log.read')`,
  );
  await database.sql(
    `update permissions set name = 'Audit_Log.read', is_builtin = false where name = 'audit_log.read'`,
  );
  await database.sql(`insert into permissions (id, name, group_id)
    select gen_random_uuid(), 'audit_log.read-custom', id from permission_groups where name = 'audit_log'`);
  await database.sql(`insert into role_permissions (role_id, permission_id)
    select r.id, p.id from roles r, permissions p where r.name = 'User' and p.name = 'Audit_Log.read'`);
  const instance = await database.start();
  const { Admin, User } = await rolesOf(database);
  assert.deepEqual(User, ['Audit_Log.read-custom-2', 'self.update_profile']);
  assert.ok(Admin?.includes('audit_log.read'));
  assert.deepEqual(
    await database.sql(
      `select name, is_builtin from permissions where name ilike 'audit\\_log.%' order by name collate "C"`,
    ),
    [
      { name: 'Audit_Log.read-custom-2', is_builtin: false },
      { name: 'audit_log.read', is_builtin: true },
      { name: 'audit_log.read-custom', is_builtin: false },
    ],
  );
  const entries = await database.sql(
    `select resource_type, details from audit_logs where action = 'permission_renamed'`,
  );
  assert.deepEqual(entries, [
    {
      resource_type: 'permission',
      details: { before: { name: 'Audit_Log.read' }, after: { name: 'Audit_Log.read-custom-2' } },
    },
  ]);
  assert.ok(instance.logLines.some((line) => line.includes('Audit_Log.read-custom-2')));
  await instance.stop();
  const before = await allRows(database);
  await (await database.start()).stop();
  assert.deepEqual(await allRows(database), before);
});

test('the start that adds access.check to a database creates the role Service, and no later one does', async (t) => {
  const database = await createEmptyDatabase(t);
  await (await database.start()).stop();
  const remove = async (): Promise<void> => {
    await database.sql(
      `delete from role_group_roles where role_id = (select id from roles where name = 'Service')`,
    );
    await database.sql(
      `delete from role_permissions where role_id = (select id from roles where name = 'Service')`,
    );
    await database.sql(`delete from roles where name = 'Service'`);
  };
  const removePermission = async (): Promise<void> => {
    const named = `(select id from permissions where name = 'access.check')`;
    await database.sql(`delete from role_permissions where permission_id = ${named}`);
    await database.sql(`delete from permissions where name = 'access.check'`);
  };
  await remove();
  await (await database.start()).stop();
  assert.equal('Service' in (await rolesOf(database)), false);

  // As before an upgrade.
  await removePermission();
  await (await database.start()).stop();
  assert.deepEqual((await rolesOf(database)).Service, ['access.check', 'access.watch', 'token.introspect']);

  // As before an upgrade, with a role of the customer that has the name.
  await removePermission();
  await database.sql(`update roles set name = 'SERVICE' where name = 'Service'`);
  await (await database.start()).stop();
  const { SERVICE, Service } = await rolesOf(database);
  assert.deepEqual([SERVICE, Service], [['access.watch', 'token.introspect'], undefined]);
});

test('every permission of the first start is marked as built-in', async (t) => {
  const database = await createEmptyDatabase(t);
  await (await database.start()).stop();
  assert.deepEqual(await database.sql('select name from permissions where not is_builtin'), []);
});

test('the first superuser is created once: a demotion, rename or new password is not undone', async (t) => {
  const database = await createEmptyDatabase(t);
  const first = await database.start();
  const client = await signIn(first, ADMIN);
  const changed = await client.post(paths.changePassword, {
    current_password: ADMIN.password,
    new_password: 'Thicket!Orbit47Jade',
  });
  assertAnswered(changed);
  await first.stop();
  await database.sql(`update users set email = 'root@example.com', is_superuser = false`);
  const second = await database.start();
  assert.deepEqual(await database.sql('select email, is_superuser from users'), [
    { email: 'root@example.com', is_superuser: false },
  ]);
  assertRefused(await second.client().login(ADMIN), 422, 'invalid_credentials');
  await signIn(second, { email: 'root@example.com', password: 'Thicket!Orbit47Jade' });
});

test('without FIRST_SUPERUSER_PASSWORD the start that creates the account generates a password and never logs it', async (t) => {
  const database = await createEmptyDatabase(t);
  const unset = { FIRST_SUPERUSER_PASSWORD: '', LOG_LEVEL: 'trace' };
  const instances = await Promise.all([database.start(unset), database.start(unset)]);
  const made = (await Promise.all(instances.map(({ service }) => service.prepared))).map(
    (one) => one.madePassword,
  );
  const [password, ...more] = made.filter((one) => one !== null);
  assert.equal(more.length, 0);
  assert.ok(password && password.length >= 24);
  for (const instance of instances) {
    await signIn(instance, { email: ADMIN.email, password });
    assert.ok(!instance.logLines.join().includes(password));
    assertRefused(await instance.client().login(ADMIN), 422, 'invalid_credentials');
  }
});
