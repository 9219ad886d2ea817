// POST /access/changes: every rule of the single operations, all or nothing, and errors that name the items.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import {
  linkedIds,
  makePermission,
  makePermissionGroup,
  permissionId,
} from '@castellan/testing/records/fixture';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole, eventsOf, roleNamed, signedInWith } from '@castellan/testing/users/people';
import { impactOf, stateOf } from './oracle.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const shop = await makePermissionGroup(admin, { name: 'shop' });
const refund: string = (await makePermission(admin, { group_id: shop.id, name: 'refund' })).id;
const ship: string = (await makePermission(admin, { group_id: shop.id, name: 'ship' })).id;
const ITEMS = ['access.change', 'role.update', 'user.update', 'service_account.update'];
const { client: desk, person: deskPerson } = await signedInWith(service, ...ITEMS);

const change = (client: TestClient, ...changes: object[]): Promise<Answer> =>
  client.post('/api/v1/access/changes', { changes });
const permissionsOf = async (role: string) =>
  (await linkedIds(service, 'role_permissions', ['role_id', 'permission_id'], role)).sort();
const rolesOf = async (user: string): Promise<string[]> =>
  (
    await service.sql<{ role_id: string }>('select role_id from user_roles where user_id = $1 order by 1', [
      user,
    ])
  ).map((row) => row.role_id);

/** Asserts the refusal with the fields of its errors, and that nothing changed. */
async function assertRefused(
  [client, ...changes]: [TestClient, ...object[]],
  [status, code, ...fields]: [number, string, ...string[]],
): Promise<Answer> {
  const state = await stateOf(service);
  const answer = await change(client, ...changes);
  assert.deepEqual([answer.status, answer.body.code], [status, code], answer.text);
  const named = (answer.body.errors ?? []).map(({ field }: { field: string }) => field);
  assert.deepEqual(named, fields, answer.text);
  assert.deepEqual(await stateOf(service), state);
  return answer;
}

const roleAt = async (id: string) => service.sql('select version from roles where id = $1', [id]);

test('a role is deleted together with what stands in the way, and its preview says who loses what', async () => {
  const role = await addRole(service, 'shop.refund');
  const person = await addPerson(service, { roles: [role] });
  const account = await addServiceAccount(service, { roles: [role] });
  const changes = [
    { role_id: role, remove_permission_ids: [refund], delete: true, version: 1 },
    { user_id: person.id, remove_role_ids: [role] },
    { service_account_id: account.id, remove_role_ids: [role] },
  ];
  const previewed = await admin.post('/api/v1/access/changes?dry_run=true', { changes });
  assert.equal(previewed.body.data.impact.losing, 2, previewed.text);
  assert.equal((await roleAt(role)).length, 1);
  const answer = await change(admin, ...changes);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.body.data.items[0], { role_id: role, version: 2 });
  assert.deepEqual(await roleAt(role), []);
  assert.deepEqual(await rolesOf(person.id), []);
  const events = await eventsOf(service, answer);
  assert.deepEqual(events.map(({ action }) => action).sort(), [
    'role_deleted',
    'role_permissions_changed',
    'service_account_roles_changed',
    'user_roles_changed',
  ]);
  assert.equal(new Set(events.map(({ details }) => details.change_id)).size, 1);
});

test('a role that somebody else has given since is not deleted, and nobody loses it', async () => {
  const role = await addRole(service, 'shop.refund');
  const person = await addPerson(service, { roles: [role] });
  await addPerson(service, { roles: [role] });
  const removal = { user_id: person.id, remove_role_ids: [role] };
  const deletion = { role_id: role, remove_permission_ids: [refund], delete: true };
  const refused = await assertRefused([admin, removal, deletion], [409, 'role_in_use', 'changes.1.role_id']);
  assert.equal(refused.body.errors[0].message, 'has 0 permissions, 1 user and 0 service accounts');
  const previewed = await admin.post('/api/v1/access/changes?dry_run=true', { changes: [removal, deletion] });
  assert.equal(previewed.body.data.would_be_refused.code, 'role_in_use');
  await assertRefused([admin, { role_id: role, delete: true }], [409, 'role_in_use', 'changes.0.role_id']);
});

test('a deletion needs role.delete, names a role, and spares system roles', async () => {
  const role = await addRole(service);
  const denied = await change(desk, { role_id: role, delete: true });
  assert.deepEqual([denied.status, denied.body.required_permission], [403, 'role.delete']);
  const { client: cleaner } = await signedInWith(service, 'access.change', 'role.delete');
  const other = await addRole(service, 'shop.refund');
  const both = { role_id: other, remove_permission_ids: [refund], delete: true };
  assert.equal((await change(cleaner, both)).body.required_permission, 'role.update');
  assert.equal((await change(cleaner, { role_id: role, delete: true })).status, 200);
  await assertRefused(
    [admin, { user_id: deskPerson.id, delete: true }],
    [422, 'validation_failed', 'changes.0.delete'],
  );
  await assertRefused(
    [admin, { role_id: await roleNamed(service, 'Admin'), delete: true }],
    [403, 'system_role', 'changes.0.role_id'],
  );
  assert.equal((await change(admin, { role_id: other, delete: false })).status, 200);
  assert.equal((await roleAt(other)).length, 1);
});

test('roles, users and service accounts change together, and the answer has their new versions', async () => {
  const role = await addRole(service, 'shop.refund');
  const other = await addRole(service);
  const person = await addPerson(service, { roles: [other] });
  const account = await addServiceAccount(service, { roles: [other] });
  const answer = await change(
    admin,
    { user_id: person.id.toUpperCase(), add_role_ids: [role], remove_role_ids: [other], version: 1 },
    {
      role_id: role,
      add_permission_ids: [ship, ship.toUpperCase()],
      remove_permission_ids: [refund],
      version: 1,
    },
    { service_account_id: account.id, add_role_ids: [role, other], version: 1 },
    { role_id: other },
  );
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.body.data.change_id, /^[0-9a-f-]{36}$/);
  assert.deepEqual(answer.body.data.items, [
    { user_id: person.id, version: 2 },
    { role_id: role, version: 2 },
    { service_account_id: account.id, version: 2 },
    { role_id: other, version: 1 },
  ]);
  assert.deepEqual(await permissionsOf(role), [ship]);
  assert.deepEqual(await rolesOf(person.id), [role]);
  const shown = await admin.get(`/api/v1/service-accounts/${account.id}`);
  assert.deepEqual(shown.body.data.permissions, ['shop.ship']);
  assert.equal(shown.headers.get('etag'), '"2"');
});

test('each changed record has the audit entry of the single operation, with one change_id', async () => {
  const role = await addRole(service, 'shop.refund');
  const person = await addPerson(service);
  const account = await addServiceAccount(service);
  const unchanged = await addPerson(service, { roles: [role] });
  const answer = await change(
    admin,
    { role_id: role, add_permission_ids: [ship], remove_permission_ids: [refund] },
    { user_id: person.id, add_role_ids: [role] },
    { service_account_id: account.id, add_role_ids: [role] },
    { user_id: unchanged.id, add_role_ids: [role] },
  );
  const { change_id } = answer.body.data;
  const name = `Role ${role}`;
  const events = (await eventsOf(service, answer)).map(({ action, resource_id, details }) => {
    const { address: _, request_id: __, ...rest } = details;
    return { action, resource_id, ...rest };
  });
  const expected = [
    {
      action: 'user_roles_changed',
      resource_id: person.id,
      change_id,
      before: { roles: [] },
      after: { roles: [name] },
    },
    {
      action: 'service_account_roles_changed',
      resource_id: account.id,
      change_id,
      before: { roles: [] },
      after: { roles: [name] },
    },
    {
      action: 'role_permissions_changed',
      resource_id: role,
      change_id,
      before: { permissions: ['shop.refund'] },
      after: { permissions: ['shop.ship'] },
    },
  ];
  assert.deepEqual(
    events.toSorted((a, b) => (a.action < b.action ? -1 : 1)),
    expected.toSorted((a, b) => (a.action < b.action ? -1 : 1)),
  );
  const again = await change(admin, { user_id: person.id, add_role_ids: [role] });
  assert.equal(again.status, 200);
  assert.deepEqual(await eventsOf(service, again), [], 'a request that changes nothing is no change');
});

test('the shape of each item is checked before any record is read', async () => {
  const role = randomUUID();
  const user_id = randomUUID();
  const shapes: [object[], ...string[]][] = [
    [[{}], 'changes.0'],
    [[{ role_id: role }, { role_id: role, user_id }], 'changes.1'],
    [[{ role_id: role }, { role_id: role.toUpperCase() }], 'changes.1.role_id'],
    [[{ user_id }, { role_id: role }, { user_id }], 'changes.2.user_id'],
    [[{ role_id: role, add_role_ids: [] }], 'changes.0.add_role_ids'],
    [[{ user_id, remove_permission_ids: [ship] }], 'changes.0.remove_permission_ids'],
    [[{ service_account_id: user_id, add_permission_ids: [] }], 'changes.0.add_permission_ids'],
    [
      [{ role_id: role, add_permission_ids: [ship], remove_permission_ids: [ship.toUpperCase()] }],
      'changes.0.add_permission_ids',
    ],
    [[{ user_id, add_role_ids: [role], remove_role_ids: [role] }, {}], 'changes.0.add_role_ids', 'changes.1'],
    [[{ user_id, version: 'x' }], 'changes.0.version'],
  ];
  for (const [changes, ...fields] of shapes)
    await assertRefused([admin, ...changes], [422, 'validation_failed', ...fields]);
  for (const body of [{}, { changes: [] }, { changes: Array(1_001).fill({ role_id: role }) }])
    assert.equal((await admin.post('/api/v1/access/changes', body)).status, 422);
  await assertRefused([admin, { user_id: 'none' }], [400, 'invalid_id', 'changes.0.user_id']);
});

test('each kind of item requires the permission of the single operation', async () => {
  const role = await addRole(service);
  const person = await addPerson(service);
  const account = await addServiceAccount(service);
  const items = [{ role_id: role }, { user_id: person.id }, { service_account_id: account.id }];
  for (const [at, permission] of ['role.update', 'user.update', 'service_account.update'].entries()) {
    const { client } = await signedInWith(service, ...ITEMS.filter((one) => one !== permission));
    const answer = await assertRefused([client, ...items], [403, 'permission_denied']);
    assert.equal(answer.body.required_permission, permission);
    assert.ok(answer.body.detail.includes(permission), 'the sentence names it too');
    const [event] = await eventsOf(service, answer);
    assert.deepEqual([event?.action, event?.details.permission], ['permission_denied', permission]);
    assert.equal((await change(client, ...items.filter((_, index) => index !== at))).status, 200);
    const previewed = await client.post('/api/v1/access/changes?dry_run=true', { changes: items });
    assert.deepEqual([previewed.status, previewed.body.required_permission], [403, permission]);
  }
  const { client } = await signedInWith(service, ...ITEMS.slice(1));
  await assertRefused([client, ...items], [403, 'permission_denied']);
});

test('a service account can send changes', async () => {
  const robot = service.client();
  const account = await addServiceAccount(service, { permissions: [...ITEMS, 'shop.ship'] });
  robot.accessToken = account.key;
  const role = await addRole(service);
  const other = await addServiceAccount(service);
  const answer = await change(
    robot,
    { role_id: role, add_permission_ids: [ship] },
    { service_account_id: other.id, add_role_ids: [role] },
    { service_account_id: account.id, add_role_ids: [role] },
  );
  assert.equal(answer.status, 200, answer.text);
  await assertRefused(
    [robot, { role_id: role, add_permission_ids: [refund] }],
    [403, 'privilege_escalation', 'changes.0.add_permission_ids'],
  );
});

test('an unknown record or id is 404 and named with its item', async () => {
  const role = await addRole(service);
  const { id: user_id } = await addPerson(service);
  const { id: service_account_id } = await addServiceAccount(service);
  const unknown = randomUUID();
  const known = { role_id: role, add_permission_ids: [ship] };
  const cases: [object, string, string][] = [
    [{ role_id: unknown }, 'role_not_found', 'changes.1.role_id'],
    [{ user_id: unknown }, 'user_not_found', 'changes.1.user_id'],
    [{ service_account_id: unknown }, 'service_account_not_found', 'changes.1.service_account_id'],
    [{ user_id, add_role_ids: [role, unknown] }, 'role_not_found', 'changes.1.add_role_ids'],
    [{ user_id, remove_role_ids: [unknown] }, 'role_not_found', 'changes.1.remove_role_ids'],
    [{ service_account_id, add_role_ids: [unknown] }, 'role_not_found', 'changes.1.add_role_ids'],
    // The id of another kind of record.
    [{ user_id: service_account_id }, 'user_not_found', 'changes.1.user_id'],
  ];
  for (const [item, code, field] of cases) {
    const answer = await assertRefused([admin, known, item], [404, code, field]);
    assert.ok(answer.body.detail.includes(answer.body.errors[0].message.split(' ')[0]));
  }
  for (const field of ['add_permission_ids', 'remove_permission_ids'])
    await assertRefused(
      [admin, { user_id }, { role_id: role, [field]: [ship, unknown] }],
      [404, 'permission_not_found', `changes.1.${field}`],
    );
});

test('an old version is 412 and names every such item; nothing changes', async () => {
  const [one, two] = [await addRole(service), await addRole(service)];
  const person = await addPerson(service);
  await assertRefused(
    [
      admin,
      { role_id: one, add_permission_ids: [ship], version: 1 },
      { role_id: two, add_permission_ids: [ship], version: 0 },
      { user_id: person.id, add_role_ids: [one], version: 3 },
    ],
    [412, 'precondition_failed', 'changes.1.version', 'changes.2.version'],
  );
});

test('a system role cannot change, whatever the item names', async () => {
  const role_id = await roleNamed(service, 'Admin');
  const other = await addRole(service);
  for (const list of ['add_permission_ids', 'remove_permission_ids'])
    await assertRefused(
      [admin, { role_id: other, add_permission_ids: [ship] }, { role_id, [list]: [refund] }],
      [403, 'system_role', 'changes.1.role_id'],
    );
  assert.equal((await change(admin, { role_id })).status, 200);
});

test('nobody grants what they do not hold, directly or through a role', async () => {
  const own = await addRole(service, 'role.update');
  const much = await addRole(service, 'shop.refund');
  const person = await addPerson(service);
  const account = await addServiceAccount(service);
  await assertRefused(
    [desk, { user_id: person.id, add_role_ids: [own] }, { role_id: own, add_permission_ids: [refund] }],
    [403, 'privilege_escalation', 'changes.1.add_permission_ids'],
  );
  await assertRefused(
    [desk, { user_id: person.id, add_role_ids: [own, much] }],
    [403, 'privilege_escalation', 'changes.0.add_role_ids'],
  );
  await assertRefused(
    [
      desk,
      { user_id: person.id, add_role_ids: [own] },
      { service_account_id: account.id, add_role_ids: [much] },
    ],
    [403, 'privilege_escalation', 'changes.1.add_role_ids'],
  );
  // Their own account gains nothing within the request either.
  await assertRefused(
    [desk, { user_id: deskPerson.id, add_role_ids: [much] }, { role_id: own, add_permission_ids: [refund] }],
    [403, 'privilege_escalation', 'changes.1.add_permission_ids'],
  );
});

test('what a role loses by the same request still counts, and so does what it gains', async () => {
  const person = await addPerson(service);
  const losing = await addRole(service, 'shop.refund');
  const lost = await assertRefused(
    [
      desk,
      { role_id: losing, remove_permission_ids: [refund] },
      { user_id: person.id, add_role_ids: [losing] },
    ],
    [403, 'privilege_escalation', 'changes.1.add_role_ids'],
  );
  assert.match(lost.body.detail, /shop\.refund/);
  const gaining = await addRole(service);
  await assertRefused(
    [
      desk,
      { user_id: person.id, add_role_ids: [gaining] },
      { role_id: gaining, add_permission_ids: [refund] },
    ],
    [403, 'privilege_escalation', 'changes.1.add_permission_ids'],
  );
});

test('the accounts of superusers, and of holders of more built-in permissions, are protected', async () => {
  const role = await addRole(service);
  const boss = await addPerson(service, { superuser: true });
  const strong = await addRole(service, 'audit_log.read');
  const chief = await addPerson(service, { roles: [strong] });
  const robot = await addServiceAccount(service, { permissions: ['audit_log.read'] });
  await assertRefused(
    [desk, { user_id: boss.id, add_role_ids: [role] }],
    [403, 'superuser_required', 'changes.0.user_id'],
  );
  await assertRefused(
    [desk, { user_id: chief.id, remove_role_ids: [strong] }],
    [403, 'privilege_escalation', 'changes.0.remove_role_ids'],
  );
  await assertRefused(
    [desk, { service_account_id: robot.id, add_role_ids: [role] }],
    [403, 'privilege_escalation', 'changes.0.add_role_ids'],
  );
  assert.equal(
    (await change(desk, { user_id: chief.id }, { user_id: boss.id })).status,
    200,
    'no change at all',
  );
});

test('holders with more built-in permissions are protected from the sum of all items', async () => {
  const strong = await addRole(service, 'audit_log.read');
  const [one, two, spare] = [
    await addRole(service, 'role.update'),
    await addRole(service, 'role.update'),
    await addRole(service),
  ];
  await addPerson(service, { roles: [strong, one, two, spare] });
  const updating = await permissionId(service, 'role.update');
  const without = (role_id: string) => ({ role_id, remove_permission_ids: [updating] });
  assert.equal((await change(desk, without(one))).status, 200, 'the other role still gives it');
  assert.equal((await change(desk, { role_id: one, add_permission_ids: [updating] })).status, 200);
  const both = await change(desk, without(one), without(two));
  assert.deepEqual([both.status, both.body.code], [403, 'privilege_escalation'], both.text);
  assert.match(both.body.errors[0].field, /^changes\.[01]\.role_id$/);
  const moved = await change(desk, without(one), without(two), {
    role_id: spare,
    add_permission_ids: [updating],
  });
  assert.equal(moved.status, 200, moved.text);
  await assertRefused([desk, without(spare)], [403, 'privilege_escalation', 'changes.0.role_id']);
});

test('the union of several changes is previewed as one', async () => {
  const [one, two] = [await addRole(service, 'shop.refund'), await addRole(service)];
  const person = await addPerson(service, { roles: [one, two], firstName: 'Moved' });
  const other = await addPerson(service, { firstName: 'Other' });
  const account = await addServiceAccount(service, { roles: [one] });
  const moved = await impactOf(service, admin, {
    method: 'POST',
    path: '/access/changes',
    json: {
      changes: [
        { role_id: one, remove_permission_ids: [refund] },
        { role_id: two, add_permission_ids: [refund] },
        { user_id: other.id, add_role_ids: [two] },
        { service_account_id: account.id, add_role_ids: [two], remove_role_ids: [one] },
      ],
    },
  });
  const named = moved.subjects.map((subject: { id: string }) => subject.id);
  assert.deepEqual(named, [other.id], 'the others have the permission before and after');
  assert.ok(!named.includes(person.id));
});
