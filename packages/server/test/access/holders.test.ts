// Who holds a permission or a role: complete, each holder once, also while holders appear and disappear.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { Holder } from '@castellan/contract/holders';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { ABSENT_ID, assertRefused } from '@castellan/testing/http/fixture';
import { makePermission, newName } from '@castellan/testing/records/fixture';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { countStatements } from '@castellan/testing/statements';
import { addPerson, addRole, eventsOf, roleNamed, signedInWith } from '@castellan/testing/users/people';
import { renewRoleHolders } from '../../src/modules/users/role-holders-store.ts';

const service = await startTestService({ after });
const twin = await service.another();
const admin = await signIn(service, ADMIN);

type Page = { data: Holder[]; next_cursor: string | null; total: number };

/** Reads every page, and calls `between` after each one. */
async function everyPage(
  path: string,
  options: { client?: TestClient; size?: number; between?: (page: number) => Promise<unknown> } = {},
): Promise<Page[]> {
  const { client = admin, size = 3, between } = options;
  const pages: Page[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const [address, query = ''] = path.split('?');
    const next = new URLSearchParams(query);
    next.set('size', String(size));
    if (cursor !== '') next.set('cursor', cursor);
    const answer = await client.get(`${address}?${next}`);
    assert.equal(answer.status, 200, answer.text);
    pages.push(answer.body);
    assert.ok(pages.length < 1_000, 'the pages come to an end');
    cursor = answer.body.next_cursor;
    await between?.(pages.length);
  }
  return pages;
}

const holdersIn = (pages: readonly Page[]): Holder[] => pages.flatMap(({ data }) => data);
const idsIn = (holders: readonly { id: string }[]): string[] => holders.map(({ id }) => id);

/** Creates a permission that no role holds, not even the role Admin. */
async function newPermission(): Promise<{ id: string; name: string }> {
  const { id, name } = await makePermission(admin);
  await service.sql('delete from role_permissions where permission_id = $1', [id]);
  return { id, name };
}

async function addPeople(count: number, roles: string[]): Promise<string[]> {
  const people = await Promise.all(Array.from({ length: count }, () => addPerson(service, { roles })));
  return people.map(({ id }) => id);
}

test('the pages have every holder once, with the roles through which they hold the permission', async () => {
  const permission = await newPermission();
  const [one, two, other] = [
    await addRole(service, permission.name),
    await addRole(service, permission.name, 'role.read'),
    await addRole(service, 'role.read'),
  ];
  const ada = await addPerson(service, { roles: [one, two, other], firstName: 'Ada', lastName: '' });
  const inactive = await addPerson(service, { roles: [two], active: false });
  const boss = await addPerson(service, { roles: [one], superuser: true });
  const machine = await addServiceAccount(service, { roles: [one, other], name: newName('machine') });
  const asleep = await addServiceAccount(service, { roles: [two], active: false });
  await addPerson(service, { roles: [other] });
  await addServiceAccount(service, { roles: [other] });
  const more = await addPeople(7, [one]);
  const path = `/api/v1/permissions/${permission.id}/holders`;

  const expected = [ada.id, inactive.id, boss.id, machine.id, asleep.id, ...more].sort();
  for (const size of [1, 2, 3, 5, 12, 100]) {
    const pages = await everyPage(path, { size });
    assert.deepEqual(idsIn(holdersIn(pages)), expected, `size ${size}`);
    for (const page of pages.slice(0, -1)) assert.equal(page.data.length, size);
    assert.ok(pages.every(({ total }) => total === 12));
  }
  const found = new Map(holdersIn(await everyPage(path)).map((holder) => [holder.id, holder]));
  const named = (id: string) => ({ id, name: `Role ${id}` });
  assert.deepEqual(found.get(ada.id), {
    type: 'user',
    id: ada.id,
    name: 'Ada',
    email: ada.email,
    is_active: true,
    superuser: false,
    roles: [one, two].sort().map(named),
  });
  assert.deepEqual(found.get(machine.id), {
    type: 'service_account',
    id: machine.id,
    name: machine.name,
    is_active: true,
    superuser: false,
    roles: [named(one)],
  });
  assert.equal(found.get(inactive.id)?.is_active, false);
  assert.equal(found.get(asleep.id)?.is_active, false);
  assert.deepEqual([found.get(boss.id)?.superuser, found.get(boss.id)?.roles], [true, [named(one)]]);
  assert.deepEqual(await everyPage(path, { client: admin.at(twin.url) }), await everyPage(path));
});

test('superusers who hold it through no role are listed on request only, inactive ones too', async () => {
  const permission = await newPermission();
  const role = await addRole(service, permission.name);
  const boss = await addPerson(service, { superuser: true });
  const former = await addPerson(service, { superuser: true, active: false });
  const both = await addPerson(service, { superuser: true, roles: [role] });
  const path = `/api/v1/permissions/${permission.id}/holders`;
  assert.deepEqual(idsIn(holdersIn(await everyPage(path))), [both.id]);
  const pages = await everyPage(`${path}?include=superusers`, { size: 1 });
  const superusers = await service.sql<{ id: string }>('select id from users where is_superuser order by id');
  assert.deepEqual(idsIn(holdersIn(pages)), idsIn(superusers));
  assert.equal(pages[0]?.total, superusers.length);
  const found = new Map(holdersIn(pages).map((holder) => [holder.id, holder]));
  assert.deepEqual(found.get(boss.id)?.roles, []);
  assert.deepEqual(found.get(both.id)?.roles, [{ id: role, name: `Role ${role}` }]);
  assert.equal(found.get(former.id)?.is_active, false);
  assert.ok([...found.values()].every(({ superuser }) => superuser));
});

test('holders of a role are those who have it; a system role has holders too', async () => {
  const role = await addRole(service);
  const people = await addPeople(4, [role]);
  const machine = await addServiceAccount(service, { roles: [role] });
  const pages = await everyPage(`/api/v1/roles/${role.toUpperCase()}/holders`, { size: 2 });
  assert.deepEqual(idsIn(holdersIn(pages)), [...people, machine.id].sort());
  assert.deepEqual(holdersIn(pages)[0]?.roles, [{ id: role, name: `Role ${role}` }]);
  assert.equal(pages[0]?.total, 5);
  const system = await everyPage(`/api/v1/roles/${await roleNamed(service, 'Admin')}/holders`);
  assert.deepEqual(
    holdersIn(system).map(({ email }) => email),
    [ADMIN.email],
  );
});

test('a permission and a role without holders have one empty page', async () => {
  const permission = await newPermission();
  for (const path of [`/permissions/${permission.id}`, `/roles/${await addRole(service)}`]) {
    const { status, body } = await admin.get(`/api/v1${path}/holders`);
    assert.equal(status, 200);
    assert.deepEqual([body.data, body.next_cursor, body.total], [[], null, 0]);
    assert.equal((await admin.get(`/api/v1${path}/holders/export`)).text, '');
  }
});

// As many roles as lead to reading the next rows of user_roles first, and more.
for (const roleCount of [2, 16, 17, 40])
  test(`holders who come and go between the pages change no other one (${roleCount} roles)`, async () => {
    const permission = await newPermission();
    const roles = await Promise.all(
      Array.from({ length: roleCount }, () => addRole(service, permission.name)),
    );
    const roleAt = (at: number): string => roles[at % roleCount] as string;
    const staying: string[] = [];
    for (let at = 0; at < 30; at += 1)
      staying.push(...(await addPeople(1, [...new Set([roleAt(at), roleAt(at * 7)])])));
    const leaving = await addPeople(20, [roleAt(0)]);
    const [gone = '', renamed = ''] = staying.splice(0, 2);
    const arrived: string[] = [];
    const pages = await everyPage(`/api/v1/permissions/${permission.id}/holders`, {
      size: 4,
      between: async (page) => {
        if (page > 8) return;
        await service.sql('delete from user_roles where user_id = any($1)', [leaving.splice(0, 5)]);
        if (page === 1) await service.sql('delete from user_roles where user_id = $1', [gone]);
        arrived.push(...(await addPeople(2, [roleAt(page)])));
        await service.sql('update users set first_name = $2, last_name = $2 where id = $1', [
          renamed,
          page % 2 === 0 ? 'Aaron' : 'Zoe',
        ]);
      },
    });
    const seen = idsIn(holdersIn(pages));
    assert.equal(new Set(seen).size, seen.length, 'nobody twice');
    assert.deepEqual(seen, seen.toSorted());
    for (const id of [...staying, renamed]) assert.ok(seen.includes(id), `${id} is missing`);
    const end = await everyPage(`/api/v1/permissions/${permission.id}/holders`);
    assert.deepEqual(idsIn(holdersIn(end)), [...staying, renamed, ...arrived].sort());
  });

test('many roles whose holders are far apart are listed completely', async () => {
  const permission = await newPermission();
  const roles = await Promise.all(Array.from({ length: 20 }, () => addRole(service, permission.name)));
  const crowd = await addRole(service);
  // More rows than are read before the roles themselves are asked.
  await service.sql(
    `with crowd as (
       insert into users (id, email, first_name, last_name)
       select gen_random_uuid(), 'crowd-' || n || '@example.com', 'Some', 'Body' from generate_series(1, 6000) n
       returning id)
     insert into user_roles (user_id, role_id) select id, $1 from crowd`,
    [crowd],
  );
  const ids = ['00000000-0000-7000-8000-000000000001', 'ffffffff-ffff-7fff-bfff-ffffffffffff'];
  for (const [at, id] of ids.entries()) {
    await service.sql(`insert into users (id, email, first_name, last_name) values ($1, $2, 'Far', 'Away')`, [
      id,
      `far-${at}@example.com`,
    ]);
    await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [id, roles[at]]);
  }
  for (const size of [1, 2])
    assert.deepEqual(
      idsIn(holdersIn(await everyPage(`/api/v1/permissions/${permission.id}/holders`, { size }))),
      ids,
    );
  const many = await everyPage(`/api/v1/roles/${crowd}/holders`, { size: 100 });
  assert.equal(new Set(idsIn(holdersIn(many))).size, 6_000);
  assert.equal(many.length, 60);
});

test('only holders of access.explain list holders, and a missing record is 404 for them alone', async () => {
  const { client: explainer } = await signedInWith(service, 'access.explain');
  const { client: reader } = await signedInWith(service, 'permission.read', 'role.read', 'users.read');
  const permission = await newPermission();
  for (const [path, code] of [
    [`/permissions/${ABSENT_ID}/holders`, 'permission_not_found'],
    [`/permissions/${ABSENT_ID}/holders/export`, 'permission_not_found'],
    [`/roles/${ABSENT_ID}/holders`, 'role_not_found'],
    [`/roles/${ABSENT_ID}/holders/export`, 'role_not_found'],
  ] as const) {
    assertRefused(await reader.get(`/api/v1${path}`), 403, 'permission_denied');
    assertRefused(await explainer.get(`/api/v1${path}`), 404, code);
  }
  const path = `/api/v1/permissions/${permission.id}/holders`;
  assert.equal((await explainer.get(path)).status, 200);
  assertRefused(await explainer.get('/api/v1/permissions/x/holders'), 400, 'invalid_id');
  for (const query of ['size=0', 'size=101', 'include=everybody', 'cursor=x', 'cursor=', 'cursor=a|b'])
    assertRefused(await explainer.get(`${path}?${query}`), 422, 'validation_failed');
  const { body } = await admin.get(`/api/v1/roles/${await roleNamed(service, 'User')}/holders?size=1`);
  assert.equal(body.next_cursor, null);
  const machine = await addServiceAccount(service, { permissions: ['access.explain'] });
  const asked = { headers: { authorization: `Bearer ${machine.key}` } };
  assert.equal((await service.client().get(path, asked)).status, 200);
});

test('a cursor is taken back only as it was written, and only by its own list', async () => {
  const permission = await newPermission();
  const role = await addRole(service, permission.name);
  const otherRole = await addRole(service);
  await addPeople(2, [role, otherRole]);
  const path = `/api/v1/roles/${role}/holders?size=1`;
  const { next_cursor } = (await admin.get(path)).body;
  assert.equal((await admin.get(`${path}&cursor=${next_cursor}`)).status, 200);
  const ofPermission = `/api/v1/permissions/${permission.id}/holders?size=1`;
  const foreign: string[] = [];
  for (const list of [
    `/api/v1/roles/${otherRole}/holders?size=1`,
    ofPermission,
    `${ofPermission}&include=superusers`,
  ])
    foreign.push((await admin.get(list)).body.next_cursor);
  assert.equal((await admin.get(`${ofPermission}&cursor=${foreign[1]}`)).status, 200);
  assertRefused(await admin.get(`${ofPermission}&cursor=${foreign[2]}`), 422, 'validation_failed');
  const text = (value: string) => Buffer.from(value).toString('base64url');
  for (const cursor of [
    ...foreign,
    `${next_cursor}x`,
    `${next_cursor}=`,
    next_cursor.slice(1),
    text(`role|${randomUUID()}|2`),
    text(`user|${randomUUID()}|-1`),
    text(`user|${randomUUID()}|1e9`),
    text(`user|${randomUUID().toUpperCase()}|1`),
    text(`user|${randomUUID()}|1|`),
    text(`toString|${randomUUID()}|1`),
  ])
    assertRefused(await admin.get(`${path}&cursor=${encodeURIComponent(cursor)}`), 422, 'validation_failed');
});

test('a page costs the same statements for three holders as for forty, and writes nothing', async () => {
  const role = await addRole(service);
  await addPeople(3, [role]);
  const path = `/api/v1/roles/${role}/holders?size=100`;
  const few = await countStatements(service, () => admin.get(path));
  await addPeople(37, [role]);
  assert.equal(await countStatements(service, () => admin.get(path)), few);
  const answer = await admin.get(path);
  assert.equal(answer.body.data.length, 40);
  assert.deepEqual(await eventsOf(service, answer), []);
});

test('totals are exact where very many hold one role, or several of one permission', async () => {
  const permission = await newPermission();
  const [one, two] = [await addRole(service, permission.name), await addRole(service, permission.name)];
  const people = 3_000;
  await service.sql(
    `with made as (
       insert into users (id, email, first_name, last_name)
       select gen_random_uuid(), 'held-' || n || '@example.com', 'Held', 'Often' from generate_series(1, $1::integer) n
       returning id)
     insert into user_roles (user_id, role_id) select made.id, r.id from made, unnest($2::uuid[]) as r (id)`,
    [people, [one, two]],
  );
  await renewRoleHolders(service.service.deps.db);
  const pageOf = async (path: string): Promise<Page> => (await admin.get(`/api/v1/${path}&size=1`)).body;
  const ofRole = await pageOf(`roles/${one}/holders?`);
  assert.equal(ofRole.total, people);
  const first = await pageOf(`permissions/${permission.id}/holders?`);
  assert.equal(first.total, people, 'each once');
  const second = await pageOf(`permissions/${permission.id}/holders?cursor=${first.next_cursor}`);
  assert.equal(second.total, people);

  await service.sql(
    'delete from user_roles where role_id = $1 and user_id in (select user_id from user_roles where role_id = $1 limit 1000)',
    [two],
  );
  const fewer = await pageOf(`permissions/${permission.id}/holders?`);
  assert.equal(fewer.total, people);
  assert.equal((await pageOf(`roles/${two}/holders?`)).total, people - 1_000);
});
