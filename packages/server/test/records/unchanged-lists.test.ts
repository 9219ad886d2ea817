// If-None-Match on lists of roles, permissions and groups, and on the own record: 304 exactly while the response would be
// the same.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually, signIn } from '@castellan/testing/harness';
import {
  etagOf,
  makePermission,
  makeRole,
  newName,
  startServiceWithAdmin,
} from '@castellan/testing/records/fixture';
import { addUser } from '@castellan/testing/sessions/accounts';
import { statementsOf } from '@castellan/testing/statements';
import pg from 'pg';

const { admin, service } = await startServiceWithAdmin({ after });

const ROLES = '/api/v1/roles';
const SUMMARIES = `${ROLES}/summaries?include=permission_ids`;
const COUNTED = [
  `${ROLES}/summaries?include=holders`,
  `${ROLES}?include=holders`,
  `${ROLES}/list?include=holders`,
];
const ROLE_LISTS = [ROLES, `${ROLES}/list`, `${ROLES}/summaries`, SUMMARIES, ...COUNTED];
const PERMISSIONS = ['/api/v1/permissions?size=100', '/api/v1/permissions?roles=none'];
const ROLE_GROUPS = ['/api/v1/role-groups'];
const PERMISSION_GROUPS = ['/api/v1/permission-groups'];
const ALL = [...ROLE_LISTS, ...PERMISSIONS, ...ROLE_GROUPS, ...PERMISSION_GROUPS];

const read = (path: string, etag: string | null = null) =>
  admin.get(path, etag === null ? {} : { headers: { 'if-none-match': etag } });

/** Reads the lists, changes something, and returns which lists answer differently; the others must answer 304. */
async function changedBy(change: () => Promise<unknown>): Promise<string[]> {
  const before = new Map<string, string>();
  for (const path of ALL) {
    const answer = await read(path);
    assert.equal(answer.status, 200, answer.text);
    before.set(path, etagOf(answer));
  }
  await change();
  const changed: string[] = [];
  for (const [path, etag] of before) {
    const answer = await read(path, etag);
    if (answer.status === 200) changed.push(path);
    else assert.deepEqual([answer.status, answer.text, etagOf(answer)], [304, '', etag], path);
  }
  return changed;
}

const put = async (path: string, json: object) => {
  const { status, text } = await admin.put(path, json);
  assert.equal(status, 200, text);
};

test('HEAD answers with the ETag of GET, and 304 to a client that has it, however a proxy has altered it', async () => {
  for (const path of [...ALL, '/api/v1/users/me', `${ROLES}/${(await makeRole(admin)).id}`]) {
    const etag = etagOf(await read(path));
    const head = await admin.request('HEAD', path);
    assert.deepEqual([head.status, head.text, etagOf(head)], [200, '', etag], path);
  }
  for (const path of ALL) {
    const etag = etagOf(await read(path));
    for (const held of [etag, etag.replace('W/', ''), etag.replace(/"$/, '-gzip"')]) {
      const head = await admin.request('HEAD', path, { headers: { 'if-none-match': held } });
      assert.deepEqual([head.status, head.text, etagOf(head)], [304, '', etag], `${path} ${held}`);
    }
  }
});

test('a list is 304 to a client that has it, and never to anybody with another ETag', async () => {
  assert.deepEqual(await changedBy(async () => {}), []);
  const etag = etagOf(await read(SUMMARIES));
  assert.match(etag, /^W\/"h[\w-]{22}"$/);
  for (const known of [`"x", ${etag}`, etag.slice(2), '*'])
    assert.equal((await read(SUMMARIES, known)).status, 304);
  for (const other of ['"x"', 'nonsense', etagOf(await read(ROLES))])
    assert.equal((await read(SUMMARIES, other)).status, 200);
});

test('a caller who may not read a list gets no 304 of it', async () => {
  const etag = etagOf(await read(SUMMARIES));
  const person = await addUser(service);
  const client = await signIn(service, person);
  const answer = await client.get(SUMMARIES, { headers: { 'if-none-match': etag } });
  assert.equal(answer.status, 403);
});

test('every change that a list shows ends its 304', async () => {
  const role = await makeRole(admin);
  const permission = await makePermission(admin);
  const [rolePath, groupId] = [`${ROLES}/${role.id}`, permission.group_id];
  const roleGroup = (await admin.post('/api/v1/role-groups', { name: newName('group') })).body.data;
  const includes = (changed: readonly string[], expected: readonly string[]) =>
    assert.deepEqual(
      expected.filter((path) => !changed.includes(path)),
      [],
    );
  includes(await changedBy(() => put(rolePath, { name: newName('renamed') })), ROLE_LISTS);
  includes(await changedBy(() => put(rolePath, { permission_ids: [permission.id] })), [
    ...ROLE_LISTS,
    ...PERMISSIONS,
  ]);
  // Not in the graph of roles and permissions:
  includes(await changedBy(() => put(rolePath, { role_group_id: roleGroup.id })), [
    ...ROLE_LISTS,
    ...ROLE_GROUPS,
  ]);
  includes(
    await changedBy(() => put(`/api/v1/role-groups/${roleGroup.id}`, { description: 'Other.' })),
    ROLE_GROUPS,
  );
  includes(await changedBy(() => put(`/api/v1/permission-groups/${groupId}`, { description: 'Other.' })), [
    ...PERMISSION_GROUPS,
  ]);
  const { id: author } = await addUser(service);
  for (const table of ['roles', 'permissions', 'role_groups', 'permission_groups'])
    await service.sql(`update ${table} set created_by_id = $1`, [author]);
  includes(await changedBy(() => admin.delete(`/api/v1/users/${author}`)), ALL);
  assert.equal((await read(SUMMARIES)).status, 200);
  // The holders of a role are in no stamp: only the lists that count them change.
  const { id: holder } = await addUser(service);
  assert.deepEqual(
    await changedBy(() =>
      service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [holder, role.id]),
    ),
    COUNTED,
  );
});

test('an unchanged list is sent again without reading it', async () => {
  for (const path of [...PERMISSIONS, ...ROLE_GROUPS, ...PERMISSION_GROUPS, ROLES, SUMMARIES]) {
    const first = await read(path);
    let second = first;
    const statements = await statementsOf(async () => {
      second = await read(path);
    });
    assert.deepEqual(
      [second.status, second.text, etagOf(second), second.headers.get('content-type')],
      [200, first.text, etagOf(first), first.headers.get('content-type')],
    );
    assert.deepEqual(
      statements.filter((text) => /\b(roles|permissions|role_groups|permission_groups)\b/.test(text)),
      [],
      path,
    );
  }
});

test('a list that shows a change during its read is not sent again when a failover loses that change', async () => {
  const [path] = ROLE_GROUPS as [string];
  const name = newName('group');
  const { id } = (await admin.post(path, { name })).body.data;
  const nameIn = ({ body }: Awaited<ReturnType<typeof read>>) =>
    body.data.find((group: { id: string }) => group.id === id)?.name;
  const [stamp] = await service.sql<{ stamp: string }>('select stamp from catalogue_version');
  const lost = new pg.Client(service.databaseUrl);
  await lost.connect();
  try {
    await lost.query('begin; lock table role_groups in access exclusive mode');
    await lost.query('update role_groups set name = $2 where id = $1', [id, `${name}, changed`]);
    const during = read(path);
    await eventually(async () => {
      const waiting = await service.sql(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return waiting.length > 0 || undefined;
    }, 'the list to wait for the table');
    await lost.query('commit');
    assert.equal(nameIn(await during), `${name}, changed`);
  } finally {
    await lost.end();
  }
  // The state before the change comes back, with its stamp.
  await service.sql('update role_groups set name = $2 where id = $1', [id, name]);
  await service.sql('update catalogue_version set stamp = $1', [stamp?.stamp]);
  assert.equal(nameIn(await read(path)), name);
});

test('a page of roles without holders is not 304 when a role of another page gets one', async () => {
  const name = newName('lone');
  const roles = [await makeRole(admin, { name }), await makeRole(admin, { name: `${name}-later` })];
  const { id: holder } = await addUser(service);
  const query = `?holders=none&size=1&name_pattern=${name}*`;
  const paths = [`${ROLES}${query}`, `${ROLES}/summaries${query}`];
  const before = await Promise.all(paths.map((path) => read(path)));
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [holder, roles[1]?.id]);
  for (const [index, path] of paths.entries()) {
    const answer = await read(path, etagOf(before[index] ?? assert.fail()));
    assert.deepEqual([before[index]?.body.pagination.total, answer.body?.pagination?.total], [2, 1], path);
  }
});

test('a summary has the counts of the role, and the ids of its permissions on request', async () => {
  const permissions = [await makePermission(admin), await makePermission(admin)];
  const ids = permissions.map(({ id }) => id).toSorted();
  const role = await makeRole(admin, { permission_ids: ids });
  const { id, name, description, role_group_id, is_system } = role;
  const empty = await makeRole(admin);
  const summaryOf = async (query: string, wanted: string) => {
    const { body } = await admin.get(`${ROLES}/summaries?size=100${query}`);
    return body.data.find((one: { id: string }) => one.id === wanted);
  };
  const { created_by_id } = role;
  const own = {
    id,
    name,
    description,
    role_group_id,
    is_system,
    created_by_id,
    version: 1,
    permission_count: 2,
  };
  assert.deepEqual(await summaryOf('', id), own);
  const both = await summaryOf('&include=permission_ids&include=holders', id);
  assert.deepEqual(
    { ...both, permission_ids: both.permission_ids.toSorted() },
    { ...own, permission_ids: ids, holders: 0 },
  );
  const nothing = await summaryOf('&include=permission_ids', empty.id);
  assert.deepEqual([nothing.permission_count, nothing.permission_ids], [0, []]);
  const page = (await admin.get(`${ROLES}/summaries?name_pattern=${encodeURIComponent(name)}&size=1`)).body;
  assert.deepEqual([page.data, page.pagination], [[own], { page: 1, limit: 1, total: 1, pages: 1 }]);
  const names = async (path: string) =>
    (await admin.get(path)).body.data.map((one: { name: string }) => one.name);
  assert.deepEqual(await names(`${ROLES}/summaries?size=100`), await names(`${ROLES}/list`));
});

test("the caller's own record is 304 until it or a permission changes, and can leave out the permissions of products", async () => {
  const permission = await makePermission(admin);
  const role = await makeRole(admin, { permission_ids: [permission.id] });
  const person = await addUser(service);
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [person.id, role.id]);
  const client = await signIn(service, person);
  const me = (query = '', etag?: string) =>
    client.get(`/api/v1/users/me${query}`, etag === undefined ? {} : { headers: { 'if-none-match': etag } });
  const first = await me();
  assert.deepEqual(first.body.data.permissions, [permission.name]);
  const own = await me('?permissions=builtin');
  assert.deepEqual(own.body, { ...first.body, data: { ...first.body.data, permissions: [] } });
  for (const [query, answer] of [
    ['', first],
    ['?permissions=builtin', own],
  ] as const) {
    const again = await me(query, etagOf(answer));
    assert.deepEqual([again.status, again.text, etagOf(again)], [304, '', etagOf(answer)]);
  }
  assert.equal((await me('', etagOf(own))).status, 200);
  await put(`${ROLES}/${role.id}`, { permission_ids: [] });
  const later = await me('', etagOf(first));
  assert.deepEqual([later.status, later.body.data.permissions], [200, []]);
  // What the person may do with the service itself has not changed.
  assert.equal((await me('?permissions=builtin', etagOf(own))).status, 304);
  // The number counts for If-Match.
  const [number] = /\d+/.exec(etagOf(later)) ?? [];
  assert.equal(etagOf(await admin.get(`/api/v1/users/${person.id}`)), `"${number}"`);
});

test('requests at the same time after a change make the list once', async () => {
  await admin.post('/api/v1/role-groups', { name: newName('group') });
  const blocker = new pg.Client(service.databaseUrl);
  await blocker.connect();
  try {
    await blocker.query('begin; lock table role_groups');
    const statements = await statementsOf(async () => {
      const answers = Promise.all(Array.from({ length: 5 }, () => read('/api/v1/role-groups')));
      await eventually(async () => {
        const { rows } = await blocker.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return rows[0];
      }, 'a request to wait');
      await blocker.query('commit');
      const [first, ...others] = await answers;
      assert.equal(first?.status, 200, first?.text);
      for (const other of others) assert.deepEqual([other.status, other.text], [200, first?.text]);
    });
    assert.equal(statements.filter((text) => text.includes('with recursive tree')).length, 1);
  } finally {
    await blocker.end();
  }
});
