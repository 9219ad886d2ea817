// GET and PUT /users/me: what users see and may change of their own account.
// The rules for names are tested in names.test.ts.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { User } from '@castellan/contract/users';
import { paths } from '@castellan/testing/accounts/self-service';
import { ADMIN, createVerifiedUser, signIn, startTestService } from '@castellan/testing/harness';
import { assertAnswered, assertRefused } from './answers.ts';

const service = await startTestService({ after });
const newUser = async () => {
  const user = await createVerifiedUser(service);
  return { user, client: await signIn(service, user) };
};

test('a user reads their own account, with roles and permissions, and no internal attribute', async () => {
  const { user, client } = await newUser();
  const answer = await client.get(paths.me);
  const data = assertAnswered(answer);
  assert.deepEqual(Object.keys(data).sort(), Object.keys(User.properties).sort());
  assert.partialDeepStrictEqual(data, {
    id: user.id,
    email: user.email,
    first_name: 'Ada',
    last_name: 'Lovelace',
    is_active: true,
    is_superuser: false,
    verified: true,
    permissions: ['self.update_profile'],
  });
  assert.ok(data.created_at <= data.updated_at);
  assert.deepEqual(Object.keys(data.roles[0]).sort(), ['description', 'id', 'name']);
  assert.doesNotMatch(answer.text, /argon2|hash|failed|locked|epoch/);
});

test('a superuser sees every permission, sorted and once each', async () => {
  const client = await signIn(service, ADMIN);
  const { is_superuser, permissions } = assertAnswered(await client.get(paths.me));
  assert.equal(is_superuser, true);
  const all = await service.sql<{ name: string }>('select name from permissions');
  assert.deepEqual(permissions, all.map((one) => one.name).sort());
});

test('a user changes their own names, one or both; a name that is not sent stays', async () => {
  const { user, client } = await newUser();
  const before = assertAnswered(await client.get(paths.me));
  const first = assertAnswered(await client.put(paths.me, { first_name: 'Augusta' }));
  assert.deepEqual([first.first_name, first.last_name], ['Augusta', 'Lovelace']);
  const both = assertAnswered(await client.put(paths.me, { first_name: 'Ada', last_name: 'King' }));
  assert.deepEqual([both.first_name, both.last_name], ['Ada', 'King']);
  assert.ok(both.updated_at > before.updated_at);
  const { updated_at, last_name, ...same } = both;
  assert.deepEqual(same, (({ updated_at: _, last_name: __, ...rest }) => rest)(before));
  assert.deepEqual(assertAnswered(await client.get(paths.me)), both);
  const entries = await service.sql(
    `select actor_id, resource_id, details from audit_logs where action = 'user_profile_updated'
     and resource_id = $1 order by "timestamp"`,
    [user.id],
  );
  assert.equal(entries.length, 2);
  assert.equal(entries[1]!.actor_id, user.id);
  const { address, before: old, after: changed } = entries[1]!.details as Record<string, unknown>;
  assert.equal(address, '127.0.0.1');
  assert.deepEqual(old, { first_name: 'Augusta', last_name: 'Lovelace' });
  assert.deepEqual(changed, { first_name: 'Ada', last_name: 'King' });
});

for (const [field, value] of Object.entries({
  id: '01890000-0000-7000-8000-000000000000',
  email: 'other@example.com',
  password: 'Thicket!Orbit47Jade',
  roles: [],
  role_id: [],
  is_active: false,
  is_superuser: true,
  verified: false,
  is_verified: false,
}))
  test(`changing ${field} here is 400, and nothing else in the body is applied`, async () => {
    const { user, client } = await newUser();
    const before = await service.sql('select * from users where id = $1', [user.id]);
    const answer = await client.put(paths.me, { first_name: 'Eve', [field]: value });
    const { detail, errors } = assertRefused(answer, 400, 'field_not_allowed');
    assert.match(detail, new RegExp(field));
    assert.deepEqual(
      errors.map((one: { field: string }) => one.field),
      [field],
    );
    assert.deepEqual(await service.sql('select * from users where id = $1', [user.id]), before);
  });

test('unknown fields are ignored, and an empty body changes nothing', async () => {
  const { client } = await newUser();
  const before = assertAnswered(await client.get(paths.me));
  for (const body of [{}, { nickname: 'x', password_hash: 'y', failed_attempts: 0 }]) {
    const { updated_at, ...data } = assertAnswered(await client.put(paths.me, body));
    assert.deepEqual({ ...data, updated_at: before.updated_at }, before);
  }
});

test('a prototype key in the body is 400 and grants nothing', async () => {
  const { client } = await newUser();
  for (const raw of [
    '{"__proto__":{"is_superuser":true}}',
    '{"constructor":{"prototype":{"is_superuser":true}}}',
  ]) {
    const answer = await client.request('PUT', paths.me, {
      raw,
      headers: { 'content-type': 'application/json' },
    });
    assertRefused(answer, 400, 'malformed_json');
  }
  assert.equal(assertAnswered(await client.get(paths.me)).is_superuser, false);
});

test('a body of the wrong shape is 400', async () => {
  const { client } = await newUser();
  assertRefused(await client.put(paths.me, { first_name: 7 }), 400, 'invalid_input');
  assertRefused(await client.put(paths.me, { last_name: null }), 400, 'invalid_input');
  assertRefused(await client.put(paths.me, []), 400, 'invalid_input');
  assertRefused(await client.put(paths.me), 400, 'malformed_json');
});

test('without a token reading and changing are 401; a change without a CSRF token is 403 before that', async () => {
  const { client } = await newUser();
  const anonymous = { headers: { authorization: null } };
  assertRefused(await client.get(paths.me, anonymous), 401, 'token_missing');
  assertRefused(await client.put(paths.me, { first_name: 'Eve' }, anonymous), 401, 'token_missing');
  const bare = { headers: { authorization: null, 'x-csrf-token': null } };
  assertRefused(await client.put(paths.me, {}, bare), 403, 'csrf_invalid');
});

test('without self.update_profile a change is 403 whatever the body, and reading still works', async () => {
  const { user, client } = await newUser();
  await service.sql('delete from user_roles where user_id = $1', [user.id]);
  for (const body of [{ first_name: 'Eve' }, { email: 'x' }, { first_name: '' }, []])
    assertRefused(await client.put(paths.me, body), 403, 'permission_denied');
  const { roles, permissions } = assertAnswered(await client.get(paths.me));
  assert.deepEqual([roles, permissions], [[], []]);
  const entries = await service.sql(
    `select details->>'permission' as permission from audit_logs where action = 'permission_denied' and actor_id = $1`,
    [user.id],
  );
  assert.deepEqual([...new Set(entries.map((entry) => entry.permission))], ['self.update_profile']);
});

test('the tokens of a deactivated or deleted user are 401', async () => {
  const deactivated = await newUser();
  await service.sql('update users set is_active = false where id = $1', [deactivated.user.id]);
  assertRefused(await deactivated.client.get(paths.me), 401, 'token_revoked');
  const deleted = await newUser();
  await service.sql('delete from user_roles where user_id = $1', [deleted.user.id]);
  await service.sql('delete from users where id = $1', [deleted.user.id]);
  assertRefused(await deleted.client.get(paths.me), 401, 'token_revoked');
});
