// What an account must have signed in with: by its roles and by the setting, at every instance, and what stays open to it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import {
  addAppUser,
  beginSignIn,
  codeOf,
  completeSignIn,
  enrol,
  forgetStep,
  keepTokens,
} from '@castellan/testing/second-factors/app';
import { addStrong, requireOfRole } from '@castellan/testing/second-factors/requirements';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { postForm } from '@castellan/testing/service-accounts/token-services';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const twin = await service.another();
const ROLES = '/api/v1/roles?size=1';

async function holderOf(role: string) {
  const person = await addPerson(service, { roles: [role] });
  return { person, client: await signIn(service, person) };
}

test('a role that requires a second factor restricts its holders at the next request, at every instance', async () => {
  const role = await addRole(service, 'role.read');
  const { client } = await holderOf(role);
  for (const at of [client, client.at(twin.url)]) assert.equal((await at.get(ROLES)).status, 200);
  await requireOfRole(service, role, 'aal2');
  for (const at of [client.at(twin.url), client]) {
    const answer = await at.get(ROLES);
    assert.deepEqual([answer.status, answer.body.code], [403, 'second_factor_enrolment_required']);
    assert.equal(answer.body.required_acr, 'aal2');
  }
  await requireOfRole(service, role, null);
  for (const at of [client.at(twin.url), client]) assert.equal((await at.get(ROLES)).status, 200);
});

test('the holder sets up a factor in the restricted session, and goes on at once', async () => {
  const role = await addRole(service, 'role.read');
  await requireOfRole(service, role, 'aal2');
  const { client } = await holderOf(role);
  const factors = await client.get('/api/v1/auth/factors');
  assert.equal(factors.body.data.requirement.required_acr, 'aal2');
  assert.equal(factors.body.data.requirement.met, false);
  await enrol(client);
  assert.equal((await client.get(ROLES)).status, 200);
  assert.equal((await client.get('/api/v1/auth/factors')).body.data.requirement.met, true);
});

test('who has a factor that would do is told to step up, and is let in after it', async () => {
  const user = await addStrong(service, 'role.read');
  // The token of a session whose proof was a password, as on a trusted device.
  await service.sql('update session_tokens set acr = null, amr = null, auth_time = null where user_id = $1', [
    user.id,
  ]);
  await requireOfRole(service, user.role, 'aal2');
  const refused = await user.client.get(ROLES);
  assert.deepEqual([refused.status, refused.body.code], [403, 'step_up_required']);
  assert.deepEqual(refused.body.step_up, { required_acr: 'aal2', max_age: null });
  assert.match(refused.headers.get('www-authenticate') ?? '', /acr_values="aal2 phr"/);
  const proved = await user.client.post('/api/v1/auth/step-up', { totp: codeOf(user.secret) });
  assert.equal(proved.status, 200, proved.text);
  keepTokens(user.client, proved);
  assert.equal((await user.client.get(ROLES)).status, 200);
});

test('a factor that does not reach the level is as none: phr asks users of an app for a passkey', async () => {
  const user = await addStrong(service, 'role.read');
  await requireOfRole(service, user.role, 'phr');
  const refused = await user.client.get(ROLES);
  assert.equal(refused.body.code, 'second_factor_enrolment_required');
  assert.equal(refused.body.required_acr, 'phr');
  const options = await user.client.post('/api/v1/auth/step-up/options', {});
  assert.deepEqual([options.status, options.body.code], [403, 'second_factor_enrolment_required']);
});

test('the strongest requirement in force counts', async () => {
  const user = await addStrong(service, 'role.read');
  const other = await addRole(service);
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user.id, other]);
  await requireOfRole(service, user.role, 'aal2');
  assert.equal((await user.client.get(ROLES)).status, 200);
  await requireOfRole(service, other, 'phr', "now() + interval '1 hour'");
  assert.equal((await user.client.get(ROLES)).status, 200, 'the stronger one is only announced');
  await requireOfRole(service, other, 'phr');
  assert.equal((await user.client.get(ROLES)).body.required_acr, 'phr');
});

test('before its date, a requirement refuses nothing, and sign-ins and the list of factors tell it', async () => {
  const role = await addRole(service, 'role.read');
  await requireOfRole(service, role, 'aal2', "'2100-01-01T00:00:00Z'::timestamptz");
  const person = await addPerson(service, { roles: [role] });
  const client = service.client();
  const { email, password } = person;
  const answer = await client.post('/api/v1/auth/login', { email, password });
  assert.deepEqual(answer.body.data.second_factor, {
    required_acr: 'aal2',
    enforced_from: '2100-01-01T00:00:00.000Z',
    enrolled: false,
  });
  client.accessToken = answer.body.data.access_token;
  assert.equal((await client.get(ROLES)).status, 200);
  const { requirement } = (await client.get('/api/v1/auth/factors')).body.data;
  assert.deepEqual(requirement, {
    required_acr: 'aal2',
    enforced_from: '2100-01-01T00:00:00.000Z',
    met: false,
  });
});

test('a sign-in that meets the requirement, and one without any, tell nothing', async () => {
  const user = await addStrong(service, 'role.read');
  await requireOfRole(service, user.role, 'aal2');
  const client = service.client();
  const token = await beginSignIn(client, user);
  await forgetStep(service, user);
  const answer = await completeSignIn(client, token, { totp: codeOf(user.secret) });
  assert.equal(answer.status, 200, answer.text);
  assert.ok(!('second_factor' in answer.body.data));
  const person = await addPerson(service);
  const { email, password } = person;
  const plain = await service.client().post('/api/v1/auth/login', { email, password });
  assert.deepEqual(Object.keys(plain.body.data), ['access_token', 'token_type', 'refresh_token', 'user']);
});

test('a second step that does not reach the requirement tells it', async () => {
  const user = await addStrong(service, 'role.read');
  await requireOfRole(service, user.role, 'phr');
  const client = service.client();
  const token = await beginSignIn(client, user);
  await forgetStep(service, user);
  const { body } = await completeSignIn(client, token, { totp: codeOf(user.secret) });
  assert.equal(body.data.second_factor.required_acr, 'phr');
  assert.equal(body.data.second_factor.enrolled, false);
});

test('the last factor that a requirement in force needs stays; an announced one keeps nobody', async () => {
  const user = await addStrong(service, 'role.read');
  await requireOfRole(service, user.role, 'aal2');
  const kept = await user.client.delete('/api/v1/auth/factors/totp');
  assert.deepEqual([kept.status, kept.body.code], [409, 'last_factor']);
  assert.equal((await user.client.get('/api/v1/auth/factors')).body.data.recovery_codes.left, 10);
  await requireOfRole(service, user.role, 'aal2', "now() + interval '1 day'");
  assert.equal((await user.client.delete('/api/v1/auth/factors/totp')).status, 200);
});

test('a token below the requirement of its account is inactive for other services', async () => {
  const machine = await addServiceAccount(service, { permissions: ['token.introspect'] });
  const headers = { authorization: `Bearer ${machine.key}` };
  const role = await addRole(service, 'role.read');
  const { client } = await holderOf(role);
  const isActive = async (at = service) =>
    (await postForm(at, 'introspect', { token: client.accessToken ?? '' }, headers)).body.active;
  assert.equal(await isActive(), true);
  await requireOfRole(service, role, 'aal2');
  assert.deepEqual([await isActive(twin), await isActive()], [false, false]);
});

test('service accounts are under no requirement', async () => {
  const account = await addServiceAccount(service, { permissions: ['role.read'] });
  const [{ role_id: role } = { role_id: '' }] = await service.sql<{ role_id: string }>(
    'select role_id from service_account_roles where service_account_id = $1',
    [account.id],
  );
  await requireOfRole(service, role, 'phr');
  const robot = service.client();
  robot.accessToken = (await addApiKey(service, account.id)).key;
  assert.equal((await robot.get(ROLES)).status, 200);
});

for (const [requiredFor, restricted] of [
  ['superusers', { superuser: true, administrator: false, user: false }],
  ['administrators', { superuser: true, administrator: true, user: false }],
  ['everyone', { superuser: true, administrator: true, user: true }],
] as const)
  test(`SECOND_FACTOR_REQUIRED_FOR=${requiredFor} restricts them and nobody else`, async () => {
    const strict = await startTestService({ after }, { SECOND_FACTOR_REQUIRED_FOR: requiredFor });
    const users = {
      superuser: await signIn(strict, ADMIN),
      administrator: (await signedInWith(strict, 'role.read')).client,
      user: (await signedInWith(strict, 'self.update_profile')).client,
    };
    for (const [kind, client] of Object.entries(users)) {
      const { status } = await client.get('/api/v1/users/me/effective-permissions');
      assert.equal(status, restricted[kind as keyof typeof restricted] ? 403 : 200, kind);
      assert.equal((await client.get('/api/v1/users/me')).status, 200);
    }
    const user = await addAppUser(strict);
    assert.equal((await user.client.get('/api/v1/users/me/effective-permissions')).status, 200);
  });

test('SECOND_FACTOR_ENFORCED_FROM is a date of grace', async () => {
  const announced = await startTestService(
    { after },
    { SECOND_FACTOR_REQUIRED_FOR: 'everyone', SECOND_FACTOR_ENFORCED_FROM: '2100-01-01T00:00:00Z' },
  );
  const person = await addPerson(announced);
  const client = await signIn(announced, person);
  assert.equal((await client.get('/api/v1/users/me/effective-permissions')).status, 200);
  const { requirement } = (await client.get('/api/v1/auth/factors')).body.data;
  assert.equal(requirement.enforced_from, '2100-01-01T00:00:00.000Z');
});

test('a requirement in the settings that nobody could meet stops the start', async () => {
  await assert.rejects(
    startTestService({ after }, { SECOND_FACTOR_REQUIRED_FOR: 'everyone', SECOND_FACTORS: '' }),
    /SECOND_FACTORS is empty/,
  );
});
