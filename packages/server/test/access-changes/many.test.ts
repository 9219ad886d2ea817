// Changes of access at size: a thousand items, ten thousand holders, and many requests at once.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { makePermission, makePermissionGroup } from '@castellan/testing/records/fixture';
import { rounds } from '@castellan/testing/scenario';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { countStatements } from '@castellan/testing/statements';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { type Shot, volley } from '@castellan/testing/volley';
import { holdingsOf, impactBetween } from './oracle.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const twin = await service.another();
const PATH = '/api/v1/access/changes';
const group = await makePermissionGroup(admin, { name: 'shop' });
const permissions: string[] = [];
for (let number = 0; number < 12; number += 1)
  permissions.push((await makePermission(admin, { group_id: group.id, name: `act${number}` })).id);

/** Inserts users with names in random order and returns their ids. */
const addPeople = async (count: number): Promise<string[]> =>
  (
    await service.sql<{ id: string }>(
      `insert into users (id, email, first_name, last_name, verified, is_active)
       select id, id || '@example.com', left(id::text, 8), 'X', true, n % 10 > 0
       from (select gen_random_uuid() as id, n from generate_series(1, $1) n) made returning id`,
      [count],
    )
  ).map(({ id }) => id);

const many = <T>(count: number, make: (number: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, number) => make(number)));

test('a request costs the same number of statements for any number of items, and so does its preview', async () => {
  const costs: number[][] = [];
  for (const count of [1, 12]) {
    const [roles, assigned] = [
      await many(count, () => addRole(service, 'shop.act0')),
      await many(count, () => addRole(service, 'shop.act1')),
    ];
    const people = await many(count, (at) => addPerson(service, { roles: [assigned[at] as string] }));
    const accounts = await many(count, (at) =>
      addServiceAccount(service, { roles: [assigned[at] as string] }),
    );
    const changes = [
      ...roles.map((role_id) => ({
        role_id,
        add_permission_ids: permissions.slice(2, 4),
        remove_permission_ids: permissions.slice(0, 1),
        version: 1,
      })),
      ...people.map(({ id }, at) => ({
        user_id: id,
        add_role_ids: [roles[at]],
        remove_role_ids: [assigned[at]],
      })),
      ...accounts.map(({ id }, at) => ({
        service_account_id: id,
        add_role_ids: [roles[at]],
        remove_role_ids: [assigned[at]],
      })),
    ];
    const previewing = await countStatements(service, () => admin.post(`${PATH}?dry_run=true`, { changes }));
    costs.push([previewing, await countStatements(service, () => admin.post(PATH, { changes }))]);
  }
  assert.deepEqual(costs[1], costs[0]);
});

test('a thousand items change in one request, and the preview was right', async () => {
  const roles = await many(20, (at) => addRole(service, `shop.act${at % 12}`));
  const people = await addPeople(980);
  for (const [at, role] of roles.entries())
    await service.sql('insert into user_roles (user_id, role_id) select unnest($1::uuid[]), $2', [
      people.filter((_, number) => number % 20 === at || number % 7 === at),
      role,
    ]);
  const [added, removed] = [permissions.slice(6, 9), permissions.slice(0, 6)];
  const changes = [
    ...roles.map((role_id) => ({ role_id, add_permission_ids: added, remove_permission_ids: removed })),
    ...people.map((user_id, at) => ({
      user_id,
      add_role_ids: [roles[(at + 1) % 20]],
      remove_role_ids: [roles[at % 20]],
    })),
  ];
  const before = await holdingsOf(service);
  const previewed = await admin.post(`${PATH}?dry_run=true`, { changes });
  const answer = await admin.post(PATH, { changes });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.items.length, 1_000);
  const impact = impactBetween(before, await holdingsOf(service));
  assert.ok(
    impact.gaining > 500 && impact.losing > 200 && impact.inactive > 50,
    JSON.stringify(impact).slice(0, 200),
  );
  assert.deepEqual(previewed.body.data.impact, impact);
  const [row] = await service.sql<{ entries: number }>(
    "select count(*)::int as entries from audit_logs where details->>'change_id' = $1",
    [answer.body.data.change_id],
  );
  assert.equal(row?.entries, 1_000);
});

test('the preview of a role with ten thousand holders, each with other roles, is exact', async () => {
  const changing = await addRole(service, 'shop.act0', 'shop.act1');
  const others = await many(60, (at) =>
    addRole(service, `shop.act${at % 12}`, `shop.act${(at * 5 + 1) % 12}`),
  );
  const people = await addPeople(10_000);
  await service.sql('insert into user_roles (user_id, role_id) select unnest($1::uuid[]), $2', [
    people,
    changing,
  ]);
  await service.sql(
    `insert into user_roles (user_id, role_id)
     select user_id, ($2::uuid[])[1 + (hashtext(user_id::text || n)::bigint & 1023) % 60]
     from unnest($1::uuid[]) user_id, generate_series(1, 3) n on conflict do nothing`,
    [people, others],
  );
  await addServiceAccount(service, { roles: [changing, others[0] as string] });
  const before = await holdingsOf(service);
  const path = `/api/v1/roles/${changing}/permissions`;
  const previewed = await admin.post(`${path}?dry_run=true`, permissions.slice(1));
  assert.equal((await admin.post(path, permissions.slice(1))).status, 200);
  const impact = impactBetween(before, await holdingsOf(service));
  assert.deepEqual(previewed.body.data.impact, impact);
  assert.deepEqual([impact.gaining, impact.inactive, impact.more], [9_001, 1_000, 8_901]);
  assert.ok(impact.losing > 1_000 && impact.losing < 9_000, String(impact.losing));
});

test('requests that name the same records in opposite order, and single operations on them, all succeed', async () => {
  const [one, two] = [await addRole(service), await addRole(service)] as [string, string];
  const [ada, bob] = (await addPeople(2)) as [string, string];
  const accounts = await many(2, () => addServiceAccount(service));
  const robot = service.client();
  robot.accessToken = (
    await addServiceAccount(service, {
      permissions: [
        'access.change',
        'role.update',
        'user.update',
        'service_account.update',
        'shop.act1',
        'shop.act2',
      ],
    })
  ).key;
  for (let round = 0; round < rounds(6, 60); round += 1) {
    const [verb, opposite] = round % 2 === 0 ? ['add', 'remove'] : ['remove', 'add'];
    const roleItem = (role_id: string) => ({ role_id, [`${verb}_permission_ids`]: [permissions[1]] });
    const userItem = (user_id: string, role: string) => ({ user_id, [`${opposite}_role_ids`]: [role] });
    const accountItem = (at: number, role: string) => ({
      service_account_id: accounts[at]?.id,
      [`${opposite}_role_ids`]: [role],
    });
    const items = [
      roleItem(one),
      userItem(ada, two),
      accountItem(0, one),
      accountItem(1, two),
      userItem(bob, one),
      roleItem(two),
    ];
    const assignments = items.filter((item) => !('role_id' in item));
    const post = (client: typeof admin, changes: object[]): Shot => ({
      client,
      method: 'POST',
      path: PATH,
      json: { changes },
    });
    const answers = await volley([
      post(admin, items),
      post(admin.at(twin.url), items.toReversed()),
      post(robot, items.toReversed()),
      post(robot.at(twin.url), assignments),
      post(admin, assignments.toReversed()),
      { ...post(admin.at(twin.url), items), path: `${PATH}?dry_run=true` },
      { client: admin, method: 'POST', path: `/api/v1/roles/${two}/permissions`, json: [permissions[2]] },
      { client: admin, method: 'POST', path: `/api/v1/users/${bob}/roles`, json: [two, one] },
      { client: admin.at(twin.url), method: 'PUT', path: `/api/v1/users/${ada}`, json: { role_id: [one] } },
      {
        client: admin,
        method: 'PUT',
        path: `/api/v1/service-accounts/${accounts[1]?.id}`,
        json: { role_ids: [two, one] },
      },
    ]);
    for (const answer of answers) assert.equal(answer.status, 200, answer.text);
  }
  await assertSound(service);
});
