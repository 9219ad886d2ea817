// Compares previews with what the changes then do, over random changes by a superuser and by administrators with less.
// ACCESS_SEED repeats a run.
import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { makePermission, makePermissionGroup } from '@castellan/testing/records/fixture';
import { rounds } from '@castellan/testing/scenario';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';
import fc from 'fast-check';
import { type Call, holdingsOf, impactBetween, preview, send, stateOf } from './oracle.ts';

const seed = Number(process.env.ACCESS_SEED ?? randomInt(2 ** 31));
const CHANGES = rounds(60, 600);

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const group = await makePermissionGroup(admin, { name: 'shop' });
const own = await Promise.all(
  ['a', 'b', 'c'].map((name) => makePermission(admin, { group_id: group.id, name })),
);
const built = await service.sql<{ id: string; name: string }>(
  "select id, name from permissions where name in ('role.read', 'users.delete', 'self.update_profile')",
);
const permissions: string[] = [...own, ...built].map(({ id }) => id);
const names = [...own.map(({ name }) => name), ...built.map(({ name }) => name)];
const MANAGES = [
  'role.update',
  'role.delete',
  'user.update',
  'users.update',
  'users.delete',
  'access.change',
];
const callers: TestClient[] = [
  admin,
  (await signedInWith(service, ...MANAGES, 'service_account.update', 'service_account.delete')).client,
  (await signedInWith(service, ...MANAGES, 'role.read', 'shop.a', 'self.update_profile')).client,
];

const ROLES = 5;
const PEOPLE = 6;
const ACCOUNTS = 3;
/** Ids of the records; deleted ones are replaced. */
const world = { roles: [] as string[], people: [] as string[], accounts: [] as string[] };

async function refill(): Promise<void> {
  const exists = async (table: string, ids: string[]) =>
    (await service.sql<{ id: string }>(`select id from ${table} where id = any($1)`, [ids])).map(
      ({ id }) => id,
    );
  world.roles = await exists('roles', world.roles);
  world.people = await exists('users', world.people);
  world.accounts = await exists('service_accounts', world.accounts);
  while (world.roles.length < ROLES)
    world.roles.push(await addRole(service, ...names.filter((_, at) => (at + world.roles.length) % 3 === 0)));
  while (world.people.length < PEOPLE) {
    const [one, two] = world.roles.slice(world.people.length % (ROLES - 1));
    const state = { superuser: world.people.length === 1, active: world.people.length !== 2 };
    world.people.push(
      (
        await addPerson(service, {
          ...state,
          firstName: randomUUID().slice(0, 8),
          roles: [one as string, two as string],
        })
      ).id,
    );
  }
  while (world.accounts.length < ACCOUNTS)
    world.accounts.push(
      (await addServiceAccount(service, { roles: [world.roles[world.accounts.length] as string] })).id,
    );
}

/** Numbers become ids of the world at the moment of the call. */
type Draft = {
  kind: number;
  caller: number;
  target: number;
  permissions: number[];
  roles: number[];
  others: number[];
  flags: { is_active?: boolean; is_superuser?: boolean };
};
const draft: fc.Arbitrary<Draft> = fc.record({
  kind: fc.nat(11),
  caller: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constantFrom(1, 2) }),
  target: fc.nat(99),
  permissions: fc.uniqueArray(fc.nat(permissions.length - 1), { maxLength: 4 }),
  roles: fc.uniqueArray(fc.nat(ROLES - 1), { maxLength: 3 }),
  others: fc.uniqueArray(fc.nat(ROLES - 1), { maxLength: 3 }),
  flags: fc.record({ is_active: fc.boolean(), is_superuser: fc.boolean() }, { requiredKeys: [] }),
});

function callOf({ kind, target, flags, ...lists }: Draft): Call {
  const pick = (all: string[]): string => all[target % all.length] as string;
  const permission_ids = lists.permissions.map((at) => permissions[at] as string);
  const role_ids = lists.roles.map((at) => world.roles[at] as string);
  const others = lists.others
    .filter((at) => !lists.roles.includes(at))
    .map((at) => world.roles[at] as string);
  const [role, person, account] = [pick(world.roles), pick(world.people), pick(world.accounts)];
  const { is_superuser: _, ...activity } = flags;
  const [half, rest] = [permission_ids.slice(0, 2), permission_ids.slice(2)];
  const calls: Call[] = [
    { method: 'PUT', path: `/roles/${role}`, json: { permission_ids } },
    { method: 'POST', path: `/roles/${role}/permissions`, json: permission_ids },
    { method: 'DELETE', path: `/roles/${role}/permissions`, json: [...permission_ids, permissions[0]] },
    { method: 'DELETE', path: `/roles/${role}` },
    { method: 'POST', path: `/users/${person}/roles`, json: { role_ids } },
    { method: 'DELETE', path: `/users/${person}/roles`, json: [...role_ids, role] },
    { method: 'PUT', path: `/users/${person}`, json: { ...flags, role_id: role_ids } },
    {
      method: 'PUT',
      path: '/users/bulk-update',
      json: { user_ids: world.people.filter((_id, at) => at % 2 === target % 2), updates: flags },
    },
    { method: 'DELETE', path: `/users/${person}` },
    { method: 'PUT', path: `/service-accounts/${account}`, json: { ...activity, role_ids } },
    { method: 'DELETE', path: `/service-accounts/${account}` },
    {
      method: 'POST',
      path: '/access/changes',
      json: {
        changes: [
          { role_id: role, add_permission_ids: half, remove_permission_ids: rest },
          {
            role_id: world.roles[(target + 1) % ROLES],
            add_permission_ids: rest,
            remove_permission_ids: half,
          },
          { user_id: person, add_role_ids: role_ids, remove_role_ids: others },
          { service_account_id: account, add_role_ids: others, remove_role_ids: role_ids },
        ],
      },
    },
  ];
  return calls[kind] as Call;
}

test('a preview tells exactly what the change then does, or why it is refused', async () => {
  let changed = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(draft, async (drawn) => {
      await refill();
      const client = callers[drawn.caller] as TestClient;
      const call = callOf(drawn);
      const what = `ACCESS_SEED=${seed}: ${JSON.stringify(call)}`;
      const before = await holdingsOf(service);
      const state = await stateOf(service);
      const previewed = await preview(client, call);
      assert.deepEqual(await stateOf(service), state, what);
      const answer = await send(client, call);
      if (answer.status >= 400) {
        refused += 1;
        const { status, body } = answer;
        // The caller lacks the permission of an operation: the preview is refused in the same way.
        if (body.code === 'permission_denied') assert.equal(previewed.status, 403, what);
        else
          assert.deepEqual(
            previewed.body.data,
            {
              dry_run: true,
              would_be_refused: { status, code: body.code, detail: body.detail },
              impact: null,
            },
            what,
          );
        assert.deepEqual(await stateOf(service), state, what);
        return;
      }
      changed += 1;
      assert.equal(previewed.body.data?.would_be_refused, null, `${what} ${previewed.text}`);
      const impact = impactBetween(before, await holdingsOf(service));
      // The others may neither read users nor explain access.
      const told =
        client === admin ? impact : { ...impact, subjects: [], more: impact.subjects.length + impact.more };
      assert.deepEqual(previewed.body.data.impact, told, what);
    }),
    { seed, numRuns: CHANGES, endOnFailure: true },
  );
  assert.ok(changed > CHANGES / 10 && refused > CHANGES / 20, `${changed} changed, ${refused} refused`);
});
