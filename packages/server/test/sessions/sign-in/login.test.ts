// Signing in: what a successful sign-in returns, and that refusals reveal nothing.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { addUser, readyClient } from '@castellan/testing/sessions/accounts';
import { failLogins, logIn, WRONG } from '@castellan/testing/sessions/attempts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { hash } from '@node-rs/argon2';
import { setCookieOf } from '../set-cookie.ts';

const service = await startTestService({ after });
const LOGIN = '/api/v1/auth/login';
const REFRESH_SECONDS = 7 * 86_400;

test('a sign-in returns both tokens, their type, the user and a message', async () => {
  const user = await addUser(service);
  const answer = await logIn(service.client(), user.email, user.password);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(Object.keys(answer.body).sort(), ['data', 'message']);
  assert.equal(typeof answer.body.message, 'string');
  const { data } = answer.body;
  assert.deepEqual(Object.keys(data).sort(), ['access_token', 'refresh_token', 'token_type', 'user']);
  assert.equal(data.token_type, 'bearer');
  assert.notEqual(data.access_token, data.refresh_token);
  assert.equal(data.user.id, user.id);
  assert.equal(data.user.email, user.email);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
});

test('the user in the answer to a sign-in is that of /users/me, without internal attributes', async () => {
  const user = await addUser(service);
  const client = service.client();
  const answer = await client.login(user);
  const me = await client.get('/api/v1/users/me');
  assert.deepEqual(answer.body.data.user, me.body.data);
  assert.deepEqual(
    Object.keys(answer.body.data.user).filter((key) => /^password|hash|failed|attempt|lock|epoch/.test(key)),
    [],
  );
});

test('a sign-in sets the refresh token as an HttpOnly, Secure, Lax cookie of /api/v1/auth for its lifetime', async () => {
  const user = await addUser(service);
  const answer = await logIn(service.client(), user.email, user.password);
  const cookie = setCookieOf(answer, 'refresh_token');
  assert.equal(cookie?.value, answer.body.data.refresh_token);
  assert.deepEqual(cookie?.attributes, {
    'max-age': String(REFRESH_SECONDS),
    path: '/api/v1/auth',
    httponly: '',
    secure: '',
    samesite: 'Lax',
  });
});

test('COOKIE_SECURE=false omits Secure and nothing else', async () => {
  const plain = await service.another({ COOKIE_SECURE: 'false' });
  const user = await addUser(service);
  const answer = await logIn(plain.client(), user.email, user.password);
  assert.deepEqual(setCookieOf(answer, 'refresh_token')?.attributes, {
    'max-age': String(REFRESH_SECONDS),
    path: '/api/v1/auth',
    httponly: '',
    samesite: 'Lax',
  });
});

test('the email of a sign-in may be written in any case and with spaces around it', async () => {
  const user = await addUser(service);
  const answer = await logIn(service.client(), `  ${user.email.toUpperCase()} `, user.password);
  assert.equal(answer.status, 200, answer.text);
});

test('the password of a sign-in must match exactly, including case and surrounding spaces', async () => {
  const user = await addUser(service);
  const client = service.client();
  for (const password of [PASSWORD.toLowerCase(), ` ${PASSWORD}`, `${PASSWORD} `])
    assert.equal((await logIn(client, user.email, password)).body.code, 'invalid_credentials');
});

const refused = async (email: string, password: string): Promise<Answer> => {
  const client = await readyClient(service);
  return client.post(LOGIN, { email, password }, { headers: { 'x-request-id': 'the-same' } });
};
/** Without Retry-After, which counts down; the test of the lock checks it. */
const everything = (answer: Answer) => ({
  status: answer.status,
  text: answer.text,
  headers: [...answer.headers].filter(([name]) => !['date', 'retry-after'].includes(name)),
});

test('an unknown email, a wrong password and an inactive account get the same bytes, including headers', async () => {
  const user = await addUser(service);
  const inactive = await addUser(service, { active: false });
  const unknown = await refused(newEmail(), PASSWORD);
  assert.equal(unknown.status, 422);
  assert.equal(unknown.body.code, 'invalid_credentials');
  assert.deepEqual(everything(await refused(user.email, WRONG)), everything(unknown));
  assert.deepEqual(everything(await refused(inactive.email, inactive.password)), everything(unknown));
  assert.deepEqual(everything(await refused(inactive.email, WRONG)), everything(unknown));
  assert.deepEqual(everything(await refused('no email at all', WRONG)), everything(unknown));
});

test('an account without a password is refused like a wrong password', async () => {
  const user = await addUser(service);
  await service.sql('update users set password_hash = null where id = $1', [user.id]);
  assert.deepEqual(
    everything(await refused(user.email, user.password)),
    everything(await refused(newEmail(), WRONG)),
  );
});

const NO_BREAK = 'Vexing\u00a0Quartz\u202f82Lime#';
const PLAIN = 'Vexing Quartz 82Lime#';

test('spaces of every kind are plain ones in a password', async () => {
  const user = await addUser(service);
  const admin = await signIn(service, ADMIN);
  const set = await admin.put(`/api/v1/users/${user.id}`, { password: NO_BREAK });
  assert.equal(set.status, 200, set.text);
  for (const password of [NO_BREAK, PLAIN])
    assert.equal((await logIn(service.client(), user.email, password)).status, 200);
  await refused(user.email, PLAIN.replaceAll(' ', ''));
});

test('a hash that kept its no-break spaces is verified, and replaced by one with plain spaces', async () => {
  const user = await addUser(service);
  const stored = async (): Promise<string> =>
    String((await service.sql('select password_hash from users where id = $1', [user.id]))[0]?.password_hash);
  const [, memory, time, lanes] = /m=(\d+),t=(\d+),p=(\d+)/.exec(await stored()) ?? [];
  const former = await hash(NO_BREAK, {
    memoryCost: Number(memory),
    timeCost: Number(time),
    parallelism: Number(lanes),
  });
  await service.sql('update users set password_hash = $2 where id = $1', [user.id, former]);
  await refused(user.email, PLAIN);
  assert.equal((await logIn(service.client(), user.email, NO_BREAK)).status, 200);
  const replaced = await stored();
  assert.notEqual(replaced, former);
  for (const password of [PLAIN, NO_BREAK])
    assert.equal((await logIn(service.client(), user.email, password)).status, 200);
  assert.equal(await stored(), replaced, 'a hash of plain spaces stays');
});

test('a locked email has its own code and Retry-After, the same with and without an account', async () => {
  const user = await addUser(service);
  const stranger = newEmail();
  const client = await readyClient(service);
  await failLogins(client, user.email, 5);
  await failLogins(client, stranger, 5);
  const known = await refused(user.email, user.password);
  const unknown = await refused(stranger, WRONG);
  assert.equal(known.status, 422);
  assert.equal(known.body.code, 'account_locked');
  for (const answer of [known, unknown]) {
    const seconds = Number(answer.headers.get('retry-after'));
    assert.ok(seconds > 840 && seconds <= 900, `Retry-After: ${seconds}`);
  }
  assert.deepEqual(everything(known), everything(unknown));
});

test('"not verified" is returned only after the right password', async () => {
  const user = await addUser(service, { verified: false });
  const right = await refused(user.email, user.password);
  assert.equal(right.status, 422);
  assert.equal(right.body.code, 'email_not_verified');
  assert.equal(setCookieOf(right, 'refresh_token'), undefined);
  assert.deepEqual(
    everything(await refused(user.email, WRONG)),
    everything(await refused(newEmail(), WRONG)),
  );
});

test('an account that is inactive and unverified does not reveal that its password was right', async () => {
  const user = await addUser(service, { verified: false, active: false });
  assert.equal((await refused(user.email, user.password)).body.code, 'invalid_credentials');
});

for (const [what, email, password] of [
  ['markup', '<script>alert(1)</script>@example.com', PASSWORD],
  ['a line break', 'ada@example.com\nBcc: all@example.com', PASSWORD],
  ['a control character', 'ada\u0007@example.com', PASSWORD],
  ['a NUL', 'ada\u0000@example.com', PASSWORD],
  ['a lone surrogate', 'ada\ud800@example.com', PASSWORD],
  ['over 1,000 characters of password', 'ada@example.com', 'x'.repeat(1_001)],
] as const)
  test(`a sign-in with ${what} is 400`, async () => {
    const answer = await refused(email, password);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.body.code, /^(sanitization_failed|invalid_text)$/);
  });

test('an empty password and one of exactly 1,000 characters are treated as wrong passwords', async () => {
  for (const password of ['', 'x'.repeat(1_000)])
    assert.equal((await refused(newEmail(), password)).body.code, 'invalid_credentials');
});

for (const [what, body] of [
  ['no email', { password: PASSWORD }],
  ['no password', { email: 'ada@example.com' }],
  ['a number as password', { email: 'ada@example.com', password: 47 }],
  ['a list as email', { email: ['ada@example.com'], password: PASSWORD }],
  ['an object as email', { email: { $ne: '' }, password: PASSWORD }],
] as const)
  test(`a sign-in with ${what} is 422 and names the field`, async () => {
    const answer = await service.client().post(LOGIN, body);
    assert.equal(answer.status, 422, answer.text);
    assert.equal(answer.body.code, 'validation_failed');
    assert.match(answer.body.errors[0].field, /^(email|password)$/);
  });

test('a sign-in is an event with actor, address and session; a refused one has the reason and no actor', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  await logIn(client, user.email, WRONG);
  const [succeeded] = await eventsOf(service, 'login_succeeded', user);
  assert.equal(succeeded?.actor_id, user.id);
  assert.equal(succeeded?.resource_type, 'security_event');
  assert.equal(succeeded?.details.address, '127.0.0.1');
  assert.equal(succeeded?.details.email, user.email);
  const [failed] = await eventsOf(service, 'login_failed', user);
  assert.equal(failed?.actor_id, null);
  assert.equal(failed?.details.reason, 'wrong_password');
});

test('neither log nor audit log contains a password or a token', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  await logIn(client, user.email, WRONG);
  await client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken });
  const rows = await service.sql<{ text: string }>('select details::text as text from audit_logs');
  const written = [...rows.map((row) => row.text), ...service.logLines].join('\n');
  for (const secret of [PASSWORD, WRONG, client.accessToken, client.refreshToken])
    assert.ok(!written.includes(secret as string), 'a secret was written');
});
