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
  }
});
