// What callers that keep answers are told: for how long time alone changes nothing, and by which changes it does.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { makePermission } from '@castellan/testing/records/fixture';
import { requireOfPermission, requireOfRole } from '@castellan/testing/second-factors/requirements';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { clientToken, postForm } from '@castellan/testing/service-accounts/token-services';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { statementsOf } from '@castellan/testing/statements';
import { addPerson, addRole } from '@castellan/testing/users/people';

const DAY = 86_400;
const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const admin = await signIn(service, ADMIN);
const caller = await addServiceAccount(service, { permissions: ['token.introspect', 'access.check'] });
const asCaller = { authorization: `Bearer ${caller.key}` };
const own = await makePermission(admin);
const role = await addRole(service, own.name);

const introspect = async (token: string, include?: string) =>
  (await postForm(service, 'introspect', { token, ...(include ? { include } : {}) }, asCaller)).body;

/** Asserts that a number of seconds ends with this time, in seconds since 1970. It counts down while the test runs. */
function assertUntil(freshFor: number, end: number): void {
  const left = end - Date.now() / 1_000;
  assert.ok(freshFor <= left + 30 && freshFor >= left - 31, `${freshFor} s instead of ${left} s`);
  assert.ok(Number.isInteger(freshFor));
}

async function signedIn(options: Parameters<typeof addPerson>[1] = { roles: [role] }) {
  const person = await addPerson(service, options);
  const token = (await signIn(service, person)).accessToken ?? '';
  return { person, token, claims: readToken(token).claims };
}

test('an answer tells it only when it is asked for, and is otherwise the same', async () => {
  const { token, claims } = await signedIn();
  const plain = await introspect(token, 'permissions');
  const { fresh_for, role_ids, kid, ...others } = await introspect(token, 'permissions live');
  assert.deepEqual(others, plain);
  assert.deepEqual(role_ids, [role]);
  assert.equal(kid, readToken(token).header.kid);
  assertUntil(fresh_for, Number(claims.exp));
  for (const text of ['nonsense', `${token}x`])
    assert.deepEqual(await introspect(text, 'permissions live'), { active: false });
});

test('it costs no further statement', async () => {
  const { token } = await signedIn();
  await introspect(token, 'permissions live');
  const asked = await statementsOf(() => introspect(token, 'permissions'));
  assert.ok(asked.length > 0);
  assert.deepEqual(await statementsOf(() => introspect(token, 'permissions live')), asked);
});

test('a session that ends before its token', async () => {
  const { token, claims } = await signedIn();
  await service.sql(`update sessions set expires_at = now() + interval '300 s' where id = $1`, [claims.sid]);
  assertUntil((await introspect(token, 'permissions live')).fresh_for, Date.now() / 1_000 + 300);
});

test('the end of a key, also for the tokens made from it, and a day for a key without an end', async () => {
  const account = await addServiceAccount(service, { roles: [role] });
  const endless = await introspect(account.key, 'permissions live');
  assert.deepEqual([endless.fresh_for, endless.role_ids, endless.kid], [DAY, [role], undefined]);
  const { key } = await addApiKey(service, account.id, { expiresInSeconds: 3_600 });
  const ending = await introspect(key, 'permissions live');
  assertUntil(ending.fresh_for, ending.exp);
  const token = await clientToken(service, account);
  const ofToken = await introspect(token, 'permissions live');
  assertUntil(ofToken.fresh_for, ofToken.exp);
  assert.equal(ofToken.kid, readToken(token).header.kid);
  await service.sql(`update api_keys set expires_at = now() + interval '100 s' where id = $1`, [
    account.keyId,
  ]);
  assertUntil((await introspect(token, 'permissions live')).fresh_for, Date.now() / 1_000 + 100);
});

test('a requirement of a role that is announced', async () => {
  const demanding = await addRole(service, own.name);
  await requireOfRole(service, demanding, 'aal2');
  await service.sql(`update roles set enforced_from = now() + interval '400 s' where id = $1`, [demanding]);
  const { token } = await signedIn({ roles: [demanding] });
  assertUntil((await introspect(token, 'permissions live')).fresh_for, Date.now() / 1_000 + 400);
});

test('a proof that becomes too old for a permission, and one that is too old already', async () => {
  const strict = await makePermission(admin);
  await requireOfPermission(service, strict.name, 'aal1', 600);
  const { token, claims } = await signedIn({ roles: [await addRole(service, strict.name)] });
  const met = await introspect(token, 'permissions live');
  assert.ok(met.permissions.includes(strict.name));
  assertUntil(met.fresh_for, Number(claims.iat) + 600);
  await service.sql(
    `update session_tokens set auth_time = now() - interval '20 min' where session_id = $1 and kind = 'access'`,
    [claims.sid],
  );
  await service.sql(`update sessions set created_at = now() - interval '20 min' where id = $1`, [claims.sid]);
  const late = await introspect(token, 'permissions live');
  assert.deepEqual(late.permissions.includes(strict.name), false);
  assertUntil(late.fresh_for, Number(claims.exp));
});

test('nothing is told about a token of somebody who acts as the user', async () => {
  const { token, claims } = await signedIn();
  const actor = await signedIn({ superuser: true });
  await service.sql(`update sessions set acted_by_id = $2, acted_by_session_id = $3 where id = $1`, [
    claims.sid,
    actor.person.id,
    actor.claims.sid,
  ]);
  const answer = await introspect(token, 'permissions live');
  assert.equal(answer.active, true);
  assert.deepEqual([answer.fresh_for, answer.role_ids, answer.kid], [undefined, undefined, undefined]);
});

function evaluate(subject: { type: string; id: string }, prefer?: string, context?: object) {
  const dot = own.name.lastIndexOf('.');
  return service.client().post(
    '/api/v1/access/v1/evaluation',
    {
      subject,
      action: { name: own.name.slice(dot + 1) },
      resource: { type: own.name.slice(0, dot), id: 'any' },
      ...(context ? { context } : {}),
    },
    { headers: { ...asCaller, ...(prefer === undefined ? {} : { prefer }) } },
  );
}

test('a decision tells it with Prefer: live, about subjects that are named by their id', async () => {
  const person = await addPerson(service, { roles: [role] });
  const { text } = await evaluate({ type: 'user', id: person.id });
  assert.deepEqual(JSON.parse(text), {
    decision: true,
    context: { reason: 'granted', permission: own.name },
  });
  for (const prefer of ['live', 'respond-async, Live; x=1'])
    assert.deepEqual((await evaluate({ type: 'user', id: person.id }, prefer)).body, {
      decision: true,
      context: { reason: 'granted', permission: own.name, fresh_for: DAY },
    });
  for (const prefer of ['lively', 'wait=live', ''])
    assert.equal((await evaluate({ type: 'user', id: person.id }, prefer)).text, text);
  for (const id of [person.email, 'nobody@example.com', '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be211'])
    assert.equal((await evaluate({ type: 'user', id }, 'live')).body.context.fresh_for, undefined);
  const byRole = await evaluate({ type: 'role', id: role }, 'live');
  assert.equal(byRole.body.context.fresh_for, DAY);
});

test('a decision by a proof that the request names ends with it', async () => {
  const strict = await makePermission(admin);
  await requireOfPermission(service, strict.name, 'aal2', 900);
  const person = await addPerson(service, { roles: [await addRole(service, strict.name)] });
  const dot = strict.name.lastIndexOf('.');
  const authTime = Math.floor(Date.now() / 1_000) - 100;
  const item = {
    subject: { type: 'user', id: person.id },
    action: { name: strict.name.slice(dot + 1) },
    resource: { type: strict.name.slice(0, dot), id: 'any' },
  };
  const { body } = await service
    .client()
    .post(
      '/api/v1/access/v1/evaluations',
      { evaluations: [item, { ...item, context: { acr: 'aal2', auth_time: authTime } }, 7] },
      { headers: { ...asCaller, prefer: 'live' } },
    );
  const [unmet, met, faulty] = body.evaluations;
  assert.deepEqual([unmet.decision, unmet.context.fresh_for], [false, DAY]);
  assert.equal(met.decision, true);
  assertUntil(met.context.fresh_for, authTime + 900);
  assert.equal(faulty.context.fresh_for, undefined);
});
