// Access tokens for API resources: what they carry, when they end, and where they count for nothing.
import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { basicOf, postForm } from '@castellan/testing/service-accounts/token-services';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { addRole, signedInWith } from '@castellan/testing/users/people';
import { newId } from '../../src/platform/ids.ts';
import { assertFieldRefused, path, startWithAdmin } from '../applications/fixture.ts';
import {
  addApplication,
  addGrant,
  addSignedIn,
  assertError,
  exchange,
  post,
  refresh,
  type SignedIn,
  type TestApplication,
  userinfo,
} from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const api = async (method: 'post' | 'put', address: string, body: object) => {
  const answer = await admin[method](`/api/v1/${address}`, body);
  assert.ok(answer.status < 300, answer.text);
  return answer.body.data;
};
const orders = await api('post', 'permission-groups', { name: 'orders' });
const invoices = await api('post', 'permission-groups', { name: 'invoices' });
const permission = async (name: string, group_id: string): Promise<string> =>
  (await api('post', 'permissions', { name, group_id })).id;
const read = await permission('read', orders.id);
const write = await permission('write', orders.id);
const ship = await permission('ship', orders.id);
const pay = await permission('pay', invoices.id);
let made = 0;
const addResource = async (fields: object = {}) => {
  made += 1;
  const identifier = `https://orders-${made}.example.com`;
  return api('post', 'api-resources', {
    identifier,
    name: 'Orders',
    permission_group_ids: [orders.id],
    ...fields,
  });
};
type Resource = { id: string; identifier: string };
const resource = await addResource();
const resourcesWith = (one: Resource, permission_ids: string[] | null = [read, write]) => [
  { resource_id: one.id, permission_ids },
];
const application = await addApplication(admin, [service], {
  resources: resourcesWith(resource),
  scopes: ['openid', 'permissions', 'roles'],
});
const claimsOf = (token: string) => readToken(token).claims as unknown as Record<string, unknown>;
const writer = await addRole(service, 'orders.read', 'orders.write', 'orders.ship');

/** Inserts a grant that the person agreed to with these permissions. */
async function grantOf(
  of: TestApplication,
  who: SignedIn,
  one: Resource,
  permissionIds: string[] = [read, write, ship],
  scopes = ['openid'],
) {
  const grant = await addGrant(service, of, who, { scopes });
  await service.sql('update access_grants set resources = $2 where id = $1', [
    grant.id,
    JSON.stringify(resourcesWith(one, permissionIds)),
  ]);
  return grant;
}

async function tokensFor(of: TestApplication, who: SignedIn, one: Resource, permissionIds?: string[]) {
  const answer = await exchange(service, of, await grantOf(of, who, one, permissionIds), {
    resource: one.identifier,
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

const introspect = async (token: string, of: TestApplication = application): Promise<Answer['body']> =>
  (await post(service, 'introspect', of, { token, include: 'permissions' })).body;

test('a token for an API resource is a signed JWT with what application, person and moment have in common', async () => {
  const who = await addSignedIn(service, { roles: [writer] });
  const tokens = await tokensFor(application, who, resource);
  const [head = '', body = '', signature = ''] = tokens.access_token.split('.');
  const { kid, ...header } = JSON.parse(Buffer.from(head, 'base64url').toString());
  assert.deepEqual(header, { alg: 'RS256', typ: 'at+jwt' });
  const { keys } = (await service.client().get('/api/v1/oauth/jwks.json')).body;
  const key = createPublicKey({ key: keys.find((one: { kid: string }) => one.kid === kid), format: 'jwk' });
  assert.ok(verify('sha256', Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url')));
  const { iat, nbf, exp, jti, sid, auth_time, ...told } = claimsOf(tokens.access_token);
  // The application may not carry orders.ship.
  const scope = 'orders.read orders.write';
  assert.deepEqual(told, {
    iss: 'http://castellan.test',
    sub: who.person.id,
    aud: resource.identifier,
    client_id: application.client_id,
    scope,
    acr: 'aal1',
    amr: ['pwd'],
  });
  assert.deepEqual([Number(exp) - Number(iat), nbf, tokens.expires_in], [300, iat, 300]);
  assert.deepEqual([tokens.scope, claimsOf(tokens.id_token).sid], [scope, sid]);
  const { active, ...known } = await introspect(tokens.access_token);
  assert.ok(active);
  assert.deepEqual(
    [known.aud, known.scope, known.permissions, known.roles, known.jti, known.sid, known.exp],
    [resource.identifier, scope, ['orders.read', 'orders.write'], [], jti, sid, exp],
  );
  const account = await addServiceAccount(service, { permissions: ['token.introspect'] });
  const asked = await postForm(
    service,
    'introspect',
    { token: tokens.access_token, include: 'permissions' },
    basicOf(account.id, account.key),
  );
  const { roles, permissions } = asked.body;
  assert.deepEqual([asked.body.active, asked.body.jti, asked.body.scope], [true, jti, scope]);
  assert.deepEqual([roles, permissions], [[], []], 'who asks may not be the API that it is for');
  const stranger = await addApplication(admin, [service]);
  assert.deepEqual(await introspect(tokens.access_token, stranger), { active: false });
});

test('it opens neither userinfo nor the API of Castellan, not even for a superuser', async () => {
  const tokens = await tokensFor(application, await addSignedIn(service, { superuser: true }), resource);
  assertError(await userinfo(service, tokens.access_token), 401, 'invalid_token');
  for (const address of ['/api/v1/users/me', '/api/v1/users']) {
    const answer = await service
      .client()
      .get(address, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    assertRefused(answer, 401, 'token_invalid');
  }
  // One byte of the signature or another algorithm is another token.
  const [head = '', body = '', signature = ''] = tokens.access_token.split('.');
  const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt' })).toString('base64url');
  for (const forged of [
    `${head}.${body}.`,
    `${none}.${body}.`,
    `${none}.${body}.${signature}`,
    `${head}.${body}.x${signature.slice(1)}y`,
  ])
    assert.deepEqual(await introspect(forged), { active: false });
});

test('a lost permission leaves the scope at once; a lost rule, group, resource, key or identifier ends the token', async () => {
  const own = await addResource();
  const of = await addApplication(admin, [service], { resources: resourcesWith(own) });
  const role = await addRole(service, 'orders.read');
  const other = await addRole(service, 'orders.write');
  const who = await addSignedIn(service, { roles: [role, other] });
  const { access_token: token } = await tokensFor(of, who, own);
  assert.equal((await introspect(token, of)).scope, 'orders.read orders.write');
  await service.sql('delete from user_roles where user_id = $1 and role_id = $2', [who.person.id, other]);
  assert.equal((await introspect(token, of)).scope, 'orders.read');
  await api('put', `applications/${of.id}`, { resources: resourcesWith(own, [write]) });
  const bare = await introspect(token, of);
  assert.deepEqual([bare.active, bare.scope, bare.permissions], [true, undefined, []]);
  await api('put', `api-resources/${own.id}`, { permission_group_ids: [invoices.id] });
  assert.deepEqual((await admin.get(`${path}/${of.id}`)).body.data.resources, resourcesWith(own, []));
  // A group that comes back brings nothing back.
  await api('put', `api-resources/${own.id}`, { permission_group_ids: [orders.id] });
  assert.deepEqual((await admin.get(`${path}/${of.id}`)).body.data.resources, resourcesWith(own, []));
  const identifier = `${own.identifier}/moved`;
  await api('put', `api-resources/${own.id}`, { identifier });
  assert.deepEqual(await introspect(token, of), { active: false });
  const moved = { ...own, identifier };
  const second = (await tokensFor(of, who, moved)).access_token;
  assert.ok((await introspect(second, of)).active);
  assertRefused(await admin.delete(`/api/v1/api-resources/${own.id}`), 409, 'api_resource_in_use');
  await api('put', `applications/${of.id}`, { resources: [] });
  assert.deepEqual(await introspect(second, of), { active: false });
  assert.equal((await admin.delete(`/api/v1/api-resources/${own.id}`)).status, 200);
  const third = (await tokensFor(application, await addSignedIn(service), resource)).access_token;
  assert.ok((await introspect(third)).active);
  await service.sql('update application_tokens set key_id = $1 where jti = $2', [
    'gone',
    claimsOf(third).jti,
  ]);
  assert.deepEqual(await introspect(third), { active: false });
});

test('revocation ends it alone; the end of the session ends it with its grant', async () => {
  const who = await addSignedIn(service, { roles: [writer] });
  const tokens = await tokensFor(application, who, resource);
  assert.equal((await post(service, 'revoke', null, { token: tokens.access_token })).status, 200);
  assert.deepEqual(await introspect(tokens.access_token), { active: false });
  const next = await refresh(service, application, tokens.refresh_token, { resource: resource.identifier });
  assert.equal(next.status, 200, next.text);
  assert.ok((await introspect(next.body.access_token)).active);
  await service.sql('update sessions set revoked_at = now() where id = $1', [who.sessionId]);
  assert.deepEqual(await introspect(next.body.access_token), { active: false });
});

test('an answer names the scope of its token, also if nothing of what was asked is left of it', async () => {
  const role = await addRole(service, 'orders.read');
  const who = await addSignedIn(service, { roles: [role] });
  const tokens = await tokensFor(application, who, resource, [read]);
  assert.equal(tokens.scope, 'orders.read');
  await service.sql('delete from user_roles where user_id = $1', [who.person.id]);
  const next = await refresh(service, application, tokens.refresh_token, { resource: resource.identifier });
  assert.deepEqual([next.status, next.body.scope], [200, ''], next.text);
});

test('a refresh brings a token for userinfo or for a resource, and narrows its scope', async () => {
  const who = await addSignedIn(service, { roles: [writer] });
  const tokens = await tokensFor(application, who, resource);
  const plain = await refresh(service, application, tokens.refresh_token);
  assert.deepEqual([plain.body.scope, plain.body.access_token.startsWith('cas_at_')], ['openid', true]);
  const ask = (refreshToken: string, scope: string) =>
    refresh(service, application, refreshToken, { resource: resource.identifier, scope });
  const narrow = await ask(plain.body.refresh_token, 'orders.read');
  assert.deepEqual([narrow.body.scope, narrow.body.id_token], ['orders.read', undefined], narrow.text);
  assertError(await ask(narrow.body.refresh_token, 'orders.ship'), 400, 'invalid_scope');
  const wide = await ask(narrow.body.refresh_token, 'openid orders.write');
  assert.deepEqual([wide.body.scope, typeof wide.body.id_token], ['orders.write', 'string'], wide.text);
});

test('a resource that is unknown, not of the application or not agreed to is invalid_target, and costs no code', async () => {
  const who = await addSignedIn(service, { roles: [writer] });
  const foreign = await addResource();
  const grant = await grantOf(application, who, resource);
  for (const identifier of [
    'https://nowhere.example.com',
    foreign.identifier,
    `${resource.identifier}/`,
    'x',
  ])
    assertError(await exchange(service, application, grant, { resource: identifier }), 400, 'invalid_target');
  assert.equal((await exchange(service, application, grant, { resource: resource.identifier })).status, 200);
  const unasked = await addGrant(service, application, who);
  assertError(
    await exchange(service, application, unasked, { resource: resource.identifier }),
    400,
    'invalid_target',
  );
});

test('a token carries at most 100 scopes', async () => {
  const many = await api('post', 'permission-groups', { name: 'many' });
  await service.sql(
    `insert into permissions (id, name, group_id) select gen_random_uuid(), 'many.p' || n, $1 from generate_series(1, 101) n`,
    [many.id],
  );
  const own = await addResource({
    permission_group_ids: [many.id],
    signing_alg: 'ES256',
    access_token_seconds: 60,
  });
  const of = await addApplication(admin, [service], { resources: resourcesWith(own, null) });
  const stored = (await admin.get(`${path}/${of.id}`)).body.data.resources[0].permission_ids;
  assert.equal(stored.length, 101);
  const who = await addSignedIn(service, { superuser: true });
  const grant = await grantOf(of, who, own, stored);
  assertError(await exchange(service, of, grant, { resource: own.identifier }), 400, 'invalid_scope');
  const tokens = await tokensFor(of, who, own, stored.slice(0, 100));
  assert.equal(tokens.scope.split(' ').length, 100);
  const [head = ''] = tokens.access_token.split('.');
  assert.equal(JSON.parse(Buffer.from(head, 'base64url').toString()).alg, 'ES256');
  assert.equal(tokens.expires_in, 60);
});

test('the scope permissions tells those in the groups of the resources, and a mapping may be in access tokens', async () => {
  const claims = [{ name: 'is_root', from: 'superuser', as: 'boolean', in: ['access_token'] }];
  const of = await addApplication(admin, [service], {
    resources: resourcesWith(resource),
    scopes: ['openid', 'permissions'],
    claims,
  });
  const who = await addSignedIn(service, {
    roles: [writer, await addRole(service, 'role.read', 'invoices.pay')],
  });
  const grant = await grantOf(of, who, resource, [read], ['openid', 'permissions']);
  const plain = await exchange(service, of, grant);
  const held = ['orders.read', 'orders.ship', 'orders.write'];
  assert.deepEqual(claimsOf(plain.body.id_token).permissions, held);
  assert.deepEqual((await userinfo(service, plain.body.access_token)).body, {
    sub: who.person.id,
    permissions: held,
  });
  const tokens = await tokensFor(of, who, resource);
  assert.deepEqual(
    [claimsOf(tokens.access_token).is_root, claimsOf(tokens.id_token).is_root],
    [false, undefined],
  );
});

test('null stands for what exists and the writer holds; later permissions widen nothing, and deleted ones go', async () => {
  const { client } = await signedInWith(
    service,
    'application.create',
    'application.read',
    'orders.read',
    'orders.write',
  );
  const fields = (resources: object) => ({
    client_id: `app-${newId().slice(0, 13)}`,
    name: newId().slice(0, 13),
    resources,
  });
  const answer = await client.post(path, fields(resourcesWith(resource, null)));
  assert.equal(answer.status, 201, answer.text);
  assert.deepEqual(answer.body.data.resources, resourcesWith(resource, [read, write].sort()));
  const later = await permission('later', orders.id);
  assert.deepEqual(
    (await client.get(`${path}/${answer.body.data.id}`)).body.data.resources,
    answer.body.data.resources,
  );
  const own = await api('post', 'applications', fields(resourcesWith(resource, [later])));
  await service.sql('delete from role_permissions where permission_id = $1', [later]);
  assert.equal((await admin.delete(`/api/v1/permissions/${later}`)).status, 200);
  assert.deepEqual((await admin.get(`${path}/${own.id}`)).body.data.resources, resourcesWith(resource, []));
  assertFieldRefused(
    await admin.post(path, fields(resourcesWith(resource, [pay]))),
    'resources.0.permission_ids',
  );
  const twice = [...resourcesWith(resource), ...resourcesWith(resource)];
  assertFieldRefused(await admin.post(path, fields(twice)), 'resources.1.resource_id');
  const unknown = { id: newId(), identifier: '' };
  assertRefused(await admin.post(path, fields(resourcesWith(unknown))), 404, 'api_resource_not_found');
});

test('who lacks what tokens may carry cannot decide who receives them', async () => {
  const all = ['application.create', 'application.read', 'application.update'];
  const { client } = await signedInWith(service, ...all, 'orders.read');
  const own = await addApplication(admin, [service], { resources: resourcesWith(resource) });
  const address = `${path}/${own.id}`;
  const fields = { client_id: `app-${newId().slice(0, 13)}`, name: newId().slice(0, 13) };
  const created = await client.post(path, { ...fields, resources: resourcesWith(resource) });
  assertRefused(created, 403, 'privilege_escalation');
  assert.match(created.body.detail, /orders\.write/);
  for (const change of [
    { redirect_uris: ['https://evil.example.com/callback'] },
    { allowed_origins: ['https://evil.example.com'] },
    { auth_method: 'none' },
    { jwks_url: 'https://evil.example.com/jwks.json' },
    { grant_types: ['authorization_code'] },
    { resources: resourcesWith(resource, [read]) },
    { resources: [] },
  ])
    assertRefused(await client.put(address, change), 403, 'privilege_escalation');
  assertRefused(await client.post(`${address}/secrets`, {}), 403, 'privilege_escalation');
  const { data } = (await client.get(address)).body;
  assert.equal((await client.put(address, { description: 'Ours', resources: data.resources })).status, 200);
  const holder = await signedInWith(service, ...all, 'orders.read', 'orders.write');
  assert.equal((await holder.client.post(`${address}/secrets`, {})).status, 201);
  assert.equal(
    (await holder.client.put(address, { resources: resourcesWith(resource, [read]) })).status,
    200,
  );
  assert.equal((await client.post(`${address}/secrets`, {})).status, 201);
});

test('a large token for an API resource drops mapped lists and texts, and keeps the rest', async () => {
  const mapped = { from: 'permission', in: ['access_token'] };
  const of = await addApplication(admin, [service], {
    resources: resourcesWith(resource),
    claims: [
      { ...mapped, name: 'everything', as: 'list' },
      { ...mapped, name: 'everything_text', as: 'text' },
      { ...mapped, name: 'anything', as: 'boolean' },
    ],
  });
  const role = await addRole(service, 'orders.read', 'orders.write');
  const who = await addSignedIn(service, { roles: [role] });
  const small = claimsOf((await tokensFor(of, who, resource)).access_token);
  assert.deepEqual(
    [Array.isArray(small.everything), small.anything, small._castellan_overage],
    [true, true, undefined],
  );
  await service.sql(
    `with added as (
       insert into permissions (id, name, group_id)
       select gen_random_uuid(), 'orders.' || repeat('x', 80) || n, $1 from generate_series(1, 40) n
       returning id)
     insert into role_permissions (role_id, permission_id) select $2, id from added`,
    [orders.id, role],
  );
  const { access_token: text } = await tokensFor(of, who, resource);
  assert.ok(text.length <= 6_144);
  const { everything, everything_text, anything, scope, _castellan_overage } = claimsOf(text);
  assert.deepEqual(
    [everything, everything_text, anything, scope, _castellan_overage],
    [undefined, undefined, true, 'orders.read orders.write', true],
  );
  assert.ok(service.logLines.some((line) => line.includes('6 KiB') && line.includes(who.person.id)));
});

test('scopes whose names are too long for a token together are refused, and fewer are not', async () => {
  const wide = await api('post', 'permission-groups', { name: 'wide' });
  await service.sql(
    `insert into permissions (id, name, group_id)
     select gen_random_uuid(), 'wide.' || repeat('p', 92) || n, $1 from generate_series(1, 100) n`,
    [wide.id],
  );
  const identifier = `https://wide.example.com/${'x'.repeat(1_900)}`;
  const own = await addResource({ permission_group_ids: [wide.id], identifier });
  const of = await addApplication(admin, [service], { resources: resourcesWith(own, null) });
  const stored = (await admin.get(`${path}/${of.id}`)).body.data.resources[0].permission_ids;
  const who = await addSignedIn(service, { superuser: true });
  const grant = await grantOf(of, who, own, stored);
  assertError(await exchange(service, of, grant, { resource: own.identifier }), 400, 'invalid_scope');
  // The code is not used up.
  const plain = await exchange(service, of, grant);
  assert.equal(plain.status, 200, plain.text);
  const [name] = await service.sql<{ name: string }>('select name from permissions where id = $1', [
    stored[0],
  ]);
  const narrow = await refresh(service, of, plain.body.refresh_token, {
    resource: own.identifier,
    scope: name?.name ?? '',
  });
  assert.equal(narrow.body.scope, name?.name, narrow.text);
});
