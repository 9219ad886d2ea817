// Acting as somebody: who may act as whom, what the token is worth and to whom it tells who acts, and when it ends.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { mailsTo, waitForEmptyOutbox } from '@castellan/testing/accounts/self-service';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addAppUser } from '@castellan/testing/second-factors/app';
import {
  addStrong,
  ageProofs,
  requireOfPermission,
  requireOfRole,
} from '@castellan/testing/second-factors/requirements';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { postForm } from '@castellan/testing/service-accounts/token-services';
import { actAs, actingClient, REASON } from '@castellan/testing/sessions/acting';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { addPerson, addRole, eventsOf, isSignedIn, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '2' });
const admin = await signIn(service, ADMIN);
const helpDesk = (...more: string[]) => signedInWith(service, 'users.act_as', 'user.read', ...more);
const customer = async (...permissions: string[]) =>
  addPerson(service, { roles: [await addRole(service, ...permissions)] });
const ofSession = (client: TestClient): string => readToken(client.accessToken ?? '').claims.sid as string;

test('the token is one of the user, says who acts, and lives as long as asked', async () => {
  const { client, person } = await helpDesk();
  const user = await customer('user.read');
  const answer = await actAs(client, user, { minutes: 7 });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(Object.keys(answer.body.data).sort(), ['access_token', 'expires_at', 'token_type']);
  assert.deepEqual(answer.headers.getSetCookie(), []);
  const { claims } = readToken(answer.body.data.access_token);
  assert.deepEqual([claims.sub, claims.act], [user.id, { sub: person.id }]);
  assert.equal(Number(claims.exp) - Number(claims.iat), 7 * 60);
  assert.equal(answer.body.data.expires_at, new Date(Number(claims.exp) * 1_000).toISOString());
  const acting = service.client();
  acting.accessToken = answer.body.data.access_token;
  const me = await acting.get('/api/v1/users/me');
  assert.deepEqual([me.status, me.body.data.id, me.body.data.permissions], [200, user.id, ['user.read']]);
  assert.equal((await acting.get('/api/v1/users')).status, 200);
  assert.equal((await acting.get('/api/v1/roles')).status, 403);
});

test('the default is a quarter of an hour; other inputs are refused', async () => {
  const { client } = await helpDesk();
  const user = await customer();
  const { claims } = readToken((await actAs(client, user)).body.data.access_token);
  assert.equal(Number(claims.exp) - Number(claims.iat), 15 * 60);
  for (const body of [
    { reason: '1234' },
    { reason: '' },
    { reason: null },
    { reason: 'x'.repeat(501) },
    { minutes: 0 },
    { minutes: 61 },
    { minutes: 1.5 },
  ])
    assertRefused(await actAs(client, user, body), 400, 'invalid_input');
  assertRefused(await actAs(client, user, { reason: '  abc   ' }), 422, 'validation_failed');
  assertRefused(await actAs(client, { id: 'nobody' }), 400, 'invalid_id');
  assertRefused(await actAs(client, { id: '00000000-0000-4000-8000-000000000000' }), 404, 'user_not_found');
});

test('it takes the permission, every permission of the user, and a superuser for a superuser', async () => {
  const user = await customer('user.read');
  assertRefused(
    await actAs((await signedInWith(service, 'users.update')).client, user),
    403,
    'permission_denied',
  );
  const { client, person } = await helpDesk();
  const product = await service.sql<{ id: string }>(
    "insert into permissions (id, name, group_id) select gen_random_uuid(), 'user.ship', id from permission_groups where name = 'user' returning id",
  );
  assert.equal(product.length, 1);
  assertRefused(await actAs(client, await customer('user.ship')), 403, 'privilege_escalation');
  assertRefused(await actAs(client, await customer('role.read')), 403, 'privilege_escalation');
  const superuser = await addPerson(service, { superuser: true });
  assertRefused(await actAs(client, superuser), 403, 'superuser_required');
  assert.equal((await actAs(admin, superuser)).status, 200);
  assertRefused(await actAs(client, person), 400, 'cannot_act_as_oneself');
  assertRefused(await actAs(client, { id: person.id.toUpperCase() }), 400, 'cannot_act_as_oneself');
});

test('the permission to write one’s own profile is not asked for: nobody who acts may use it', async () => {
  const { client } = await helpDesk();
  const user = await customer('user.read', 'self.update_profile');
  const acting = await actingClient(service, client, user);
  assert.ok(await isSignedIn(acting));
  assertRefused(await acting.put('/api/v1/users/me', { first_name: 'Other' }), 403, 'acting_as');
});

test('nobody acts as an account that is not active or was only invited', async () => {
  const { client } = await helpDesk();
  assertRefused(await actAs(client, await addPerson(service, { active: false })), 409, 'conflict');
  const invited = await addPerson(service);
  await service.sql(
    'update users set invited_at = now(), password_hash = null, verified = false where id = $1',
    [invited.id],
  );
  assertRefused(await actAs(client, invited), 409, 'conflict');
});

test('neither a service account acts as somebody, nor who acts already', async () => {
  const user = await customer();
  const { key } = await addServiceAccount(service, { permissions: ['users.act_as'] });
  const byKey = await service
    .client()
    .post(
      `/api/v1/users/${user.id}/act-as`,
      { reason: REASON },
      { headers: { authorization: `Bearer ${key}` } },
    );
  assertRefused(byKey, 403, 'user_required');
  const { client } = await helpDesk();
  const acting = await actingClient(service, client, await customer('users.act_as'));
  assertRefused(await actAs(acting, user), 403, 'acting_as');
});

test('it wants a fresh proof: of the factor of those who have one', async () => {
  const user = await customer();
  const { client, person } = await helpDesk();
  await ageProofs(service, person, 601);
  assertRefused(await actAs(client, user), 403, 'step_up_required');
  const strong = await addStrong(service, 'users.act_as');
  assert.equal((await actAs(strong.client, user)).status, 200);
  await ageProofs(service, strong, 601);
  assertRefused(await actAs(strong.client, user), 403, 'step_up_required');
});

test('what a permission or the role of the user asks for is asked of who acts', async () => {
  const { client } = await helpDesk('role.delete');
  const user = await customer('role.delete');
  await requireOfPermission(service, 'role.delete', 'aal2');
  assertRefused(await actAs(client, user), 403, 'step_up_required');
  await requireOfPermission(service, 'role.delete', null);
  const role = await addRole(service, 'user.read');
  const acting = await actingClient(service, client, await addPerson(service, { roles: [role] }));
  assert.ok(await isSignedIn(acting));
  await requireOfRole(service, role, 'aal2');
  assertRefused(await acting.get('/api/v1/users'), 403, 'second_factor_enrolment_required');
});

test('the factor of the user is not asked for, nor is the change of their password', async () => {
  const { client } = await helpDesk();
  const user = await addAppUser(service);
  await service.sql('update users set must_change_password = true where id = $1', [user.id]);
  assert.ok(await isSignedIn(await actingClient(service, client, user)));
});

test('it is told everywhere: lists of sessions, audit entries, introspection', async () => {
  const { client, person } = await helpDesk();
  const user = await customer('user.read', 'role.create');
  await service.sql('update users set is_superuser = true where id = $1', [person.id]);
  const owner = await signIn(service, user);
  const started = await actAs(client, user);
  const acting = service.client();
  acting.accessToken = started.body.data.access_token;
  const [entry] = await eventsOf(service, started);
  assert.deepEqual(
    [entry?.action, entry?.actor_id, entry?.resource_id, entry?.details.reason, entry?.details.session_id],
    ['act_as_started', person.id, user.id, REASON, ofSession(acting)],
  );
  const shown = { id: person.id, email: person.email, first_name: 'Ada', last_name: 'Lovelace' };
  for (const path of [
    '/api/v1/auth/sessions',
    `/api/v1/users/${user.id}/sessions`,
    `/api/v1/sessions?user_id=${user.id}`,
  ]) {
    const { body } = await (path.startsWith('/api/v1/auth') ? owner : admin).get(path);
    const marks = body.data.map(({ id, acted_by }: { id: string; acted_by: unknown }) => [id, acted_by]);
    assert.deepEqual(
      new Map(marks),
      new Map<unknown, unknown>([
        [ofSession(acting), shown],
        [ofSession(owner), undefined],
      ]),
      path,
    );
  }
  const made = await acting.post('/api/v1/roles', { name: `Made by ${user.email}` });
  assert.equal(made.status, 201, made.text);
  const { data } = (await admin.get(`/api/v1/audit-logs?acted_by_id=${person.id}`)).body;
  assert.deepEqual(
    data.map((one: Record<string, unknown>) => [one.action, one.actor_id, one.acted_by_id]),
    [['role_created', user.id, person.id]],
  );
  const plain = (await admin.get(`/api/v1/audit-logs?actor_id=${person.id}`)).body.data;
  assert.ok(plain.length > 0 && plain.every((one: object) => !('acted_by_id' in one)));
  const { key } = await addServiceAccount(service, { permissions: ['token.introspect'] });
  const token = acting.accessToken ?? '';
  const told = await postForm(service, 'introspect', { token }, { authorization: `Bearer ${key}` });
  assert.deepEqual([told.body.active, told.body.sub, told.body.act], [true, user.id, { sub: person.id }]);
});

test('the user gets a mail, unless ACT_AS_MAIL is off', async () => {
  const { client } = await helpDesk();
  const user = await customer();
  await actingClient(service, client, user);
  await waitForEmptyOutbox(service);
  const [mail] = mailsTo(service, user.email, 'acted_as');
  assert.match(mail?.text ?? '', /is using your account.*15 minutes/s);
  const silent = await service.another({ ACT_AS_MAIL: 'false' });
  const other = await customer();
  assert.equal((await actAs(client.at(silent.url), other)).status, 200);
  await waitForEmptyOutbox(service);
  assert.deepEqual(mailsTo(service, other.email, 'acted_as'), []);
});

test('it takes no place among the sessions of the user, and is no sign-in', async () => {
  const { client } = await helpDesk();
  const user = await customer();
  const owners = [await signIn(service, user), await signIn(service, user)];
  const [before] = await service.sql('select logged_in_at from last_logins where user_id = $1', [user.id]);
  const acting = await actingClient(service, client, user);
  for (const owner of owners) assert.ok(await isSignedIn(owner));
  assert.deepEqual(await service.sql('select logged_in_at from last_logins where user_id = $1', [user.id]), [
    before,
  ]);
  const third = await signIn(service, user);
  assert.ok(await isSignedIn(acting));
  assert.deepEqual([await isSignedIn(third), await isSignedIn(owners[0] as TestClient)], [true, false]);
});

test('a logout with the token ends that session alone, whatever cookies come with it', async () => {
  const { client, person } = await helpDesk();
  const user = await customer();
  const owner = await signIn(service, user);
  const acting = await actingClient(service, client, user);
  for (const browser of [client, owner]) {
    const again = await actingClient(service, client, user);
    const cookies = new Map(browser.cookies);
    const ended = await browser.post('/api/v1/auth/logout', undefined, {
      headers: { authorization: `Bearer ${again.accessToken}` },
    });
    assert.equal(ended.status, 200, ended.text);
    assert.deepEqual(ended.headers.getSetCookie(), []);
    assert.deepEqual(browser.cookies, cookies);
    assert.equal(await isSignedIn(again), false);
    const [entry] = await service.sql(
      "select action, actor_id, acted_by_id from audit_logs where details->>'request_id' = $1",
      [ended.headers.get('x-request-id')],
    );
    assert.deepEqual(entry, { action: 'act_as_ended', actor_id: user.id, acted_by_id: person.id });
  }
  assert.ok((await isSignedIn(client)) && (await isSignedIn(owner)));
  assert.equal(await isSignedIn(acting), false, 'acting again ends the session before');
});

test('it ends with the session of who acts, and with their access', async () => {
  const role = await addRole(service, 'users.act_as', 'user.read');
  const ends: Record<string, (by: { id: string }, client: TestClient) => Promise<unknown>> = {
    'a logout': (_, client) => client.post('/api/v1/auth/logout'),
    'the end of all sessions': (_, client) => client.post('/api/v1/auth/logout/all'),
    'a new password': (_, client) =>
      client.post('/api/v1/auth/change_password', {
        current_password: 'QaRegisterPass!47',
        new_password: 'Copper+Violin95Moss',
      }),
    deactivation: ({ id }) => admin.put(`/api/v1/users/${id}`, { is_active: false }),
    deletion: async ({ id }) => {
      await admin.post(`/api/v1/users/${id}/roles`, { role_ids: [] });
      await admin.delete(`/api/v1/users/${id}`);
    },
    'the loss of the permission': ({ id }) => admin.post(`/api/v1/users/${id}/roles`, { role_ids: [] }),
    'the expiry of their session': ({ id }) =>
      service.sql('update sessions set expires_at = now() where user_id = $1', [id]),
    'a password that must be changed': ({ id }) =>
      admin.put(`/api/v1/users/${id}`, { must_change_password: true }),
  };
  for (const [what, end] of Object.entries(ends)) {
    const by = await addPerson(service, { roles: [role] });
    const client = await signIn(service, by);
    const user = await customer('user.read');
    const acting = await actingClient(service, client, user);
    assert.ok(await isSignedIn(acting), what);
    await end(by, client);
    assertRefused(await acting.get('/api/v1/users/me'), 401, 'token_revoked');
  }
});

test('it ends when the user gets more than who acts, or loses access', async () => {
  const more = await addRole(service, 'audit_log.read');
  const ends: Record<string, (user: { id: string }) => Promise<unknown>> = {
    'a permission that the other lacks': ({ id }) =>
      admin.post(`/api/v1/users/${id}/roles`, { role_ids: [more] }),
    'a superuser': ({ id }) => admin.put(`/api/v1/users/${id}`, { is_superuser: true }),
    deactivation: ({ id }) => admin.put(`/api/v1/users/${id}`, { is_active: false }),
    'a new password': ({ id }) => admin.put(`/api/v1/users/${id}`, { password: 'Copper+Violin95Moss' }),
    'the end of sessions': ({ id }) => admin.delete(`/api/v1/users/${id}/sessions`),
    deletion: ({ id }) => admin.delete(`/api/v1/users/${id}`),
  };
  const { client } = await helpDesk();
  for (const [what, end] of Object.entries(ends)) {
    const user = await addPerson(service);
    const acting = await actingClient(service, client, user);
    assert.ok(await isSignedIn(acting), what);
    await end(user);
    assertRefused(await acting.get('/api/v1/users/me'), 401, 'token_revoked');
  }
});

test('lists show no session of somebody who can no longer act in it', async () => {
  const { client } = await helpDesk();
  const user = await customer();
  await actingClient(service, client, user);
  const count = async () => (await admin.get(`/api/v1/users/${user.id}/sessions`)).body.data.length;
  assert.equal(await count(), 1);
  await client.post('/api/v1/auth/logout');
  assert.equal(await count(), 0);
  assert.equal((await admin.get(`/api/v1/sessions?user_id=${user.id}`)).body.data.length, 0);
});

test('the user ends it, and a revocation of the token does', async () => {
  const { client } = await helpDesk();
  const user = await customer();
  const owner = await signIn(service, user);
  const acting = await actingClient(service, client, user);
  assert.equal((await owner.delete(`/api/v1/auth/sessions/${ofSession(acting)}`)).status, 200);
  assert.equal(await isSignedIn(acting), false);
  const again = await actingClient(service, client, user);
  assert.equal((await postForm(service, 'revoke', { token: again.accessToken ?? '' })).status, 200);
  assert.equal(await isSignedIn(again), false);
});
