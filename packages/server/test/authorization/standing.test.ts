// Who may change which account: every operation on an account, by callers who lack a permission of its owner and by
// callers who do not. An operation that changes what a user holds belongs in one of the two tables.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, newEmail, signIn, startTestService } from '@castellan/testing/harness';
import { makePermission, makePermissionGroup, permissionId } from '@castellan/testing/records/fixture';
import { countStatements } from '@castellan/testing/statements';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const BULK = '/api/v1/users/bulk-update';
const DESK = [
  'users.update',
  'user.update',
  'users.delete',
  'role.update',
  'session.revoke',
  'access.change',
];

// Permissions of a product, two of them with names similar to built-in ones.
const shop = await makePermissionGroup(admin, { name: 'shop' });
await makePermission(admin, { group_id: shop.id, name: 'refund' });
const near = await makePermissionGroup(admin, { name: 'users.desk' });
await makePermission(admin, { group_id: near.id, name: 'delete' });
const [own] = await service.sql<{ id: string }>("select id from permission_groups where name = 'users'");
await makePermission(admin, { group_id: own?.id as string, name: 'export' });
const PRODUCT = ['shop.refund', 'users.desk.delete', 'users.export'];

const { client: desk, person: deskPerson } = await signedInWith(service, ...DESK);
const { client: colleague } = await signedInWith(service, ...DESK, ...PRODUCT);
const { client: peer } = await signedInWith(service, ...DESK, ...PRODUCT, 'role.delete');

type Target = { id: string; role: string };
type State = { verified?: boolean; active?: boolean };
type Operation = {
  by: (client: TestClient, target: Target) => Promise<Answer>;
  found?: State;
  passes?: number;
};

const pathOf = ({ id }: Target, rest = ''): string => `/api/v1/users/${id}${rest}`;
const put =
  (fields: () => object): Operation['by'] =>
  (client, target) =>
    client.put(pathOf(target), fields());
const bulk =
  (updates: () => object): Operation['by'] =>
  (client, { id }) =>
    client.put(BULK, { user_ids: [id], updates: updates() });
const both = (name: string, fields: () => object, found: State = {}): [string, Operation][] => [
  [name, { by: put(fields), found }],
  [`${name} in bulk`, { by: bulk(fields), found }],
];
const empty = await addRole(service);

const takeovers = new Map<string, Operation>([
  ['a new password', { by: put(() => ({ password: 'Marble?Tundra61Fox' })) }],
  ...both('a new email', () => ({ email: newEmail() })),
  ...both('`verified: false`', () => ({ verified: false })),
  ...both('`verified: true`', () => ({ verified: true }), { verified: false }),
]);
const others = new Map<string, Operation>([
  ...both('a new name', () => ({ last_name: 'Curie' })),
  ...both('deactivation', () => ({ is_active: false })),
  ...both('reactivation', () => ({ is_active: true }), { active: false }),
  ...both('the removal of all roles', () => ({ role_id: [] })),
  ['other roles', { by: (client, target) => client.post(pathOf(target, '/roles'), [empty, target.role]) }],
  ['no roles', { by: (client, target) => client.post(pathOf(target, '/roles'), []) }],
  [
    'the removal of one role',
    { by: (client, target) => client.delete(pathOf(target, '/roles'), [target.role]) },
  ],
  [
    'a role that is added with other changes',
    {
      by: (client, target) =>
        client.post('/api/v1/access/changes', { changes: [{ user_id: target.id, add_role_ids: [empty] }] }),
    },
  ],
  ['the end of all sessions', { by: (client, target) => client.delete(pathOf(target, '/sessions')) }],
  [
    'the end of one session',
    { by: (client, target) => client.delete(pathOf(target, `/sessions/${target.id}`)), passes: 404 },
  ],
  [
    'the end of a session, whoever has it',
    { by: async (client, { id }) => client.delete(`/api/v1/sessions/${await addSession(id)}`) },
  ],
  [
    'the end of sessions by a filter',
    {
      by: async (client, { id }) => {
        await addSession(id);
        return client.delete(`/api/v1/sessions?user_id=${id}`);
      },
    },
  ],
  ['unlocking', { by: (client, target) => client.post(pathOf(target, '/unlock')) }],
  [
    'another verification mail',
    {
      by: (client, target) => client.post(pathOf(target, '/resend-verification')),
      found: { verified: false },
    },
  ],
  // Refused because of the roles, which are checked later.
  ['deletion', { by: (client, target) => client.delete(pathOf(target)), passes: 409 }],
]);

/** Inserts a live session of the user and returns its id. */
async function addSession(userId: string): Promise<string> {
  const id = randomUUID();
  await service.sql(
    "insert into sessions (id, user_id, expires_at) values ($1, $2, now() + interval '1 day')",
    [id, userId],
  );
  return id;
}

/** Creates a user who holds these permissions through one role. */
async function holderOf(permissions: readonly string[], state: State = {}): Promise<Target> {
  const role = await addRole(service, ...permissions);
  return { id: (await addPerson(service, { ...state, roles: [role] })).id, role };
}

async function assertEscalation(answer: Answer): Promise<void> {
  assert.deepEqual([answer.status, answer.body.code], [403, 'privilege_escalation'], answer.text);
  const [event] = await service.sql<{ details: { code: string } }>(
    "select details from audit_logs where action = 'permission_denied' and details->>'request_id' = $1",
    [answer.headers.get('x-request-id')],
  );
  assert.equal(event?.details.code, 'privilege_escalation', 'the attempt is in the audit log');
}

describe('an operation on an account', () => {
  for (const [name, { by, found, passes = 200 }] of [...takeovers, ...others])
    test(`${name}: an administrator's account requires all of their built-in permissions`, async () => {
      const target = await holderOf(['role.delete'], found);
      const before = await service.sql('select version, is_active from users where id = $1', [target.id]);
      for (const client of [desk, colleague]) await assertEscalation(await by(client, target));
      assert.deepEqual(
        await service.sql('select version, is_active from users where id = $1', [target.id]),
        before,
      );
      const answer = await by(peer, target);
      assert.equal(answer.status, passes, answer.text);
    });

  for (const [name, { by, found }] of takeovers)
    test(`${name}: a customer's account requires all of the customer's permissions`, async () => {
      for (const permission of PRODUCT) {
        const target = await holderOf([permission, 'self.update_profile'], found);
        await assertEscalation(await by(desk, target));
        const answer = await by(colleague, target);
        assert.equal(answer.status, 200, answer.text);
      }
    });

  for (const [name, { by, found, passes = 200 }] of others)
    test(`${name}: a customer's account requires only the permission of the operation`, async () => {
      const answer = await by(desk, await holderOf([...PRODUCT, 'self.update_profile'], found));
      assert.equal(answer.status, passes, answer.text);
    });

  for (const [name, { by, found, passes = 200 }] of [...takeovers, ...others])
    test(`${name}: a superuser's account requires a superuser`, async () => {
      const role = await addRole(service);
      const target = {
        id: (await addPerson(service, { superuser: true, roles: [role], ...found })).id,
        role,
      };
      const refused = await by(peer, target);
      assert.deepEqual([refused.status, refused.body.code], [403, 'superuser_required'], refused.text);
      const answer = await by(admin, target);
      assert.equal(answer.status, passes, answer.text);
    });

  test('a refused bulk update names the refused accounts and changes nothing', async () => {
    const [customer, boss] = [await holderOf(PRODUCT), await holderOf(['role.delete'])];
    const answer = await desk.put(BULK, {
      users: [
        { id: customer.id, first_name: 'Changed' },
        { id: boss.id, is_active: false },
      ],
    });
    await assertEscalation(answer);
    assert.deepEqual(
      answer.body.errors.map(({ field }: { field: string }) => field),
      ['users.1.is_active'],
    );
    const rows = await service.sql('select from users where id = $1 and first_name = $2', [
      customer.id,
      'Changed',
    ]);
    assert.equal(rows.length, 0);
  });

  test('the own account requires only the permission of the operation', async () => {
    const self = { id: deskPerson.id, role: empty };
    for (const act of [put(() => ({ first_name: 'Self' })), bulk(() => ({ last_name: 'Same' }))])
      assert.equal((await act(desk, self)).status, 200);
  });
});

/** Every request that changes the permissions of a role from `from` to `to`. */
const roleChanges: Record<
  string,
  (client: TestClient, role: string, to: string[], from: string[]) => Promise<Answer>
> = {
  'a replacement': (client, role, to) => client.post(`/api/v1/roles/${role}/permissions`, to),
  'an update': (client, role, to) => client.put(`/api/v1/roles/${role}`, { permission_ids: to }),
  'a request for many changes': (client, role, to, from) =>
    client.post('/api/v1/access/changes', {
      changes: [
        {
          role_id: role,
          add_permission_ids: to.filter((one) => !from.includes(one)),
          remove_permission_ids: from.filter((one) => !to.includes(one)),
        },
      ],
    }),
  'a removal': (client, role, to, from) =>
    client.delete(
      `/api/v1/roles/${role}/permissions`,
      from.filter((one) => !to.includes(one)),
    ),
  'a removal by path': (client, role, to, from) =>
    client.delete(`/api/v1/roles/${role}/permissions/${from.find((one) => !to.includes(one))}`),
};

describe("a change of a role's permissions", async () => {
  const refund = await permissionId(service, 'shop.refund');
  const removing = await permissionId(service, 'role.delete');

  for (const [name, change] of Object.entries(roleChanges)) {
    test(`${name}: cannot take a built-in permission from a user who holds more of them than the caller`, async () => {
      const { role } = await holderOf(['role.delete', 'shop.refund']);
      await assertEscalation(await change(colleague, role, [refund], [refund, removing]));
      assert.equal((await change(peer, role, [refund], [refund, removing])).status, 200);
      const unheld = await addRole(service, 'role.delete', 'shop.refund');
      assert.equal((await change(desk, unheld, [refund], [refund, removing])).status, 200);
    });

    test(`${name}: cannot take a product's permission from an administrator, but can from customers`, async () => {
      const { role } = await holderOf(['shop.refund']);
      assert.equal((await change(desk, role, [], [refund])).status, 200);
      const shared = await addRole(service, 'shop.refund');
      await addPerson(service, { roles: [shared] });
      await addPerson(service, { roles: [shared, await addRole(service, 'role.delete')] });
      await assertEscalation(await change(desk, shared, [], [refund]));
      assert.equal((await change(peer, shared, [], [refund])).status, 200);
    });
  }

  test('it cannot grant an administrator anything without their permissions', async () => {
    const role = await addRole(service);
    await addPerson(service, { roles: [role, await addRole(service, 'role.delete')] });
    await assertEscalation(await colleague.post(`/api/v1/roles/${role}/permissions`, [refund]));
    assert.equal((await peer.post(`/api/v1/roles/${role}/permissions`, [refund])).status, 200);
  });

  test('it is allowed if the administrators hold the same through another role, or are superusers', async () => {
    const role = await addRole(service, 'shop.refund');
    await addPerson(service, { roles: [role, await addRole(service, 'role.delete', 'shop.refund')] });
    await addPerson(service, { superuser: true, roles: [role] });
    assert.equal((await desk.post(`/api/v1/roles/${role}/permissions`, [])).status, 200);
  });

  test('an administrator may reduce the own role', async () => {
    const { client, person } = await signedInWith(service, 'role.update', 'role.delete');
    const [role] = await service.sql<{ role_id: string }>(
      'select role_id from user_roles where user_id = $1',
      [person.id],
    );
    const path = `/api/v1/roles/${role?.role_id}/permissions/${removing}`;
    assert.equal((await client.delete(path)).status, 200);
  });

  test('it costs the same statements for one holder and for many', async () => {
    const run = async (count: number): Promise<number> => {
      const role = await addRole(service, 'shop.refund');
      for (let made = 0; made < count; made += 1) await addPerson(service, { roles: [role] });
      const path = `/api/v1/roles/${role}/permissions`;
      return countStatements(service, () => desk.post(path, []));
    };
    await run(1);
    assert.equal(await run(30), await run(1));
  });

  test('an unknown role is still 404', async () => {
    assert.equal((await desk.post(`/api/v1/roles/${randomUUID()}/permissions`, [])).status, 404);
  });
});
