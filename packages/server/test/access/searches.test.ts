// Searches: POST /api/v1/access/v1/search/subject and /search/action.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ADMIN, newEmail, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { countStatements } from '@castellan/testing/statements';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';
import { type Ask, asking, question } from './authzen.ts';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const twin = await service.another();
const admin = await signIn(service, ADMIN);
const [superuser] = await service.sql<{ id: string }>('select id from users where is_superuser');

/** Creates a permission group with these permissions. */
async function addGroup(name: string, ...actions: string[]): Promise<void> {
  const group = await admin.post('/api/v1/permission-groups', { name });
  for (const action of actions) {
    const made = await admin.post('/api/v1/permissions', { name: action, group_id: group.body.data.id });
    assert.equal(made.status, 201, made.text);
  }
}

const checker = await addServiceAccount(service, { permissions: ['access.check'] });
const ask = asking(service, checker.key);
const idsOf = (results: { id: string }[]): string[] => results.map(({ id }) => id);

const subjectSearch = <M extends object>(type: string, permission: string, more?: M) => {
  const { action, resource } = question(type, '', permission);
  return { subject: { type }, action, resource, ...(more as M) };
};

/** Reads all pages of a search. */
async function allPages(
  path: string,
  body: object,
  limit?: number,
  by: Ask = ask,
): Promise<{ results: { id: string; name: string }[]; pages: { count: number; total?: number }[] }> {
  const results: { id: string; name: string }[] = [];
  const pages: { count: number; total?: number }[] = [];
  let token: string | undefined;
  do {
    const page = { ...(limit === undefined ? {} : { limit }), ...(token === undefined ? {} : { token }) };
    const answer = await by(path, { ...body, page });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(Object.keys(answer.body), ['page', 'results']);
    assert.equal(answer.body.page.count, answer.body.results.length);
    assert.ok(pages.length < 10_000);
    results.push(...answer.body.results);
    pages.push(answer.body.page);
    token = answer.body.page.next_token;
  } while (token !== '');
  return { results, pages };
}

test('a search finds the active subjects of one type that may do the action, each once, sorted by id', async () => {
  await addGroup('paper', 'read', 'print');
  const [one, two] = [
    await addRole(service, 'paper.read'),
    await addRole(service, 'paper.read', 'paper.print'),
  ];
  const holders = await Promise.all([
    addPerson(service, { roles: [one] }),
    addPerson(service, { roles: [two, one] }),
    addPerson(service, { roles: [two], verified: false }),
    addPerson(service, { superuser: true }),
    addPerson(service, { superuser: true, roles: [one] }),
  ]);
  await addPerson(service, { roles: [one, two], active: false });
  await addPerson(service, { superuser: true, active: false });
  await addPerson(service, { roles: [await addRole(service, 'paper.print')] });
  const accounts = [
    await addServiceAccount(service, { roles: [one, two] }),
    await addServiceAccount(service, { permissions: ['paper.read'] }),
  ];
  await addServiceAccount(service, { roles: [one], active: false });
  const roles = await service.sql<{ role_id: string }>(
    `select role_id from role_permissions where permission_id = (select id from permissions where name = 'paper.read')`,
  );
  const expected = {
    user: [...idsOf(holders), superuser?.id as string],
    service_account: idsOf(accounts),
    role: roles.map((role) => role.role_id),
  };
  assert.equal(expected.role.length, 3 + 1, 'the two roles, that of an account, and Admin');
  for (const [type, ids] of Object.entries(expected))
    for (const permission of ['paper.read', 'PAPER.Read']) {
      const { status, body } = await ask('search/subject', subjectSearch(type, permission));
      assert.equal(status, 200);
      assert.deepEqual(
        body.results,
        ids.sort().map((id) => ({ type, id })),
      );
      assert.deepEqual(body.page, { next_token: '', count: ids.length, total: ids.length });
      for (const { id } of body.results)
        assert.equal((await ask('evaluation', question(type, id, permission))).body.decision, true);
    }
});

test('an unknown type, permission or group finds nothing, superusers included; subject.id is ignored', async () => {
  for (const [type, permission] of [
    ['device', 'paper.read'],
    ['User', 'paper.read'],
    ['toString', 'paper.read'],
    ['user', 'paper.fold'],
    ['user', 'nothing.read'],
    ['role', 'paper.'],
  ] as const) {
    const { status, body } = await ask('search/subject', subjectSearch(type, permission));
    assert.equal(status, 200);
    assert.deepEqual(body, { page: { next_token: '', count: 0, total: 0 }, results: [] });
  }
  const plain = await ask('search/subject', subjectSearch('role', 'paper.read'));
  for (const id of [randomUUID(), 7, null]) {
    const subject = { type: 'role', id };
    const answer = await ask('search/subject', { ...subjectSearch('role', 'paper.read'), subject });
    assert.deepEqual(answer.body, plain.body);
  }
});

test('the pages of thousands of holders are complete, at every limit and at both instances', async () => {
  await addGroup('crowd', 'join');
  const roles = await Promise.all(Array.from({ length: 3 }, () => addRole(service, 'crowd.join')));
  await service.sql(
    `with made as (
       insert into users (id, email, first_name, last_name, is_active, verified)
       select gen_random_uuid(), 'crowd-' || n || '@example.com', 'C', '', n % 10 <> 0, true
       from generate_series(1, 4000) n returning id, email)
     insert into user_roles (user_id, role_id)
     select id, role from made, unnest($1::uuid[]) with ordinality as r (role, at)
     where (length(email) + at) % 2 = 0 or at = 1`,
    [roles],
  );
  const expected = (
    await service.sql<{ id: string }>(
      `select id from users where is_active and (is_superuser or email like 'crowd-%') order by id`,
    )
  ).map(({ id }) => id);
  assert.ok(expected.length >= 3_600);
  const body = subjectSearch('user', 'crowd.join');
  for (const limit of [undefined, 7, 999, 1_000, 5_000]) {
    const { results, pages } = await allPages('search/subject', body, limit);
    assert.deepEqual(idsOf(results), expected);
    assert.ok(pages.every(({ total }) => total === expected.length));
    const size = Math.min(limit ?? 100, 1_000);
    assert.ok(pages.slice(0, -1).every(({ count }) => count === size));
    assert.equal(pages.length, Math.ceil(expected.length / size));
  }
  const there = await allPages('search/subject', body, 400, ask.at(twin.url));
  assert.deepEqual(idsOf(there.results), expected);
});

test('a permission in more roles than are read one by one has complete pages, near and far', async () => {
  await addGroup('tenant', 'enter');
  const roles = await Promise.all(Array.from({ length: 40 }, () => addRole(service, 'tenant.enter')));
  const others = await Promise.all(Array.from({ length: 4 }, () => addRole(service)));
  // The holders have the lowest and the highest ids; between them are more links to other roles than are read at once.
  await service.sql(
    `with made as (
       insert into users (id, email, first_name, last_name, is_active, verified)
       select (case when n <= 300 then '0000' when n > 1900 then 'ffff' else '7777' end
               || lpad(to_hex(n), 4, '0') || substr(gen_random_uuid()::text, 9))::uuid,
         'tenant-' || n || '@example.com', 'T', '', n % 7 <> 0, true
       from generate_series(1, 2200) n returning id, substr(email, 8)::text as rest),
     numbered as (select id, split_part(rest, '@', 1)::integer as n from made)
     insert into user_roles (user_id, role_id)
     select id, ($1::uuid[])[1 + n % 40] from numbered where n <= 300 or n > 1900
     union
     select id, ($1::uuid[])[1 + (n + 7) % 40] from numbered where n <= 300 or n > 1900
     union all
     select id, other from numbered, unnest($2::uuid[]) other where n > 300 and n <= 1900`,
    [roles, others],
  );
  const expected = (
    await service.sql<{ id: string }>(
      `select id from users u where is_active and (is_superuser or exists (
         select from user_roles h where h.user_id = u.id and h.role_id = any($1))) order by id`,
      [roles],
    )
  ).map(({ id }) => id);
  assert.ok(expected.length > 500);
  for (const limit of [13, 100, 1_000])
    for (let time = 0; time < 2; time += 1) {
      const { results } = await allPages('search/subject', subjectSearch('user', 'tenant.enter'), limit);
      assert.deepEqual(idsOf(results), expected);
    }
});

test('a limit of 0 counts without results', async () => {
  const body = { ...subjectSearch('user', 'paper.read'), page: { limit: 0 } };
  const first = (await ask('search/subject', body)).body;
  assert.deepEqual([first.results, first.page.count, first.page.total > 0], [[], 0, true]);
  const token = first.page.next_token;
  assert.notEqual(token, '');
  const next = (await ask('search/subject', { ...body, page: { token } })).body;
  assert.deepEqual(next.results, []);
  const none = { ...subjectSearch('user', 'paper.fold'), page: { limit: 0 } };
  assert.equal((await ask('search/subject', none)).body.page.next_token, '');
});

test('a token is refused with another search, limit, caller or operation, and if it was changed', async () => {
  const body = subjectSearch('user', 'paper.read', { context: { at: 'home' } });
  const { body: first } = await ask('search/subject', { ...body, page: { limit: 2 } });
  const token = first.page.next_token;
  const next = await ask('search/subject', { ...body, page: { token } });
  assert.equal(next.body.results.length, 2);
  const same = await ask('search/subject', { ...body, page: { token, limit: 2 } });
  assert.deepEqual(same.body, next.body);
  const { context: _, ...withoutContext } = body;
  for (const other of [
    { ...subjectSearch('service_account', 'paper.read'), context: body.context },
    { ...body, action: { name: 'print' } },
    { ...body, action: { name: 'read', properties: {} } },
    { ...body, resource: { type: 'crowd', id: 'any' } },
    { ...body, resource: { type: 'paper', id: 'another' } },
    { ...body, context: { at: 'work' } },
    withoutContext,
  ])
    assertRefused(await ask('search/subject', { ...other, page: { token } }), 400, 'invalid_input');
  for (const page of [
    { token, limit: 3 },
    { token: `${token}x` },
    { token: token.replace(/^./, (first: string) => (first === 'W' ? 'X' : 'W')) },
    { token: 'next' },
  ]) {
    const answer = await ask('search/subject', { ...body, page });
    assertRefused(answer, 400, 'invalid_input');
    assert.equal(answer.body.errors[0].field, 'page.token');
  }
  const another = await addServiceAccount(service, { permissions: ['access.check'] });
  const theirs = await asking(service, another.key)('search/subject', { ...body, page: { token } });
  assertRefused(theirs, 400, 'invalid_input');
});

test('wrong bodies of searches are 400', async () => {
  const subjects = subjectSearch('user', 'paper.read');
  const actions = { subject: { type: 'user', id: ADMIN.email }, resource: { type: 'paper', id: '1' } };
  for (const [path, body] of [
    ['search/subject', { ...subjects, subject: undefined }],
    ['search/subject', { ...subjects, subject: {} }],
    ['search/subject', { ...subjects, action: undefined }],
    ['search/subject', { ...subjects, resource: { type: 'paper' } }],
    ['search/action', { ...actions, subject: { type: 'user' } }],
    ['search/action', { ...actions, resource: { type: 'paper' } }],
    ...[{ limit: -1 }, { limit: 1.5 }, { limit: '10' }, { token: 7 }, 'first', { properties: 1 }].flatMap(
      (page) => [
        ['search/subject', { ...subjects, page }],
        ['search/action', { ...actions, page }],
      ],
    ),
  ] as [string, object][])
    assertRefused(await ask(path, body), 400, 'invalid_input');
});

test('an action search finds every action that an evaluation permits, also where names hold inner dots', async () => {
  await addGroup('desk', 'write', 'Archive', 'read', 'read.all');
  await addGroup('desk.drawer', 'open');
  const role = await addRole(service, 'desk.read', 'desk.Archive', 'desk.read.all', 'desk.drawer.open');
  const person = await addPerson(service, { roles: [role] });
  const boss = await addPerson(service, { superuser: true });
  const idle = await addPerson(service, { roles: [role], active: false });
  const account = await addServiceAccount(service, { roles: [role] });
  const actions = async (type: string, id: string, group: string) => {
    const { status, body } = await ask('search/action', {
      subject: { type, id },
      resource: { type: group, id: 'any' },
      action: 'ignored',
    });
    assert.equal(status, 200);
    assert.equal(body.page.total, body.results.length);
    return body.results;
  };
  const named = (...names: string[]) => names.map((name) => ({ name }));
  // An evaluation joins type and action: `desk.drawer` and `open` ask for the same permission as `desk` and `drawer.open`.
  const held = named('Archive', 'drawer.open', 'read', 'read.all');
  for (const [type, id, group, expected] of [
    ['user', person.id, 'desk', held],
    ['user', person.email, 'DESK', held],
    ['service_account', account.name, 'desk', held],
    ['role', role, 'desk', held],
    ['user', person.id, 'desk.drawer', named('open')],
    ['user', person.id, 'Desk.READ', named('all')],
    ['user', boss.id, 'desk', named('Archive', 'drawer.open', 'read', 'read.all', 'write')],
    ['user', idle.id, 'desk', []],
    ['user', newEmail(), 'desk', []],
    ['device', person.id, 'desk', []],
    ['user', person.id, 'de', []],
    ['user', boss.id, 'nothing', []],
  ] as const) {
    const results = await actions(type, id, group);
    assert.deepEqual(results, expected, `${type} ${id} ${group}`);
    for (const { name } of results) {
      const { body } = await ask('evaluation', {
        subject: { type, id },
        action: { name },
        resource: { type: group, id: 'x' },
      });
      assert.equal(body.decision, true);
    }
  }
  const search = { subject: { type: 'user', id: boss.id }, resource: { type: 'desk', id: 'any' } };
  for (const limit of [1, 2, 5]) {
    const { results, pages } = await allPages('search/action', search, limit);
    assert.deepEqual(results, named('Archive', 'drawer.open', 'read', 'read.all', 'write'));
    assert.equal(pages.length, Math.ceil(5 / limit));
  }
});

test('everybody may search their own actions; every other search needs access.check', async () => {
  const { client, person } = await signedInWith(service, 'paper.read');
  const mine = asking(service, client.accessToken);
  const resource = { type: 'paper', id: '1' };
  for (const id of [person.id, person.email]) {
    const { body } = await mine('search/action', { subject: { type: 'user', id }, resource });
    assert.deepEqual(body.results, [{ name: 'read' }]);
  }
  for (const [path, body] of [
    ['search/action', { subject: { type: 'user', id: superuser?.id }, resource }],
    ['search/action', { subject: { type: 'user', id: newEmail() }, resource }],
    ['search/subject', subjectSearch('user', 'paper.read', { subject: { type: 'user', id: person.id } })],
    ['search/subject', subjectSearch('device', 'paper.read')],
  ] as const) {
    const answer = await mine(path, body);
    assertRefused(answer, 403, 'permission_denied');
    assert.equal(answer.body.required_permission, 'access.check');
  }
});

test('a narrowed key finds its own account only with what it may do itself', async () => {
  const account = await addServiceAccount(service, {
    permissions: ['paper.read', 'paper.print', 'access.check'],
  });
  const narrow = async (...narrowedTo: string[]) =>
    asking(service, (await addApiKey(service, account.id, { narrowedTo })).key);
  const both = await narrow('access.check', 'paper.print');
  const finds = async (by: Ask, permission: string) => {
    const { body } = await by('search/subject', subjectSearch('service_account', permission));
    assert.equal(body.page.total, body.results.length);
    return idsOf(body.results).includes(account.id);
  };
  assert.deepEqual([await finds(both, 'paper.print'), await finds(both, 'paper.read')], [true, false]);
  assert.deepEqual([await finds(ask, 'paper.print'), await finds(ask, 'paper.read')], [true, true]);
  const own = { subject: { type: 'service_account', id: account.id }, resource: { type: 'paper', id: '1' } };
  assert.deepEqual((await both('search/action', own)).body.results, [{ name: 'print' }]);
  assert.deepEqual((await ask('search/action', own)).body.results, [{ name: 'print' }, { name: 'read' }]);
  const without = await narrow('paper.read');
  assertRefused(
    await without('search/subject', subjectSearch('role', 'paper.read')),
    403,
    'permission_denied',
  );
});

test('a change counts at the next search of every instance, also at its sixth', async () => {
  await addGroup('gate', 'open');
  const role = await addRole(service, 'gate.open');
  const person = await addPerson(service, { roles: [role] });
  const found = () =>
    Promise.all(
      [ask, ask.at(twin.url)].map(async (by) => {
        const subjects = (await by('search/subject', subjectSearch('user', 'gate.open'))).body.results;
        const actions = await by('search/action', {
          subject: { type: 'user', id: person.id },
          resource: { type: 'gate', id: '1' },
        });
        assert.equal(idsOf(subjects).includes(person.id), actions.body.results.length === 1);
        return actions.body.results.length === 1;
      }),
    );
  for (let time = 0; time < 7; time += 1) assert.deepEqual(await found(), [true, true]);
  const permission = "(select id from permissions where name = 'gate.open')";
  await service.sql(`delete from role_permissions where role_id = $1 and permission_id = ${permission}`, [
    role,
  ]);
  assert.deepEqual(await found(), [false, false]);
  await service.sql('update users set is_superuser = true where id = $1', [person.id]);
  assert.deepEqual(await found(), [true, true]);
  await service.sql('update users set is_active = false where id = $1', [person.id]);
  assert.deepEqual(await found(), [false, false]);
});

test('a search needs as many statements for a thousand results as for one', async () => {
  const counted = (limit: number) =>
    countStatements(service, () =>
      ask('search/subject', { ...subjectSearch('user', 'crowd.join'), page: { limit } }),
    );
  assert.deepEqual([await counted(1), await counted(1_000)], [2, 2]);
});
