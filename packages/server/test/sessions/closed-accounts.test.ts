// That an account which was closed, in whatever way, opens nothing any more.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signIn, startTestService } from '../harness.ts';
import { addUser, isRefreshable } from './accounts.ts';
import { changeUserUnder } from './hold-user.ts';

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

  test(`the refresh token of a ${what} user is refused on both paths`, async () => {
    const user = await addUser(service);
    const client = await signIn(service, user);
    await service.sql(statement, [user.id]);
    const answer = await client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken });
    assert.equal(answer.status, 401, answer.text);
    assert.equal(answer.body.code, 'refresh_token_invalid');
    assert.equal(await isRefreshable(service, client.refreshToken as string), false);
  });
}

test('a user who is deactivated while a login verifies the password gets no session', async () => {
  const user = await addUser(service);
  const answer = await changeUserUnder(
    service,
    user.id,
    'update users set is_active = false where id = $1',
    () => service.client().login(user),
  );
  assert.equal(answer.status, 422, answer.text);
  assert.equal(answer.body.code, 'invalid_credentials');
  assert.deepEqual(await service.sql('select id from sessions where user_id = $1', [user.id]), []);
});

test('a login whose user is deleted while it verifies the password is refused like a wrong password', async () => {
  const user = await addUser(service);
  const answer = await changeUserUnder(service, user.id, 'delete from users where id = $1', () =>
    service.client().login(user),
  );
  assert.equal(answer.status, 422, answer.text);
  assert.equal(answer.body.code, 'invalid_credentials');
});

test('a login that verified a password which was replaced meanwhile gets no session', async () => {
  const user = await addUser(service);
  const answer = await changeUserUnder(
    service,
    user.id,
    'update users set password_epoch = password_epoch + 1 where id = $1',
    () => service.client().login(user),
  );
  assert.equal(answer.body.code, 'invalid_credentials', answer.text);
  assert.deepEqual(await service.sql('select id from sessions where user_id = $1', [user.id]), []);
});
