// Previews of changes of access: who gains and who loses what.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { makePermission, makePermissionGroup, newName } from '@castellan/testing/records/fixture';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { type Call, impactOf as compare } from './oracle.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);

const group = await makePermissionGroup(admin, { name: 'orders' });
const ids = new Map<string, string>();
for (const name of ['read', 'ship', 'refund'])
  ids.set(name, (await makePermission(admin, { group_id: group.id, name })).id);
const idOf = (name: string): string => ids.get(name) ?? '';
const READ = 'orders.read';
const SHIP = 'orders.ship';

const impactOf = (call: Call) => compare(service, admin, call);

const setPermissions = (role: string, names: string[]): Call => ({
  method: 'POST',
  path: `/roles/${role}/permissions`,
  json: names.map(idOf),
});

test('a permission that another role also gives is neither gained nor lost', async () => {
  const [one, two] = [await addRole(service, READ), await addRole(service, READ)];
  const both = await addPerson(service, { roles: [one, two], firstName: 'Both' });
  const only = await addPerson(service, { roles: [one], firstName: 'Only' });
  const lost = await impactOf(setPermissions(one, ['ship']));
  assert.deepEqual([lost.gaining, lost.losing], [2, 1]);
  assert.deepEqual(lost.gained, [{ permission: SHIP, subjects: 2 }]);
  assert.deepEqual(lost.lost, [{ permission: READ, subjects: 1 }]);
  assert.deepEqual(
    lost.subjects.map((subject: { id: string; lost: string[] }) => [subject.id, subject.lost]),
    [
      [both.id, []],
      [only.id, [READ]],
    ],
  );
  const gained = await impactOf(setPermissions(one, ['read', 'ship']));
  assert.deepEqual([gained.gaining, gained.losing], [1, 0], 'the other role gives it to one of them already');
});

test('superusers neither gain nor lose by roles, and inactive subjects are counted apart only', async () => {
  const role = await addRole(service);
  await addPerson(service, { roles: [role], superuser: true });
  await addPerson(service, { roles: [role], active: false });
  await addPerson(service, { roles: [role] });
  await addServiceAccount(service, { roles: [role], active: false });
  const account = await addServiceAccount(service, { roles: [role] });
  const impact = await impactOf(setPermissions(role, ['read']));
  assert.deepEqual([impact.gaining, impact.losing, impact.inactive, impact.more], [2, 0, 2, 0]);
  assert.deepEqual(impact.gained, [{ permission: READ, subjects: 2 }]);
  const told = impact.subjects.find((subject: { id: string }) => subject.id === account.id);
  assert.deepEqual(told, {
    type: 'service_account',
    id: account.id,
    name: account.name,
    gained: [READ],
    lost: [],
  });
});

test('a role without holders, and a change that changes nothing, affect nobody', async () => {
  const none = { gaining: 0, losing: 0, gained: [], lost: [], subjects: [], more: 0, inactive: 0 };
  const role = await addRole(service, READ);
  assert.deepEqual(await impactOf(setPermissions(role, ['ship'])), none);
  await addPerson(service, { roles: [role] });
  assert.deepEqual(await impactOf(setPermissions(role, ['ship'])), none);
  const empty = await addRole(service);
  assert.deepEqual(await impactOf({ method: 'DELETE', path: `/roles/${empty}` }), none);
  assert.deepEqual(
    await impactOf({ method: 'PUT', path: `/roles/${role}`, json: { description: 'x' } }),
    none,
  );
});

test('every write of the permissions of a role has a preview', async () => {
  const role = await addRole(service);
  await addPerson(service, { roles: [role] });
  const path = `/roles/${role}`;
  const gaining = await impactOf({
    method: 'PUT',
    path,
    json: { name: newName(), permission_ids: [idOf('read'), idOf('ship'), idOf('refund')] },
  });
  assert.equal(gaining.gained.length, 3);
  for (const call of [
    { method: 'DELETE', path: `${path}/permissions/${idOf('read')}` },
    { method: 'DELETE', path: `${path}/permissions`, json: { permission_ids: [idOf('ship')] } },
    { method: 'DELETE', path: `${path}/permissions?permission_ids=${idOf('refund')}` },
  ])
    assert.deepEqual([(await impactOf(call)).losing], [1], call.path);
  await impactOf(setPermissions(role, ['read']));
});

test('every write of the roles and the state of a user has a preview', async () => {
  const [read, ship] = [await addRole(service, READ), await addRole(service, SHIP)];
  const person = await addPerson(service, { roles: [read] });
  const path = `/users/${person.id}`;
  const roles = await impactOf({ method: 'POST', path: `${path}/roles`, json: [ship] });
  assert.deepEqual([roles.gained[0].permission, roles.lost[0].permission], [SHIP, READ]);
  const fewer = await impactOf({ method: 'DELETE', path: `${path}/roles`, json: { role_ids: [ship] } });
  assert.deepEqual([fewer.gaining, fewer.losing], [0, 1]);
  const again = await impactOf({ method: 'PUT', path, json: { role_id: [read], first_name: 'Grace' } });
  assert.equal(again.gaining, 1);
  const off = await impactOf({ method: 'PUT', path, json: { is_active: false, role_id: [read, ship] } });
  assert.deepEqual([off.lost, off.gained], [[{ permission: READ, subjects: 1 }], []]);
  const asleep = await impactOf({ method: 'PUT', path, json: { role_id: [] } });
  assert.deepEqual([asleep.losing, asleep.inactive], [0, 1]);
  const on = await impactOf({ method: 'PUT', path, json: { is_active: true, is_superuser: true } });
  const [{ total } = { total: 0 }] = await service.sql<{ total: number }>(
    'select count(*)::int as total from permissions',
  );
  assert.equal(on.gained.length, total, 'a superuser holds everything');
  const demoted = await impactOf({ method: 'PUT', path, json: { is_superuser: false, role_id: [read] } });
  assert.deepEqual([demoted.lost.length, demoted.gained.length], [total - 1, 0]);
  const bulk = await impactOf({
    method: 'PUT',
    path: '/users/bulk-update',
    json: { user_ids: [person.id], updates: { role_id: [], last_name: 'Hopper' } },
  });
  assert.equal(bulk.losing, 1);
  await impactOf({ method: 'PUT', path, json: { is_superuser: true } });
  const deleted = await impactOf({ method: 'DELETE', path });
  assert.deepEqual([deleted.losing, deleted.lost.length], [1, total]);
});

test('the writes of a service account have a preview', async () => {
  const account = await addServiceAccount(service, { permissions: [READ] });
  const ship = await addRole(service, SHIP);
  const path = `/service-accounts/${account.id}`;
  const roles = await impactOf({ method: 'PUT', path, json: { role_ids: [ship], description: 'x' } });
  assert.deepEqual([roles.gaining, roles.losing], [1, 1]);
  const off = await impactOf({ method: 'PUT', path, json: { is_active: false } });
  assert.deepEqual(off.lost, [{ permission: SHIP, subjects: 1 }]);
  const on = await impactOf({ method: 'PUT', path, json: { is_active: true } });
  assert.deepEqual(on.gained, [{ permission: SHIP, subjects: 1 }]);
  const deleted = await impactOf({ method: 'DELETE', path });
  assert.deepEqual(deleted.lost, [{ permission: SHIP, subjects: 1 }]);
});

test('the first hundred subjects are listed by name, whatever their type', async () => {
  const role = await addRole(service);
  await service.sql(
    `with made as (
       insert into users (id, email, first_name, last_name, verified)
       select gen_random_uuid(), 'listed' || n || '@example.com', (array['b', 'A', 'c'])[n % 3 + 1] || n % 7, '', true
       from generate_series(1, 90) n returning id)
     insert into user_roles (user_id, role_id) select id, $1 from made`,
    [role],
  );
  for (const name of ['a0 service', 'B1 service', ...Array.from({ length: 18 }, (_, n) => `d${n}`)])
    await addServiceAccount(service, { name, roles: [role] });
  const impact = await impactOf(setPermissions(role, ['read']));
  assert.deepEqual([impact.subjects.length, impact.more, impact.gaining], [100, 10, 110]);

  const path = `/api/v1/roles/${role}/permissions?dry_run=true&subjects=110`;
  const namedTo = async (permissions: string[]): Promise<number[]> => {
    const person = await addPerson(service, { roles: [await addRole(service, ...permissions)] });
    const { body } = await (await signIn(service, person)).post(path, [idOf('ship')]);
    const { gaining, more, subjects } = body.data.impact;
    return [gaining, subjects.length, more];
  };
  assert.deepEqual(await namedTo(['role.update', READ, SHIP]), [110, 0, 110], 'numbers only');
  assert.deepEqual(await namedTo(['role.update', READ, SHIP, 'users.read']), [110, 100, 10]);
  assert.deepEqual(await namedTo(['role.update', READ, SHIP, 'access.explain']), [110, 110, 0]);
});

test('a preview names nobody to a key that is narrowed to less than users.read and access.explain', async () => {
  const role = await addRole(service, READ);
  await addPerson(service, { roles: [role] });
  const account = await addServiceAccount(service, { permissions: ['role.update', READ, 'users.read'] });
  const impactFor = async (permissions: string[]) => {
    const { key } = await addApiKey(service, account.id, { narrowedTo: permissions });
    const path = `/api/v1/roles/${role}/permissions/${idOf('read')}?dry_run=true`;
    const { body } = await service
      .client()
      .request('DELETE', path, { headers: { authorization: `Bearer ${key}` } });
    return [body.data.impact.losing, body.data.impact.subjects.length, body.data.impact.more];
  };
  assert.deepEqual(await impactFor(['role.update', READ]), [1, 0, 1]);
  assert.deepEqual(await impactFor(['role.update', READ, 'users.read']), [1, 1, 0]);
});

test('a preview names as many subjects as it is asked for, and counts the others', async () => {
  const role = await addRole(service, READ);
  for (const firstName of ['Cleo', 'Ada', 'Bob']) await addPerson(service, { roles: [role], firstName });
  const path = `/api/v1/roles/${role}/permissions/${idOf('read')}?dry_run=true`;
  const { body } = await admin.delete(`${path}&subjects=2`);
  assert.deepEqual(
    body.data.impact.subjects.map(({ name }: { name: string }) => name.split(' ')[0]),
    ['Ada', 'Bob'],
  );
  assert.deepEqual([body.data.impact.losing, body.data.impact.more], [3, 1]);
  for (const wrong of ['0', '10001', 'all'])
    assert.equal((await admin.delete(`${path}&subjects=${wrong}`)).status, 422, wrong);
});
