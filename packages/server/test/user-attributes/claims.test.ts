// Which attributes tokens tell, to whom, and that nothing else reads them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { basicOf, postForm } from '@castellan/testing/service-accounts/token-services';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { countStatements } from '@castellan/testing/statements';
import { startWithAdmin } from '../applications/fixture.ts';
import { addApplication, addSignedIn, tokensOf, userinfo } from '../openid/fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const claimsOf = (token: string) => readToken(token).claims as unknown as Record<string, unknown>;
const declare = async (name: string, fields: object = {}) => {
  const made = await admin.post('/api/v1/user-attributes', { name, label: name, type: 'string', ...fields });
  assert.equal(made.status, 201, made.text);
};
await declare('team', { claims: true });
await declare('prefs', { type: 'json', claims: true });
await declare('essay', { max_length: 4_000, claims: true });
await declare('shift', { claims: true });
await declare('hidden');
const give = async (id: string, values: object) =>
  assert.equal((await admin.patch(`/api/v1/users/${id}/attributes`, values)).status, 200);
const caller = await addServiceAccount(service, { permissions: ['token.introspect'] });
const introspect = (
  token: string,
  form: Record<string, string> = {},
  authorization = `Bearer ${caller.key}`,
) => postForm(service, 'introspect', { token, ...form }, { authorization });

test('userinfo and ID tokens tell those with claims, with the scope profile; a mapping replaces one of its name', async () => {
  const web = await addApplication(admin, [service], {
    claims: [{ name: 'shift', from: 'superuser', as: 'boolean', in: ['userinfo'] }],
  });
  const who = await addSignedIn(service);
  await give(who.person.id, { team: 'Blue', prefs: { a: [1] }, hidden: 'x', shift: 'late' });
  const tokens = await tokensOf(service, web, who, { scopes: ['openid', 'profile'] });
  const { body } = await userinfo(service, tokens.access_token);
  assert.deepEqual([body.team, body.prefs, body.hidden, body.shift], ['Blue', { a: [1] }, undefined, false]);
  const inToken = claimsOf(tokens.id_token);
  assert.deepEqual([inToken.team, inToken.prefs, inToken.hidden], ['Blue', { a: [1] }, undefined]);
  const without = await tokensOf(service, web, who, { scopes: ['openid', 'email'] });
  assert.equal((await userinfo(service, without.access_token)).body.team, undefined);
  assert.equal(claimsOf(without.id_token).team, undefined);
  // Read now.
  await give(who.person.id, { team: null });
  assert.equal((await userinfo(service, tokens.access_token)).body.team, undefined);
});

test('an attribute is never told under a name that the application maps, also where the mapping has no value', async () => {
  const web = await addApplication(admin, [service], {
    type: 'web',
    claims: [
      { name: 'shift', from: 'superuser', as: 'first', in: ['userinfo', 'id_token'] },
      { name: 'team', from: 'superuser', as: 'first', in: ['access_token'] },
    ],
  });
  const who = await addSignedIn(service);
  await give(who.person.id, { team: 'superuser', shift: 'superuser', prefs: 1 });
  const tokens = await tokensOf(service, web, who, { scopes: ['openid', 'profile'] });
  const told = [
    claimsOf(tokens.id_token),
    (await userinfo(service, tokens.access_token)).body,
    (await introspect(tokens.access_token, { include: 'attributes' })).body,
  ];
  for (const claims of told)
    assert.deepEqual([claims.prefs, claims.team, claims.shift], [1, undefined, undefined]);
});

test('an ID token that would be too large leaves attributes to userinfo', async () => {
  const web = await addApplication(admin, [service]);
  const who = await addSignedIn(service);
  const essay = 'ä'.repeat(4_000);
  await give(who.person.id, { team: 'Blue', essay });
  const tokens = await tokensOf(service, web, who, { scopes: ['openid', 'profile'] });
  const inToken = claimsOf(tokens.id_token);
  assert.deepEqual([inToken.team, inToken.essay, inToken._castellan_overage], [undefined, undefined, true]);
  assert.equal((await userinfo(service, tokens.access_token)).body.essay, essay);
});

test('introspection tells them when it is asked', async () => {
  const web = await addApplication(admin, [service], { type: 'web' });
  const who = await addSignedIn(service);
  await give(who.person.id, { team: 'Blue', hidden: 'x' });
  const own = who.client.accessToken ?? '';
  assert.equal((await introspect(own)).body.team, undefined);
  for (const include of ['attributes', 'permissions attributes']) {
    const { body } = await introspect(own, { include });
    assert.deepEqual([body.active, body.team, body.hidden], [true, 'Blue', undefined]);
    assert.equal('permissions' in body, include !== 'attributes');
  }
  const robot = await introspect(caller.key, { include: 'attributes' });
  assert.deepEqual([robot.body.active, robot.body.team], [true, undefined]);
  const tokens = await tokensOf(service, web, who, { scopes: ['openid', 'profile'] });
  const { authorization: asWeb } = basicOf(web.client_id, web.client_secret ?? '');
  for (const authorization of [asWeb, undefined]) {
    assert.equal((await introspect(tokens.access_token, {}, authorization)).body.team, undefined);
    const told = await introspect(tokens.access_token, { include: 'attributes' }, authorization);
    assert.equal(told.body.team, 'Blue', told.text);
  }
  const narrow = await tokensOf(service, web, who, { scopes: ['openid'] });
  assert.equal((await introspect(narrow.access_token, { include: 'attributes' })).body.team, undefined);
});

test('GET /users/me sends the same statements whether or not there are attributes', async () => {
  const who = await addSignedIn(service);
  const statements = () => countStatements(service, () => who.client.get('/api/v1/users/me'));
  await statements();
  const before = await statements();
  await give(who.person.id, { team: 'Blue' });
  await statements();
  assert.deepEqual(await statements(), before);
});
