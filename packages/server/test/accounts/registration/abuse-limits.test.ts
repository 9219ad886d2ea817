// The limits of the public forms: requests per client address, mails per email, registrations per network.
// A refusal must not reveal whether an account exists.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { entryOf } from '@castellan/testing/accounts/audit-trail';
import {
  atOnce,
  mailsTo,
  paths,
  registerAccount,
  registration,
  tally,
  waitForEmptyOutbox,
} from '@castellan/testing/accounts/self-service';
import type { Answer } from '@castellan/testing/client';
import { createVerifiedUser, newEmail, startTestService, type TestService } from '@castellan/testing/harness';
import { assertAnswered, assertMessageOnly, assertRefused } from '../answers.ts';

function assertRateLimited(answer: Answer, limit: string): void {
  assertRefused(answer, 429, 'rate_limited');
  const seconds = Number(answer.headers.get('retry-after'));
  assert.ok(seconds >= 1 && seconds <= 3_600, `Retry-After ${seconds}`);
  assert.equal(answer.headers.get('ratelimit-limit'), limit);
  assert.equal(answer.headers.get('ratelimit-remaining'), '0');
}

/** Makes a request come from this address; the test's own address is a trusted proxy. */
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
const behindProxy = { TRUSTED_PROXIES: '127.0.0.1' };

const limited = await startTestService(
  { after },
  {
    ...behindProxy,
    RATE_LIMIT_REGISTER: '3/hour',
    RATE_LIMIT_RESEND_VERIFICATION: '3/hour',
    RATE_LIMIT_PASSWORD_RESET: '3/hour',
  },
);

for (const [path, body] of [
  [paths.register, () => registration()],
  [paths.resend, () => ({ email: newEmail('nobody') })],
  [paths.requestReset, () => ({ email: newEmail('nobody') })],
] as const) {
  test(`${path}: the request over the limit is 429 for this address, whatever it contains, but not for another address`, async () => {
    const send = (json: unknown, address: string) => limited.client().post(path, json, from(address));
    const first = await send(body(), '192.0.2.1');
    assert.ok(first.status < 300, first.text);
    assert.equal(first.headers.get('ratelimit-limit'), '3');
    assert.equal(first.headers.get('ratelimit-remaining'), '2');
    // A refused body counts as well.
    assert.equal((await send({ email: 'plain' }, '192.0.2.1')).status, 400);
    assert.ok((await send(body(), '192.0.2.1')).status < 300);
    const refused = await send(body(), '192.0.2.1');
    assertRateLimited(refused, '3');
    assertRateLimited(await send({ email: 'plain' }, '192.0.2.1'), '3');
    assert.ok((await send(body(), '192.0.2.2')).status < 300);
    const [entry] = await limited.sql(
      `select actor_id, details from audit_logs where action = 'rate_limited' and details->>'request_id' = $1`,
      [refused.headers.get('x-request-id')],
    );
    assert.equal((entry!.details as Record<string, unknown>).address, '192.0.2.1');
    assert.equal(entry!.actor_id, null);
  });

  test(`${path}: of 20 parallel requests exactly as many pass as the limit allows`, async () => {
    const answers = await atOnce(limited, 20, (client) => client.post(path, body(), from('203.0.113.9')));
    assert.equal(tally(answers)[429], 17, JSON.stringify(tally(answers)));
  });
}

test('the defaults are those of the specification: 3 registrations and 3 reset requests per hour', async (t) => {
  const service = await startTestService(t, { RATE_LIMIT_REGISTER: '', RATE_LIMIT_PASSWORD_RESET: '' });
  for (let count = 0; count < 3; count += 1) {
    assertAnswered(await service.client().post(paths.register, registration()), 201);
    assertMessageOnly(await service.client().post(paths.requestReset, { email: newEmail() }));
  }
  assertRateLimited(await service.client().post(paths.register, registration()), '3');
  assertRateLimited(await service.client().post(paths.requestReset, { email: newEmail() }), '3');
});

test('a request without a CSRF token is refused before it counts', async (t) => {
  const service = await startTestService(t, { RATE_LIMIT_PASSWORD_RESET: '1/hour' });
  const email = newEmail();
  const bare = { headers: { 'x-csrf-token': null } };
  assertRefused(await service.client().post(paths.requestReset, { email }, bare), 403, 'csrf_invalid');
  assertMessageOnly(await service.client().post(paths.requestReset, { email }));
});

async function assertNoMail(service: TestService, email: string, kind: string, count: number): Promise<void> {
  await waitForEmptyOutbox(service);
  assert.equal(mailsTo(service, email, kind).length, count);
}

test('over ACCOUNT_EMAIL_LIMIT, resend and reset give the usual answer and send nothing', async (t) => {
  const service = await startTestService(t, { ACCOUNT_EMAIL_LIMIT: '2/hour' });
  const resend = (email: string) => service.client().post(paths.resend, { email });
  const reset = (email: string) => service.client().post(paths.requestReset, { email });
  const account = await registerAccount(service); // the first verification mail of two
  const within = [await resend(account.email), await reset(` ${account.email.toUpperCase()}`)];
  await reset(account.email); // the second reset mail of two
  const over = [await resend(account.email), await reset(account.email)];
  for (const index of [0, 1]) {
    assert.equal(assertMessageOnly(over[index]!), assertMessageOnly(within[index]!));
    assert.deepEqual([...over[index]!.headers.keys()].sort(), [...within[index]!.headers.keys()].sort());
  }
  await assertNoMail(service, account.email, 'verification', 2);
  await assertNoMail(service, account.email, 'password_reset', 2);
  for (const [answer, action] of [
    [over[0], 'verification_email_sent'],
    [over[1], 'password_reset_requested'],
  ] as const)
    assert.equal((await entryOf(service, answer!.headers, action)).details.outcome, 'limited');

  // Other accounts are not affected; unknown emails are counted and answered in the same way.
  const stranger = newEmail('nobody');
  for (let count = 0; count < 5; count += 1)
    assert.equal(assertMessageOnly(await reset(stranger)), assertMessageOnly(within[1]!));
  const other = await createVerifiedUser(service);
  assertMessageOnly(await reset(other.email));
  await assertNoMail(service, other.email, 'password_reset', 1);
});

test('over ACCOUNT_EMAIL_LIMIT an email cannot be registered again; requests that create no account do not count', async (t) => {
  const service = await startTestService(t, { ACCOUNT_EMAIL_LIMIT: '2/hour' });
  const register = (email: string, over = {}) =>
    service.client().post(paths.register, registration({ email, ...over }));
  const email = newEmail();
  for (let opened = 0; opened < 2; opened += 1) {
    for (let refused = 0; refused < 3; refused += 1)
      assert.equal((await register(email, { password: 'weak' })).status, 400);
    assertAnswered(await register(email.toUpperCase()), 201);
    for (let taken = 0; taken < 3; taken += 1) assertRefused(await register(email), 409, 'email_taken');
    const { token } = await service.mailTo(email, opened);
    assertMessageOnly(await service.client().post(paths.decline, { token }));
  }
  const refused = await register(email);
  assertRefused(refused, 400, 'registration_refused');
  const entry = await entryOf(service, refused.headers, 'registration_refused');
  assert.equal(entry.details.reason, 'abuse_limit');
  assert.equal(entry.details.email, email);

  const free = newEmail();
  for (let count = 0; count < 3; count += 1) await service.client().post(paths.requestReset, { email: free });
  assertAnswered(await register(free), 201);
});

test('over REGISTRATION_ABUSE_LIMIT registration is 400 for the whole /24 or /64, but not outside it', async (t) => {
  const service = await startTestService(t, { ...behindProxy, REGISTRATION_ABUSE_LIMIT: '2/day' });
  const register = (address: string) => service.client().post(paths.register, registration(), from(address));
  for (const [first, second, third, outside] of [
    ['192.0.2.1', '192.0.2.77', '192.0.2.255', '192.0.3.1'],
    ['2001:db8::1', '2001:db8::ffff:1', '2001:db8:0:0:abcd::', '2001:db8:0:1::1'],
  ] as const) {
    assertAnswered(await register(first), 201);
    assertAnswered(await register(second), 201);
    assertRefused(await register(third), 400, 'registration_refused');
    assertRefused(await register(first), 400, 'registration_refused');
    assertAnswered(await register(outside), 201);
  }
});

test('without a trusted proxy, forwarding headers do not change the network of a request', async (t) => {
  const service = await startTestService(t, { REGISTRATION_ABUSE_LIMIT: '1/day' });
  const register = (address: string) => service.client().post(paths.register, registration(), from(address));
  assertAnswered(await register('192.0.2.1'), 201);
  assertRefused(await register('198.51.100.1'), 400, 'registration_refused');
});

test('registrations with an email do not use up its reset mails', async (t) => {
  const service = await startTestService(t, { ACCOUNT_EMAIL_LIMIT: '3/hour' });
  const user = await createVerifiedUser(service);
  const stranger = service.client();
  for (let count = 0; count < 5; count += 1)
    await stranger.post('/api/v1/auth/register', {
      email: user.email,
      password: 'x',
      first_name: 'A',
      last_name: 'B',
    });
  for (let count = 0; count < 5; count += 1)
    await stranger.post('/api/v1/auth/resend-verification-email', { email: user.email });
  await stranger.post('/api/v1/auth/password-reset/request', { email: user.email });
  const mail = await service.mailTo(user.email, 1);
  assert.equal(mail.kind, 'password_reset');
});
