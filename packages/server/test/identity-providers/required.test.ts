// Email domains whose people must sign in by a provider: who is refused, where, and that nothing is looked up or counted for it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import {
  linkTo,
  mailsTo,
  paths,
  registration,
  strongPasswords,
} from '@castellan/testing/accounts/self-service';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addProvider } from '@castellan/testing/openid/providers';
import { statementsOf } from '@castellan/testing/statements';
import { addPerson } from '@castellan/testing/users/people';

const limitsOff = {
  RATE_LIMIT_LOGIN: 'off',
  RATE_LIMIT_REGISTER: 'off',
  RATE_LIMIT_PASSWORD_RESET: 'off',
};
const service = await startTestService({ after }, limitsOff);
const client = service.client();
const [NEW] = strongPasswords;

const ada = await addPerson(service, { email: 'ada@acme.example' });
const signedIn = await signIn(service, ada);
const acme = await addProvider(service, {
  name: 'Acme <b>',
  position: 1,
  domains: ['acme.example', 'xn--mnchen-3ya.example'],
  required_for_domains: true,
});
await addProvider(service, { position: 2, domains: ['acme.example'], required_for_domains: true });
await addProvider(service, { position: 0, domains: ['acme.example', 'free.example'] });
await addProvider(service, {
  position: 0,
  domains: ['acme.example', 'off.example'],
  required_for_domains: true,
  is_active: false,
});

const attempts = (email: string): [name: string, send: () => Promise<Answer>][] => [
  ['login', () => client.post('/api/v1/auth/login', { email, password: ada.password })],
  ['register', () => client.post(paths.register, registration({ email, password: NEW }))],
  ['reset', () => client.post(paths.requestReset, { email })],
];

const isRequired = async (at: { url: string }): Promise<true | undefined> => {
  const email = 'probe@acme.example';
  const answer = await client.at(at.url).post('/api/v1/auth/login', { email, password: 'x' });
  return answer.body.code === 'provider_required' ? true : undefined;
};
await eventually(() => isRequired(service), 'the instance to know of the provider');

test('sign-in, registration and reset name the provider, whether or not there is an account', async () => {
  for (const email of [ada.email, 'nobody@acme.example'])
    for (const [name, send] of attempts(email)) {
      const answer = await send();
      assertRefused(answer, 422, 'provider_required');
      const { request_id: _id, ...body } = answer.body;
      assert.deepEqual(
        body,
        {
          detail: 'People with this email address sign in with their identity provider.',
          code: 'provider_required',
          provider: { slug: acme.slug, name: 'Acme <b>' },
        },
        name,
      );
    }
});

test('nothing is looked up, hashed, counted or mailed', async () => {
  const before = service.service.deps.hasher.stats().verifications;
  for (const email of [ada.email, 'nobody@acme.example'])
    for (const [name, send] of attempts(email)) assert.deepEqual(await statementsOf(send), [], name);
  assert.equal(service.service.deps.hasher.stats().verifications, before);
  assert.deepEqual(await service.sql("select from login_attempts where email = 'nobody@acme.example'"), []);
  assert.deepEqual(mailsTo(service, ada.email, 'password_reset'), []);
});

test('the domain is that of the canonical address, and it is compared exactly', async () => {
  for (const email of [
    ' ADA@ACME.example ',
    'x@münchen.example',
    'x@XN--MNCHEN-3YA.example',
    'a@Acme.Example',
  ])
    for (const [name, send] of attempts(email))
      assert.equal((await send()).body.code, 'provider_required', `${name} ${email}`);
  for (const email of [
    'ada@sub.acme.example',
    'ada@notacme.example',
    'ada@acme.example.org',
    'acme.example@example.org',
    'x@free.example',
    'x@off.example',
  ])
    assertRefused(
      await client.post('/api/v1/auth/login', { email, password: 'x' }),
      422,
      'invalid_credentials',
    );
  assertRefused(
    await client.post('/api/v1/auth/login', { email: 'acme.example', password: 'x' }),
    422,
    'invalid_credentials',
  );
  assertRefused(await client.post(paths.requestReset, { email: '@acme.example' }), 400, 'invalid_email');
  assertRefused(
    await client.post('/api/v1/auth/login', { email: '<b>@acme.example', password: 'x' }),
    400,
    'sanitization_failed',
  );
});

test('sessions from before go on', async () => {
  assert.equal((await signedIn.get('/api/v1/users/me')).status, 200);
  const { refreshToken: refresh_token } = signedIn;
  assert.equal((await service.client().post(paths.refresh, { refresh_token })).status, 200);
});

test('an invitation is not accepted with a password that would not count', async () => {
  const email = `invited-${randomUUID()}@acme.example`;
  const admin = await signIn(service, ADMIN);
  assert.equal((await admin.post('/api/v1/users/invitations', { email, first_name: 'Ada' })).status, 201);
  const token = await linkTo(service, email, 'invitation');
  const body = { token, password: NEW, last_name: '' };
  assertRefused(await client.post(paths.acceptInvitation, body), 422, 'provider_required');
  const checked = await client.post(paths.check, { purpose: 'invitation', token });
  assert.equal(checked.body.data.valid, true);
});

test('PROVIDER_REQUIRED=off lets passwords count', async () => {
  const lax = await service.another({ PROVIDER_REQUIRED: 'off' });
  assert.equal((await lax.client().post('/api/v1/auth/login', ada)).status, 200);
  assert.equal((await lax.client().post(paths.requestReset, { email: ada.email })).status, 200);
});

test('every instance learns of a change by itself', async () => {
  const twin = await service.another();
  assert.equal(await isRequired(twin), true, 'known before it is ready');
  await service.sql('update identity_providers set is_active = false');
  for (const at of [service, twin])
    await eventually(async () => (await isRequired(at)) === undefined || undefined, 'the provider to be off');
  assert.equal((await client.post('/api/v1/auth/login', ada)).status, 200);
});
