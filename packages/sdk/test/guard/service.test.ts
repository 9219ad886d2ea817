// The guard against the real service: what the two make of a token together.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { addApplication, applicationTokens } from '@castellan/testing/openid/tokens';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { basicOf, postForm } from '@castellan/testing/service-accounts/token-services';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { inspectionOf } from '../../src/guard/inspection.ts';
import { createGuard } from '../../src/index.ts';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const product = await addServiceAccount(service, { permissions: ['token.introspect', 'access.check'] });
const bearing = (token: string | null | undefined) =>
  new Request('http://product.test/', { headers: { authorization: `Bearer ${token}` } });

test('a user who must change their password first is answered 401 until they have done so', async () => {
  const guard = createGuard({ baseUrl: service.url, apiKey: product.key });
  const role = await addRole(service, 'role.read');
  const person = await addPerson(service, { roles: [role] });
  const { accessToken } = await signIn(service, person);
  const answer = guard.require('role.read').fetch(() => new Response('done'));
  const must = (value: boolean) =>
    service.sql('update users set must_change_password = $2 where id = $1', [person.id, value]);
  assert.equal((await answer(bearing(accessToken))).status, 200);
  const identity = await guard.authenticate(bearing(accessToken));
  await must(true);
  const refused = await answer(bearing(accessToken));
  assert.equal(refused.status, 401);
  assert.equal(refused.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
  assert.equal(await guard.can(identity, 'role.read'), false);
  await must(false);
  assert.equal((await answer(bearing(accessToken))).status, 200);
});

test('a token of an application is no token for a guard, whatever its user may do', async () => {
  const guard = createGuard({ baseUrl: service.url, apiKey: product.key });
  const person = await addPerson(service, { superuser: true });
  await signIn(service, person);
  const application = await addApplication(service, await signIn(service, ADMIN));
  const tokens = await applicationTokens(service, application, person.id);
  const answer = guard.require('role.read').fetch(() => new Response('done'));
  for (const token of [tokens.access_token, tokens.refresh_token, tokens.id_token]) {
    const refused = await answer(bearing(token));
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
  }
  for (const credentials of [
    basicOf(product.id, product.key),
    basicOf(application.client_id, application.client_secret),
  ]) {
    const asked = { token: tokens.access_token, include: 'permissions' };
    const { body } = await postForm(service, 'introspect', asked, credentials);
    assert.deepEqual([body.active, typeof body.sid], [true, 'string']);
    assert.equal(inspectionOf(body), undefined);
    assert.equal(inspectionOf(body, body.aud)?.identity.clientId, application.client_id);
    // Bound to a key: nobody proves that they have it.
    for (const bound of [{ cnf: { jkt: 'x' } }, { token_type: 'DPoP' }])
      assert.throws(() => inspectionOf({ ...body, ...bound }, body.aud), { code: 'invalid_token' });
  }
});

test('a guard with an audience takes tokens for its API, and what is in their scope', async () => {
  const admin = await signIn(service, ADMIN);
  const create = async (path: string, body: object) => (await admin.post(`/api/v1/${path}`, body)).body.data;
  const group = await create('permission-groups', { name: 'orders' });
  const read = await create('permissions', { name: 'read', group_id: group.id });
  const write = await create('permissions', { name: 'write', group_id: group.id });
  const addResource = (identifier: string) =>
    create('api-resources', { identifier, name: 'Orders', permission_group_ids: [group.id] });
  const orders = await addResource('https://orders.example.com');
  const other = await addResource('https://orders.example.com/');
  const resources = [orders, other].map(({ id }) => ({
    resource_id: id,
    permission_ids: [read.id, write.id],
  }));
  const application = await addApplication(service, admin, { resources });
  const role = await addRole(service, 'orders.read', 'orders.write');
  const person = await addPerson(service, { roles: [role] });
  const { accessToken } = await signIn(service, person);
  const tokenFor = async ({ id, identifier }: { id: string; identifier: string }): Promise<string> => {
    const resource = { id, identifier, permissionIds: [read.id] };
    return (await applicationTokens(service, application, person.id, { resource })).access_token;
  };
  const options = { baseUrl: service.url, apiKey: product.key };
  const guard = createGuard({ ...options, audience: orders.identifier });
  const status = async (permission: string, token: string | null | undefined, of = guard): Promise<number> =>
    (await of.require(permission).fetch(() => new Response('done'))(bearing(token))).status;
  const token = await tokenFor(orders);
  const identity = await guard.authenticate(bearing(token));
  assert.deepEqual(
    [identity.type, identity.id, identity.clientId, identity.scopes],
    ['user', person.id, application.client_id, ['orders.read']],
  );
  assert.deepEqual(
    [await guard.can(identity, 'orders.read'), await guard.can(identity, 'orders.write')],
    [true, false],
  );
  assert.deepEqual([await status('orders.read', token), await status('Orders.Write', token)], [200, 403]);
  // The session of the same person may do both.
  assert.deepEqual(
    [await status('orders.write', accessToken), await status('role.read', accessToken)],
    [200, 403],
  );
  assert.equal(await status('orders.read', token, createGuard(options)), 401);
  const [head = '', body = '', signature = ''] = token.split('.');
  const forge = (part: string, change: object): string =>
    Buffer.from(
      JSON.stringify({ ...JSON.parse(Buffer.from(part, 'base64url').toString()), ...change }),
    ).toString('base64url');
  const foreign = await tokenFor(other);
  const [otherHead = '', otherBody = '', otherSignature = ''] = foreign.split('.');
  for (const refused of [
    foreign,
    `${otherHead}.${forge(otherBody, { aud: orders.identifier })}.${otherSignature}`,
    `${head}.${forge(body, { scope: 'orders.write' })}.${signature}`,
    `${forge(head, { alg: 'none' })}.${body}.`,
    `${forge(head, { alg: 'HS256' })}.${body}.${signature}`,
    `${forge(head, { alg: 'EdDSA' })}.${body}.${signature}`,
    (await applicationTokens(service, application, person.id)).access_token,
  ])
    assert.equal(await status('orders.read', refused), 401, refused);
  await service.sql('delete from user_roles where user_id = $1', [person.id]);
  assert.deepEqual(
    [await status('orders.read', token), await guard.can(identity, 'orders.read')],
    [403, false],
  );
  await service.sql('update sessions set revoked_at = now() where user_id = $1', [person.id]);
  assert.equal(await status('orders.read', token), 401);
});
