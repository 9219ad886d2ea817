// Changing a password while somebody else ends the sessions or closes the account.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVerifiedUser, PASSWORD, signIn, startTestService } from '../harness.ts';
import { changeUserUnder } from '../sessions/hold-user.ts';

const NEXT = 'ReplacementPassword!42';

for (const [what, change] of [
  ['a deactivation', 'update users set is_active = false where id = $1'],
  ['a logout everywhere', 'update sessions set revoked_at = now() where user_id = $1'],
] as const)
  test(`${what} during change_password is not answered with a new session`, async (t) => {
    const service = await startTestService(t);
    const user = await createVerifiedUser(service);
    const client = await signIn(service, user);
    const answer = await changeUserUnder(service, user.id, change, () =>
      client.post('/api/v1/auth/change_password', { current_password: PASSWORD, new_password: NEXT }),
    );
    assert.equal(answer.status, 401, answer.text);
    assert.equal(answer.body.code, 'token_revoked');
    const live = await service.sql(
      'select s.id from sessions s join users u on u.id = s.user_id where s.user_id = $1 and s.revoked_at is null and u.is_active',
      [user.id],
    );
    assert.deepEqual(live, []);
  });

test('a reset link ends when the account is closed or gets another address meanwhile', async (t) => {
  const service = await startTestService(t);
  for (const change of [
    'update users set is_active = false where id = $1',
    "update users set email = 'moved-' || email where id = $1",
  ]) {
    const user = await createVerifiedUser(service);
    const client = service.client();
    await client.post('/api/v1/auth/password-reset/request', { email: user.email });
    const { token } = await service.mailTo(user.email, 1);
    const answer = await changeUserUnder(service, user.id, change, () =>
      client.post('/api/v1/auth/password-reset/confirm', { token, new_password: NEXT }),
    );
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.body.code, 'reset_token_invalid');
  }
});

test('registrations with an address take none of its reset mails', async (t) => {
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

test('a limit that was lowered below the failures counted already locks, instead of hanging', async (t) => {
  const service = await startTestService(t, { ACCOUNT_LOCKOUT_ATTEMPTS: '5' });
  const user = await createVerifiedUser(service);
  for (let count = 0; count < 4; count += 1)
    await service.client().login({ email: user.email, password: 'wrong' });
  const stricter = await service.another({ ACCOUNT_LOCKOUT_ATTEMPTS: '3' });
  const answer = await stricter.client().login(user);
  assert.equal(answer.body.code, 'account_locked', answer.text);
});

test('a flood of requests without a CSRF token leaves a bounded number of entries', async (t) => {
  const service = await startTestService(t);
  await Promise.all(
    Array.from({ length: 150 }, () => fetch(`${service.url}/api/v1/auth/logout`, { method: 'POST' })),
  );
  const [row] = await service.sql<{ entries: number; told: number }>(
    "select count(*)::int as entries, count(*) filter (where details ? 'more_left_out')::int as told from audit_logs where action = 'csrf_refused'",
  );
  assert.ok(row && row.entries >= 60 && row.entries <= 120, JSON.stringify(row));
  assert.ok(row.told >= 1);
});
