// What userinfo, ID tokens and introspection tell about an account: by scope, by the parameter `claims`, and how much of it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { makeRole, makeRoleGroup } from '@castellan/testing/records/fixture';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { basicOf, formRequest, postForm } from '@castellan/testing/service-accounts/token-services';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { startWithAdmin } from '../applications/fixture.ts';
import { addApplication, addSignedIn, assertError, post, tokensOf, userinfo } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const web = await addApplication(admin, [service]);
const minimal = await addApplication(admin, [service], { id_token_claims: 'minimal' });
const all = ['openid', 'profile', 'email', 'roles', 'groups'];
const claimsOf = (token: string) => readToken(token).claims as unknown as Record<string, unknown>;

const top = await makeRoleGroup(admin, { name: 'A top' });
const middle = await makeRoleGroup(admin, { name: 'B middle', parent_id: top.id });
const leaf = await makeRoleGroup(admin, { name: 'C leaf', parent_id: middle.id });
const sibling = await makeRoleGroup(admin, { name: 'D sibling', parent_id: top.id });
const role = await makeRole(admin, { name: 'Zebra keeper' });
const second = await makeRole(admin, { name: 'Aardvark keeper' });
for (const [group, one] of [
  [leaf, role],
  [middle, second],
] as const)
  await service.sql('insert into role_group_roles (role_group_id, role_id) values ($1, $2)', [
    group.id,
    one.id,
  ]);

test('roles are names, groups those of the roles with all ancestors, each once and sorted', async () => {
  const who = await addSignedIn(service, { roles: [role.id, second.id], lastName: '' });
  const tokens = await tokensOf(service, web, who, { scopes: all });
  const { body, headers } = await userinfo(service, tokens.access_token);
  const { updated_at, ...told } = body;
  assert.deepEqual(told, {
    sub: who.person.id,
    name: 'Ada',
    given_name: 'Ada',
    preferred_username: who.person.email,
    email: who.person.email,
    email_verified: true,
    roles: ['Aardvark keeper', 'Zebra keeper'],
    groups: ['A top', 'B middle', 'C leaf'],
  });
  assert.match(headers.get('cache-control') ?? '', /no-store/);
  assert.ok(!body.groups.includes(sibling.name));
  const inToken = claimsOf(tokens.id_token);
  for (const [name, value] of Object.entries(told)) assert.deepEqual(inToken[name], value, name);
  // Read now.
  await service.sql('delete from user_roles where user_id = $1 and role_id = $2', [who.person.id, role.id]);
  const later = (await userinfo(service, tokens.access_token)).body;
  assert.deepEqual([later.roles, later.groups], [['Aardvark keeper'], ['A top', 'B middle']]);
});

test('a minimal ID token leaves the claims to userinfo, but for those that were asked for', async () => {
  const who = await addSignedIn(service, { roles: [role.id] });
  const claims = { id_token: { roles: { essential: true }, phone_number: null }, userinfo: { groups: null } };
  const tokens = await tokensOf(service, minimal, who, { scopes: ['openid', 'email'], claims });
  const inToken = claimsOf(tokens.id_token);
  assert.deepEqual([inToken.roles, inToken.email, inToken.groups], [['Zebra keeper'], undefined, undefined]);
  const { body } = await userinfo(service, tokens.access_token);
  assert.deepEqual(Object.keys(body).sort(), ['email', 'email_verified', 'groups', 'sub']);
});

test('what the application may no longer ask for is told no more', async () => {
  const own = await addApplication(admin, [service]);
  const tokens = await tokensOf(service, own, await addSignedIn(service), {
    scopes: all,
    claims: { userinfo: { email: null } },
  });
  const path = `/api/v1/applications/${own.id}`;
  assert.equal((await admin.put(path, { scopes: ['openid', 'roles'] })).status, 200);
  assert.deepEqual(Object.keys((await userinfo(service, tokens.access_token)).body), ['sub', 'roles']);
  assert.equal(
    (await post(service, 'introspect', own, { token: tokens.access_token })).body.scope,
    'openid roles',
  );
});

test('an ID token of more than 6 KiB drops roles and groups and says so; userinfo is whole', async () => {
  const roles = [];
  for (let made = 0; made < 100; made += 1)
    roles.push((await makeRole(admin, { name: `A role with a long name ${'x'.repeat(60)} ${made}` })).id);
  const who = await addSignedIn(service, { roles });
  const tokens = await tokensOf(service, web, who, { scopes: all });
  const told = claimsOf(tokens.id_token);
  assert.deepEqual([told.roles, told.groups, told._castellan_overage], [undefined, undefined, true]);
  assert.equal(told.email, who.person.email);
  assert.equal((await userinfo(service, tokens.access_token)).body.roles.length, 100);
  assert.ok(service.logLines.some((line) => line.includes('6 KiB') && line.includes(who.person.id)));
});

test('userinfo takes the token from the header or from the form of a POST, once, and never from the address', async () => {
  const { access_token: token } = await tokensOf(service, web, await addSignedIn(service));
  const send = (form: Record<string, string>, headers: Record<string, string> = {}) =>
    service.client().request('POST', '/api/v1/oauth/userinfo', formRequest(form, headers));
  const authorization = `Bearer ${token}`;
  assert.equal((await send({ access_token: token })).status, 200);
  assert.equal((await send({}, { authorization })).status, 200);
  assertError(await send({ access_token: token }, { authorization }), 400, 'invalid_request');
  const bare = await service.client().get(`/api/v1/oauth/userinfo?access_token=${token}`.replace(token, 'x'));
  assertError(bare, 401, 'invalid_token');
  assert.equal(bare.headers.get('www-authenticate'), 'Bearer');
  const dead = await userinfo(service, 'x');
  assertError(dead, 401, 'invalid_token');
  assert.equal(dead.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
});

test('a token is not active whose application is named as the person is to it', async () => {
  const fields = { subject_type: 'pairwise', sector: 'one.example.com' };
  const known = await addApplication(admin, [service], fields);
  const find = async () => {
    const who = await addSignedIn(service);
    const { access_token: token } = await tokensOf(service, known, who);
    return { who, sub: String((await userinfo(service, token)).body.sub) };
  };
  let { who, sub } = await find();
  // A client id begins with a letter or a digit.
  while (/^[-_]/.test(sub)) ({ who, sub } = await find());
  const named = await addApplication(admin, [service], { ...fields, client_id: sub });
  const { access_token: token } = await tokensOf(service, named, who);
  const account = await addServiceAccount(service, { permissions: ['token.introspect'] });
  const asked = await postForm(service, 'introspect', { token }, basicOf(account.id, account.key));
  assert.equal(asked.text, '{"active":false}');
});

test('introspection tells an application about its own tokens, and holders of the permission about all', async () => {
  const who = await addSignedIn(service, { roles: [role.id] });
  const { access_token: token, refresh_token } = await tokensOf(service, web, who, {
    scopes: ['openid', 'roles'],
  });
  const own = await post(service, 'introspect', web, { token, include: 'permissions' });
  const { exp, iat, nbf, jti, sid, auth_time, ...told } = own.body;
  assert.deepEqual(told, {
    active: true,
    sub: who.person.id,
    client_id: web.client_id,
    scope: 'openid roles',
    token_type: 'Bearer',
    iss: 'http://castellan.test',
    aud: 'http://castellan.test/api/v1/oauth/userinfo',
    acr: 'aal1',
    amr: ['pwd'],
    roles: ['Zebra keeper'],
    permissions: [],
  });
  assert.deepEqual([exp - iat, nbf], [300, iat]);
  assert.equal((await post(service, 'introspect', minimal, { token })).text, '{"active":false}');
  assert.equal((await post(service, 'introspect', web, { token: refresh_token })).text, '{"active":false}');
  const account = await addServiceAccount(service, { permissions: ['token.introspect'] });
  const all = { token, include: 'permissions' };
  const asked = await postForm(service, 'introspect', all, basicOf(account.id, account.key));
  const { active, username, roles, permissions } = asked.body;
  assert.deepEqual([active, asked.body.jti, username], [true, jti, who.person.email]);
  assert.deepEqual([roles, permissions], [[], []], 'who asks may not be whom the token is for');
  for (const scope of ['email', 'profile']) {
    const named = await tokensOf(service, web, who, { scopes: ['openid', scope] });
    const answer = await post(service, 'introspect', web, { token: named.access_token });
    assert.equal(answer.body.username, who.person.email, scope);
  }
  const spa = await addApplication(admin, [service], { type: 'spa' });
  assertError(await post(service, 'introspect', spa, { token }), 401, 'invalid_client');
});
