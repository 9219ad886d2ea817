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
  'second_factor.reset',
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
const { client: colleague } = await signedInWith(service, ...DESK, ...PRODUCT, 'self.update_profile');
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
// The target has one role with everything, so each of these takes all of it.
const takings = new Map<string, Operation>([
  ...both('the removal of all roles', () => ({ role_id: [] })),
  ['no roles', { by: (client, target) => client.post(pathOf(target, '/roles'), []) }],
  [
    'the removal of one role',
    { by: (client, target) => client.delete(pathOf(target, '/roles'), [target.role]) },
  ],
  [
    'the removal of one role with other changes',
    {
      by: (client, { id, role }) =>
        client.post('/api/v1/access/changes', { changes: [{ user_id: id, remove_role_ids: [role] }] }),
    },
  ],
  [
    'another role instead',
    { by: (client, { id }) => client.post(pathOf({ id, role: empty }, '/roles'), [empty]) },
  ],
  [
    'another role instead, with other changes',
    {
      by: (client, { id, role }) =>
        client.post('/api/v1/access/changes', {
          changes: [{ user_id: id, add_role_ids: [empty], remove_role_ids: [role] }],
        }),
    },
  ],
]);
const others = new Map<string, Operation>([
  ...both('a new name', () => ({ last_name: 'Curie' })),
  ...both('deactivation', () => ({ is_active: false })),
  ...both('reactivation', () => ({ is_active: true }), { active: false }),
  ['other roles', { by: (client, target) => client.post(pathOf(target, '/roles'), [empty, target.role]) }],
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
  // Refused because there is no factor, which is checked later.
  [
    'a reset of the second factors',
    { by: (client, target) => client.post(pathOf(target, '/factors/reset'), {}), passes: 409 },
  ],
  ['forgotten devices', { by: (client, target) => client.delete(pathOf(target, '/devices')) }],
  ['unlocking', { by: (client, target) => client.post(pathOf(target, '/unlock')) }],
  [
    'another verification mail',
    {
      by: (client, target) => client.post(pathOf(target, '/resend-verification')),
      found: { verified: false },
    },
  ],
  // Refused because the account is not invited, which is checked later.
  [
    'another mail of an invitation',
    { by: (client, target) => client.post(pathOf(target, '/invitation')), passes: 409 },
  ],
  [
    'the withdrawal of an invitation',
    { by: (client, target) => client.delete(pathOf(target, '/invitation')), passes: 409 },
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

const assertRefused = (answer: Answer): void =>
  assert.deepEqual([answer.status, answer.body.code], [403, 'privilege_escalation'], answer.text);

/** Only for the first ten refusals of one caller: the audit log counts further ones. */
async function assertEscalation(answer: Answer): Promise<void> {
  assertRefused(answer);
  const [event] = await service.sql<{ details: { code: string } }>(
    "select details from audit_logs where action = 'permission_denied' and details->>'request_id' = $1",
    [answer.headers.get('x-request-id')],
  );
  assert.equal(event?.details.code, 'privilege_escalation', 'the attempt is in the audit log');
}

describe('an operation on an account', () => {
  for (const [name, { by, found, passes = 200 }] of [...takeovers, ...takings, ...others])
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

  for (const [name, { by, found }] of [...takeovers, ...takings])
    test(`${name}: a customer's account requires all of the customer's permissions`, async () => {
      for (const permission of PRODUCT) {
        const target = await holderOf([permission, 'self.update_profile'], found);
        assertRefused(await by(desk, target));
        const answer = await by(colleague, target);
        assert.equal(answer.status, 200, answer.text);
      }
    });

  for (const [name, { by, found, passes = 200 }] of others)
    test(`${name}: a customer's account requires only the permission of the operation`, async () => {
      const answer = await by(desk, await holderOf([...PRODUCT, 'self.update_profile'], found));
      assert.equal(answer.status, passes, answer.text);
    });

  for (const [name, { by, found, passes = 200 }] of [...takeovers, ...takings, ...others])
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
    assertRefused(answer);
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

  test("the caller's own account requires only the permission of the operation", async () => {
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
      assertRefused(await change(colleague, role, [refund], [refund, removing]));
      assert.equal((await change(peer, role, [refund], [refund, removing])).status, 200);
      const unheld = await addRole(service, 'role.delete', 'shop.refund');
      assert.equal((await change(desk, unheld, [refund], [refund, removing])).status, 200);
    });

    test(`${name}: cannot take a permission that the caller lacks from anybody, nor another from an administrator`, async () => {
      const { role } = await holderOf(['shop.refund']);
      assertRefused(await change(desk, role, [], [refund]));
      assert.equal((await change(colleague, role, [], [refund])).status, 200);
      const shared = await addRole(service, 'shop.refund');
      await addPerson(service, { roles: [shared] });
      await addPerson(service, { roles: [shared, await addRole(service, 'role.delete')] });
      assertRefused(await change(colleague, shared, [], [refund]));
      assert.equal((await change(peer, shared, [], [refund])).status, 200);
    });
  }

  test('it cannot grant an administrator anything without their permissions', async () => {
    const role = await addRole(service);
    await addPerson(service, { roles: [role, await addRole(service, 'role.delete')] });
    assertRefused(await colleague.post(`/api/v1/roles/${role}/permissions`, [refund]));
    assert.equal((await peer.post(`/api/v1/roles/${role}/permissions`, [refund])).status, 200);
  });

  test('it is allowed if the administrators hold the same through another role, or are superusers', async () => {
    const role = await addRole(service, 'shop.refund');
    await addPerson(service, { roles: [role, await addRole(service, 'role.delete', 'shop.refund')] });
    await addPerson(service, { superuser: true, roles: [role] });
    assert.equal((await desk.post(`/api/v1/roles/${role}/permissions`, [])).status, 200);
  });

  test('an administrator may reduce their own role', async () => {
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
      return countStatements(service, () => colleague.post(path, []));
    };
    await run(1);
    assert.equal(await run(30), await run(1));
  });

  test('an unknown role is still 404', async () => {
    assert.equal((await desk.post(`/api/v1/roles/${randomUUID()}/permissions`, [])).status, 404);
  });
});

describe('taking away needs what giving needs', async () => {
  const refund = await permissionId(service, 'shop.refund');
  const changes = (client: TestClient, ...all: object[]) =>
    client.post('/api/v1/access/changes', { changes: all });

  test('a refusal names the permissions and the accounts, in a preview too, and changes nothing', async () => {
    const [one, other] = [await holderOf(['shop.refund']), await holderOf([])];
    const body = { user_ids: [other.id, one.id], updates: { role_id: [] } };
    const answer = await desk.put(BULK, body);
    assertRefused(answer);
    assert.match(answer.body.detail, /shop\.refund/);
    assert.deepEqual(
      answer.body.errors.map(({ message }: { message: string }) => message.includes(one.id)),
      [true],
    );
    const preview = await desk.put(`${BULK}?dry_run=true`, body);
    assert.equal(preview.body.data.would_be_refused.code, 'privilege_escalation', preview.text);
    const left = await service.sql('select from user_roles where user_id = any($1)', [[one.id, other.id]]);
    assert.equal(left.length, 2);
    assert.equal((await colleague.put(BULK, body)).status, 200);
  });

  test('what the account keeps by another role is not taken', async () => {
    const { id, role } = await holderOf(['shop.refund']);
    const beside = await addRole(service, 'shop.refund', 'users.export');
    await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [id, beside]);
    assert.equal((await desk.delete(pathOf({ id, role }, '/roles'), [role])).status, 200);
    assertRefused(await desk.delete(pathOf({ id, role }, '/roles'), [beside]));
    const kept = await addRole(service, 'shop.refund', 'users.export');
    await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [id, kept]);
    assert.equal((await desk.post(`/api/v1/roles/${beside}/permissions`, [])).status, 200);
    assertRefused(await desk.post(`/api/v1/roles/${kept}/permissions`, []));
  });

  test('one request cannot take both of what would be kept by the other', async () => {
    const [first, second] = [await addRole(service, 'shop.refund'), await addRole(service, 'shop.refund')];
    const { id } = await addPerson(service, { roles: [first, second] });
    const fromRole = (role: string) => ({ role_id: role, remove_permission_ids: [refund] });
    assertRefused(await changes(desk, fromRole(first), fromRole(second)));
    assertRefused(await changes(desk, { user_id: id, remove_role_ids: [first] }, fromRole(second)));
    assertRefused(await changes(desk, { user_id: id, remove_role_ids: [first, second] }));
    assert.equal((await changes(desk, { user_id: id, remove_role_ids: [first] })).status, 200);
  });

  /** Each takes the permission that the user has by `role`, and leaves what the user has by `other`. */
  const halves: Record<string, (id: string, role: string, other: string) => Promise<Answer>> = {
    'removing the role': (id, role) => desk.delete(pathOf({ id, role }, '/roles'), [role]),
    'replacing the roles': (id, role, other) => desk.post(pathOf({ id, role }, '/roles'), [other]),
    'updating the user': (id, role, other) => desk.put(pathOf({ id, role }), { role_id: [other] }),
    'updating users in bulk': (id, _role, other) =>
      desk.put(BULK, { user_ids: [id], updates: { role_id: [other] } }),
    'changing the access of the user': (id, role) => changes(desk, { user_id: id, remove_role_ids: [role] }),
    ...Object.fromEntries(
      Object.entries(roleChanges).map(([name, change]) => [
        `${name} of the role`,
        (_id: string, role: string) => change(desk, role, [], [refund]),
      ]),
    ),
  };
  const pairs = Object.entries(halves).flatMap(([one, take], index) =>
    Object.entries(halves)
      .slice(index)
      .map(([other, takeOther]) => ({ name: `${one} and ${other}`, take, takeOther })),
  );

  for (const { name, take, takeOther } of pairs)
    test(`two requests at once cannot either: ${name}`, async () => {
      const [first, second] = [await addRole(service, 'shop.refund'), await addRole(service, 'shop.refund')];
      const { id } = await addPerson(service, { roles: [first, second] });
      const answers = await Promise.all([take(id, first, second), takeOther(id, second, first)]);
      const left = await service.sql(
        'select from user_roles held join role_permissions rp using (role_id) where held.user_id = $1 and rp.permission_id = $2',
        [id, refund],
      );
      assert.ok(left.length > 0, answers.map(({ text }) => text).join());
      assert.ok(answers.some(({ status }) => status === 200));
    });

  test('an inactive account and a service account keep what they have', async () => {
    const inactive = await holderOf(['shop.refund'], { active: false });
    assertRefused(await desk.post(pathOf(inactive, '/roles'), []));
    const { client: keeper } = await signedInWith(
      service,
      ...['service_account.update', 'service_account.delete', 'access.change', 'role.update'],
    );
    const role = await addRole(service, 'shop.refund');
    const account = randomUUID();
    await service.sql('insert into service_accounts (id, name) values ($1, $2)', [account, `app ${account}`]);
    await service.sql('insert into service_account_roles (service_account_id, role_id) values ($1, $2)', [
      account,
      role,
    ]);
    const path = `/api/v1/service-accounts/${account}`;
    assertRefused(await keeper.put(path, { role_ids: [] }));
    assertRefused(await keeper.delete(path));
    assertRefused(await changes(keeper, { service_account_id: account, remove_role_ids: [role] }));
    assertRefused(await keeper.delete(`/api/v1/roles/${role}/permissions/${refund}`));
    assert.equal((await keeper.put(path, { is_active: false })).status, 200);
    assert.equal((await admin.put(path, { role_ids: [] })).status, 200);
    assert.equal((await keeper.delete(path)).status, 200);
  });

  test('a narrowed key takes no more than it may give', async () => {
    const roles = [await addRole(service, 'user.update'), await addRole(service, 'shop.refund')];
    const made = await admin.post('/api/v1/service-accounts', {
      name: `key of ${roles[0]}`,
      role_ids: roles,
    });
    const keys = `/api/v1/service-accounts/${made.body.data.id}/keys`;
    const keyWith = async (permissions: string[] | null): Promise<Record<string, string>> => {
      const { body } = await admin.post(keys, { name: `of ${permissions}`, permissions });
      return { authorization: `Bearer ${body.data.key}` };
    };
    const target = await holderOf(['shop.refund']);
    const take = async (permissions: string[] | null) =>
      admin.post(pathOf(target, '/roles'), [], { headers: await keyWith(permissions) });
    assertRefused(await take(['user.update']));
    assert.equal((await take(null)).status, 200);
  });
});
