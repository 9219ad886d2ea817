// The guard against the real service: what the two make of a token together.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signIn, startTestService } from '@castellan/testing/harness';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole } from '@castellan/testing/users/people';
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
