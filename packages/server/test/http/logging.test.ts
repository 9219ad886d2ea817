// The access log: one line per request with the id of its answer, and no secret in any line.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import {
  ADMIN,
  newEmail,
  PASSWORD,
  signIn,
  startTestService,
  TEST_SECRET_KEY,
} from '@castellan/testing/harness';
import { ABSENT_ID } from '@castellan/testing/http/fixture';

const service = await startTestService({ after }, { LOG_LEVEL: 'trace' });

const linesOf = (answer: Answer): Record<string, unknown>[] =>
  service.logLines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line.request_id === answer.headers.get('x-request-id') && 'status' in line);

test('every answered request writes one line with method, route pattern, status, duration and address', async () => {
  const admin = await signIn(service, ADMIN);
  const cases: [method: string, path: string, route: string | null, status: number][] = [
    ['GET', '/health/live', '/health/live', 200],
    ['GET', '/api/v1/users/me?secret=in-the-query', '/api/v1/users/me', 200],
    ['DELETE', `/api/v1/auth/sessions/${ABSENT_ID}`, '/api/v1/auth/sessions/:session_id', 404],
    ['GET', '/typed/by-a-person', null, 404],
    ['GET', '/api/v1/auth/login', null, 405],
    ['GET', '/api/v1/%ff', null, 400],
    ['HEAD', '/api/v1/users/me', '/api/v1/users/me', 200],
  ];
  for (const [method, path, route, status] of cases) {
    const answer = await admin.request(method, path);
    assert.equal(answer.status, status, path);
    const lines = linesOf(answer);
    assert.equal(lines.length, 1, `${path}: ${JSON.stringify(lines)}`);
    const [line] = lines;
    assert.equal(line?.method, method);
    assert.equal(line?.route, route);
    assert.equal(line?.status, status);
    assert.equal(line?.code, method === 'HEAD' ? undefined : answer.body?.code, 'the reason for a refusal');
    assert.equal(typeof line?.duration_ms, 'number');
    assert.equal(line?.level, 'info');
    if (path !== '/api/v1/%ff') assert.equal(line?.address, '127.0.0.1');
  }
  const all = service.logLines.join('');
  assert.doesNotMatch(all, /in-the-query|by-a-person/);
});

test('every line is one JSON object with level and time, whatever a client sends', async () => {
  await service.client().get('/health/live', {
    headers: { 'user-agent': 'a"}\\n{"level":"fatal","msg":"forged', 'x-forwarded-for': '"},{"' },
  });
  await service
    .client()
    .post('/api/v1/auth/login', { email: 'a@example.com\n{"level":"fatal"}', password: '\n' });
  for (const line of service.logLines) {
    assert.equal(line.trimEnd().includes('\n'), false);
    const entry = JSON.parse(line);
    assert.ok(entry.level !== 'fatal');
    assert.match(entry.time, /^\d{4}-\d\d-\d\dT/);
  }
});

test('the whole life of an account, with its mistakes, writes no password, token, cookie or key to the log', async () => {
  const client = service.client();
  const email = newEmail();
  const names = { first_name: 'Ada', last_name: 'Lovelace' };
  const wrong = 'Wrong#Password88xz';
  const next = 'ReplacementPassword!42';
  const secrets = new Map<string, string | null | undefined>([
    ['password', PASSWORD],
    ['wrong password', wrong],
    ['next password', next],
    ['weak password', 'weak-secret'],
    ['admin password', ADMIN.password],
    ['secret key', TEST_SECRET_KEY],
  ]);
  const post = (path: string, body?: unknown) => client.post(`/api/v1/auth/${path}`, body);

  await post('register', { email, password: 'weak-secret', ...names });
  await post('register', { email, password: PASSWORD, ...names });
  await post('register', { email, password: PASSWORD, ...names, first_name: { deep: wrong } });
  const verification = (await service.mailTo(email)).token;
  secrets.set('verification token', verification);
  await post('verify-email', { token: verification });
  await post('verify-email', { token: verification });
  await post('login', { email, password: wrong });
  await post('login', { email, password: [wrong] });
  await client.login({ email, password: PASSWORD });
  secrets.set('first access token', client.accessToken);
  secrets.set('first refresh token', client.refreshToken);
  await post('new_access_token');
  const rotated = await post('refresh', { refresh_token: client.refreshToken });
  assert.equal(rotated.status, 200, rotated.text);
  secrets.set('second refresh token', rotated.body.data.refresh_token);
  await post('refresh', { refresh_token: `${rotated.body.data.refresh_token}x` });
  await client.get('/api/v1/users/me', { headers: { authorization: `Bearer ${client.accessToken}x` } });
  await client.get(`/api/v1/users/me?access_token=${client.accessToken}&password=${PASSWORD}`);
  await client.get(`/nothing/${verification}`);
  await post('change_password', { current_password: wrong, new_password: next });
  const changed = await post('change_password', { current_password: PASSWORD, new_password: next });
  assert.equal(changed.status, 200, changed.text);
  secrets.set('third access token', changed.body.data.access_token);
  secrets.set('third refresh token', changed.body.data.refresh_token);
  await post('password-reset/request', { email });
  const reset = (await service.mailTo(email, 1)).token;
  secrets.set('reset token', reset);
  await post('password-reset/confirm', { token: reset, new_password: 'weak-secret' });
  await post('password-reset/confirm', { token: reset, new_password: PASSWORD });
  secrets.set('CSRF cookie', client.cookies.get('csrf_token'));
  const csrf = await client.get('/api/v1/auth/csrf-token');
  secrets.set('CSRF token', csrf.body.data.csrf_token);
  await client.request('POST', '/api/v1/auth/logout', {
    headers: { 'x-csrf-token': csrf.body.data.csrf_token.slice(1) },
  });
  await client.login({ email, password: PASSWORD });
  secrets.set('last access token', client.accessToken);
  await post('logout/all');
  // A failure whose error object contains everything that the driver knows.
  await service.sql('alter table password_history rename to lost_history');
  await post('register', { email: newEmail(), password: PASSWORD, ...names });
  await service.sql('alter table lost_history rename to password_history');

  const log = service.logLines.join('');
  const stored = await service.sql<{ audit: string }>('select details::text as audit from audit_logs');
  const audit = stored.map((row) => row.audit).join('\n');
  assert.ok(secrets.size >= 16);
  for (const [what, secret] of secrets) {
    assert.ok(secret && secret.length > 8, what);
    // The signature of a token would be as bad as the whole token.
    for (const part of [secret, secret.split('.').at(-1) as string]) {
      assert.ok(!log.includes(part), `${what} in the log`);
      assert.ok(!audit.includes(part), `${what} in the audit log`);
    }
  }
  assert.doesNotMatch(log, /Bearer |\$argon2/);
  assert.doesNotMatch(audit, /Bearer |\$argon2/);
});
