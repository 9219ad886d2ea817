// The complete path of a new user, from registration to the last sign-out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newEmail, PASSWORD, startTestService } from '@castellan/testing/harness';

test('a visitor registers, verifies by the mailed link, signs in, refreshes, signs out, and the token is refused', async (t) => {
  const service = await startTestService(t);
  const client = service.client();
  const email = newEmail();

  const registered = await client.post('/api/v1/auth/register', {
    email,
    password: PASSWORD,
    first_name: 'Ada',
    last_name: "O'Brien",
  });
  assert.equal(registered.status, 201, registered.text);
  assert.equal(registered.body.data.verified, false);

  const early = await client.login({ email, password: PASSWORD });
  assert.equal(early.body.code, 'email_not_verified');

  const mail = await service.mailTo(email);
  const verified = await client.post('/api/v1/auth/verify-email', { token: mail.token });
  assert.equal(verified.status, 200, verified.text);
  assert.equal(verified.body.data.verified, true);

  const login = await client.login({ email, password: PASSWORD });
  assert.equal(login.status, 200, login.text);
  const me = await client.get('/api/v1/users/me');
  assert.equal(me.status, 200, me.text);
  assert.deepEqual(me.body.data.permissions, ['self.update_profile']);
  assert.equal(me.body.data.last_name, "O'Brien");

  const refreshed = await client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken });
  assert.equal(refreshed.status, 200, refreshed.text);
  client.accessToken = refreshed.body.data.access_token;
  const logout = await client.post('/api/v1/auth/logout');
  assert.equal(logout.status, 200, logout.text);
  const after = await client.get('/api/v1/users/me');
  assert.equal(after.status, 401);
  assert.match(after.body.detail, /revoked/);
});
