// Tests that a deactivated or deleted account cannot be used any more.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signIn, startTestService } from '@castellan/testing/harness';
import { addUser, isRefreshable } from '@castellan/testing/sessions/accounts';
import { changeUserWhileWaiting } from '@castellan/testing/sessions/hold-user';

const service = await startTestService({ after });

for (const [what, statement] of [
  ['deactivated', 'update users set is_active = false where id = $1'],
  ['deleted', 'delete from users where id = $1'],
] as const) {
  test(`the access token of a ${what} user is refused at the next request`, async () => {
    const user = await addUser(service);
    const client = await signIn(service, user);
    await service.sql(statement, [user.id]);
    const answer = await client.get('/api/v1/users/me');
    assert.equal(answer.status, 401, answer.text);
    assert.equal(answer.body.code, 'token_revoked');
  });

  test(`the refresh token of a ${what} user is refused by both operations`, async () => {
    const user = await addUser(service);
    const client = await signIn(service, user);
    await service.sql(statement, [user.id]);
    const answer = await client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken });
    assert.equal(answer.status, 401, answer.text);
    assert.equal(answer.body.code, 'refresh_token_invalid');
    assert.equal(await isRefreshable(service, client.refreshToken as string), false);
  });
}

test('a user who is deactivated while a sign-in verifies the password gets no session', async () => {
  const user = await addUser(service);
  const answer = await changeUserWhileWaiting(
    service,
    user.id,
    'update users set is_active = false where id = $1',
    () => service.client().login(user),
  );
  assert.equal(answer.status, 422, answer.text);
  assert.equal(answer.body.code, 'invalid_credentials');
  assert.deepEqual(await service.sql('select id from sessions where user_id = $1', [user.id]), []);
});

test('a sign-in whose user is deleted while it verifies the password is refused like a wrong password', async () => {
  const user = await addUser(service);
  const answer = await changeUserWhileWaiting(service, user.id, 'delete from users where id = $1', () =>
    service.client().login(user),
  );
  assert.equal(answer.status, 422, answer.text);
  assert.equal(answer.body.code, 'invalid_credentials');
});

test('a sign-in that verified a password that has been replaced since gets no session', async () => {
  const user = await addUser(service);
  const answer = await changeUserWhileWaiting(
    service,
    user.id,
    'update users set password_epoch = password_epoch + 1 where id = $1',
    () => service.client().login(user),
  );
  assert.equal(answer.body.code, 'invalid_credentials', answer.text);
  assert.deepEqual(await service.sql('select id from sessions where user_id = $1', [user.id]), []);
});
