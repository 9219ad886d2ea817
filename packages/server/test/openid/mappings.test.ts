// Claims beyond those of the scopes: what mappings make of roles, groups and permissions, where, and for whom; and their preview.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefused } from '@castellan/testing/http/fixture';
import { makeRole, makeRoleGroup } from '@castellan/testing/records/fixture';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { addRole, signedInWith } from '@castellan/testing/users/people';
import { isLike } from '../../src/modules/openid/claims/mappings.ts';
import { newId } from '../../src/platform/ids.ts';
import { assertFieldRefused, makeApplication, path, startWithAdmin } from '../applications/fixture.ts';
import { addApplication, addSignedIn, tokensOf, userinfo } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const claimsOf = (token: string) => readToken(token).claims as unknown as Record<string, unknown>;
const both = ['id_token', 'userinfo'];

const top = await makeRoleGroup(admin, { name: 'Monitoring' });
const group = await makeRoleGroup(admin, { name: 'Dashboards', parent_id: top.id });
const editors = await makeRole(admin, { name: 'Grafana Editors' });
const admins = await makeRole(admin, { name: 'Grafana Admins' });
const others = await makeRole(admin, { name: 'Accounting' });
await service.sql('insert into role_group_roles (role_group_id, role_id) values ($1, $2)', [
  group.id,
  editors.id,
]);
const readers = await addRole(service, 'role.read', 'audit_log.read');
const map = { 'Grafana Admins': 'Admin', 'grafana editors': 'Editor', Viewers: 'Viewer' };

test('each source and each form tells what the person holds at that moment', async () => {
  const claims = [
    { name: 'role_list', from: 'role', as: 'list', in: both },
    { name: 'like', from: 'role', match: 'GRAFANA *', as: 'list', in: both },
    { name: 'grafana_role', from: 'role', map, as: 'first', in: both },
    { name: 'mapped', from: 'role', map, as: 'list', in: both },
    { name: 'group_text', from: 'role_group', as: 'text', in: both },
    { name: 'either', from: 'role_or_group', match: '?ashboards', as: 'boolean', in: both },
    { name: 'may', from: 'permission', match: 'audit_*', as: 'list', in: both },
    { name: 'is_root', from: 'superuser', as: 'boolean', in: both },
    { name: 'https://example.com/none', from: 'role', match: 'nothing', as: 'first', in: both },
    { name: 'no_text', from: 'role', match: 'nothing', as: 'text', in: both },
    { name: 'no_list', from: 'role', match: 'nothing', as: 'list', in: both },
  ];
  // The groups scope is not asked for: the mappings need the groups all the same.
  const application = await addApplication(admin, [service], { claims, scopes: ['openid'] });
  const who = await addSignedIn(service, { roles: [editors.id, admins.id, others.id, readers] });
  const tokens = await tokensOf(service, application, who, { scopes: ['openid'] });
  const { sub, role_list, ...told } = (await userinfo(service, tokens.access_token)).body;
  assert.equal(sub, who.person.id);
  assert.deepEqual(role_list.slice(0, 3), ['Accounting', 'Grafana Admins', 'Grafana Editors']);
  const expected = {
    like: ['Grafana Admins', 'Grafana Editors'],
    grafana_role: 'Admin',
    mapped: ['Admin', 'Editor'],
    group_text: 'Dashboards Monitoring',
    either: true,
    may: ['audit_log.read'],
    is_root: false,
    no_list: [],
  };
  assert.deepEqual(told, expected);
  const inToken = claimsOf(tokens.id_token);
  for (const [name, value] of Object.entries(expected)) assert.deepEqual(inToken[name], value, name);
  await service.sql('delete from user_roles where user_id = $1 and role_id = $2', [who.person.id, admins.id]);
  const later = (await userinfo(service, tokens.access_token)).body;
  assert.deepEqual([later.grafana_role, later.mapped], ['Editor', ['Editor']]);
  await service.sql('update users set is_superuser = true where id = $1', [who.person.id]);
  const root = (await userinfo(service, tokens.access_token)).body;
  assert.deepEqual([root.is_root, root.may], [true, ['audit_log.read']]);
});

test('a mapping is told in its places, with its scope or when it is asked for, also in a minimal ID token', async () => {
  const claims = [
    { name: 'only_token', from: 'superuser', as: 'boolean', in: ['id_token'] },
    { name: 'only_userinfo', from: 'superuser', as: 'boolean', in: ['userinfo'] },
    { name: 'with_groups', from: 'superuser', as: 'boolean', in: both, scope: 'groups' },
    { name: 'with_roles', from: 'superuser', as: 'boolean', in: both, scope: 'roles' },
    { name: 'with_email', from: 'superuser', as: 'boolean', in: both, scope: 'email' },
  ];
  const fields = { claims, scopes: ['openid', 'groups', 'roles'], id_token_claims: 'minimal' };
  const application = await addApplication(admin, [service], fields);
  const who = await addSignedIn(service);
  const tokens = await tokensOf(service, application, who, {
    scopes: ['openid', 'groups'],
    // The application may not ask for `email`; `only_userinfo` is no claim of ID tokens.
    claims: { id_token: { with_roles: null, with_email: null, only_userinfo: null } },
  });
  const { sub, groups, ...told } = (await userinfo(service, tokens.access_token)).body;
  assert.deepEqual(told, { only_userinfo: false, with_groups: false });
  const mapped = Object.keys(claimsOf(tokens.id_token)).filter((name) => /^(only|with)_/.test(name));
  assert.deepEqual(mapped, ['only_token', 'with_groups', 'with_roles']);
  assert.equal(claimsOf(tokens.id_token).groups, undefined);
});

test('a large ID token drops mapped lists and texts, and keeps the rest', async () => {
  const claims = [
    { name: 'everything', from: 'permission', as: 'list', in: both },
    { name: 'everything_text', from: 'permission', as: 'text', in: both },
    { name: 'grafana_role', from: 'role', map, as: 'first', in: both },
  ];
  const application = await addApplication(admin, [service], { claims });
  const who = await addSignedIn(service, { superuser: true, roles: [admins.id] });
  await service.sql(
    `insert into permissions (id, name, group_id)
     select gen_random_uuid(), 'role.' || repeat('x', 80) || n, (select group_id from permissions where name = 'role.read')
     from generate_series(1, 60) n`,
  );
  const tokens = await tokensOf(service, application, who);
  const told = claimsOf(tokens.id_token);
  assert.deepEqual(
    [told.everything, told.everything_text, told.grafana_role, told._castellan_overage],
    [undefined, undefined, 'Admin', true],
  );
  const { body } = await userinfo(service, tokens.access_token);
  assert.ok(body.everything.length > 60 && body.everything_text.length > 5_000);
  const preview = await admin.post(`${path}/${application.id}/claims-preview`, { user_id: who.person.id });
  assert.deepEqual(
    [preview.body.data.id_token_overage, preview.body.data.id_token.everything],
    [true, undefined],
  );
});

test('mappings that would stand for something else, or that cannot be kept, are refused', async () => {
  const mapping = (fields: object) => ({
    name: 'one',
    from: 'role',
    as: 'list',
    in: ['userinfo'],
    ...fields,
  });
  const send = async (...claims: object[]) =>
    admin.post(path, { client_id: `app-${newId().slice(0, 13)}`, name: newId().slice(0, 13), claims });
  for (const name of [
    'sub',
    'iss',
    'acr',
    'sid',
    'email',
    'roles',
    'permissions',
    'address',
    'cnf',
    'act',
    '__proto__',
    '_castellan_x',
  ]) {
    const answer = await send(mapping({ name }));
    assertFieldRefused(answer, 'claims.0.name');
    assert.equal(answer.body.errors[0].code, 'reserved_name', name);
  }
  for (const name of ['a b', '', 'ä', 'a"b', 'x'.repeat(251)])
    assert.equal((await send(mapping({ name }))).status, 422, name);
  assertFieldRefused(await send(mapping({}), mapping({ from: 'superuser' })), 'claims.1.name');
  assertFieldRefused(await send(mapping({ map: { 2027: 'x' } })), 'claims.0.map');
  assertFieldRefused(await send(mapping({ map: { '': 'x' } })), 'claims.0.map');
  assertFieldRefused(await send(mapping({ map: { ['x'.repeat(251)]: 'x' } })), 'claims.0.map');
  for (const fields of [
    { as: 'set' },
    { from: 'user' },
    { in: [] },
    { in: ['header'] },
    { scope: 'x' },
    { match: '' },
    { map: { a: 1 } },
  ])
    assert.equal((await send(mapping(fields))).status, 422, JSON.stringify(fields));
  const many = Array.from({ length: 21 }, (_, index) => mapping({ name: `c${index}` }));
  assert.equal((await send(...many)).status, 422);
});

test('a map keeps its order, and names in it are no fields of the record', async () => {
  const ordered = { zebra: 'z', roles: 'r', password: 'p', aardvark: 'a' };
  const claims = [
    { name: 'one', from: 'role', map: ordered, as: 'first', in: ['userinfo', 'userinfo'], else: 1 },
  ];
  const application = await makeApplication(admin, { claims });
  const read = await admin.get(`${path}/${application.id}`);
  assert.deepEqual(Object.keys(read.body.data.claims[0].map), Object.keys(ordered));
  assert.deepEqual(read.body.data.claims[0].in, ['userinfo']);
  const [stored] = await service.sql<{ claims: object[] }>('select claims from applications where id = $1', [
    application.id,
  ]);
  assert.deepEqual(stored?.claims, read.body.data.claims);
  // Sent back whole, it changes nothing.
  const { id, created_at, updated_at, created_by_id, ...fields } = read.body.data;
  const put = await admin.put(`${path}/${application.id}`, fields);
  assert.deepEqual([put.status, put.headers.get('etag')], [200, read.headers.get('etag')]);
});

test('the preview tells what tokens tell, whether the person may sign in, and needs both permissions', async () => {
  const claims = [{ name: 'grafana_role', from: 'role', map, as: 'first', in: both }];
  const [permission] = await service.sql<{ id: string }>(
    `select id from permissions where name = 'role.read'`,
  );
  const application = await addApplication(admin, [service], {
    claims,
    required_permission_id: permission?.id,
    subject_type: 'pairwise',
  });
  const who = await addSignedIn(service, { roles: [editors.id, readers] });
  const all = ['openid', 'profile', 'email', 'roles', 'groups'];
  const tokens = await tokensOf(service, application, who, { scopes: all });
  const preview = async (userId: string, client = admin) =>
    client.post(`${path}/${application.id}/claims-preview`, { user_id: userId });
  const { status, body } = await preview(who.person.id.toUpperCase());
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.data.may_sign_in, body.data.scopes, body.data.id_token_overage], [true, all, false]);
  assert.deepEqual(body.data.userinfo, (await userinfo(service, tokens.access_token)).body);
  assert.equal(body.data.userinfo.grafana_role, 'Editor');
  assert.notEqual(body.data.userinfo.sub, who.person.id);
  const told = claimsOf(tokens.id_token);
  for (const [name, value] of Object.entries(body.data.id_token)) assert.deepEqual(told[name], value, name);
  assert.deepEqual(
    Object.keys(told)
      .filter((name) => !(name in body.data.id_token))
      .sort(),
    ['acr', 'amr', 'at_hash', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'sid'],
  );
  const stranger = await addSignedIn(service);
  assert.equal((await preview(stranger.person.id)).body.data.may_sign_in, false);
  await service.sql('update users set is_active = false where id = $1', [who.person.id]);
  assert.equal((await preview(who.person.id)).body.data.may_sign_in, false);
  assertRefused(await preview(newId()), 404, 'user_not_found');
  const unknown = await admin.post(`${path}/${newId()}/claims-preview`, { user_id: who.person.id });
  assertRefused(unknown, 404, 'application_not_found');
  for (const permission of ['application.read', 'users.read']) {
    const { client } = await signedInWith(service, permission);
    assertRefused(await preview(who.person.id, client), 403, 'permission_denied');
  }
  const { client } = await signedInWith(service, 'application.read', 'users.read');
  assert.equal((await preview(who.person.id, client)).status, 200);
});

test('patterns', () => {
  for (const [text, pattern, expected] of [
    ['abc', 'abc', true],
    ['abc', 'a*', true],
    ['abc', '*c', true],
    ['abc', 'a?c', true],
    ['abc', '*', true],
    ['', '*', true],
    ['abc', '?', false],
    ['abc', 'b*', false],
    ['abc', 'abc?', false],
    ['aXbXc', 'a*X?', true],
    ['a.c', 'a.c', true],
    ['abc', 'a.c', false],
  ] as const)
    assert.equal(isLike(text, pattern), expected, `${text} ${pattern}`);
  const began = performance.now();
  assert.equal(isLike('a'.repeat(250), `${'*a'.repeat(124)}*b`), false);
  assert.ok(performance.now() - began < 1_000);
});
