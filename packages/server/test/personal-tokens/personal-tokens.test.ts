// Personal access tokens: how they are made, what they may do, and what they never show.
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import {
  addStrong,
  ageProofs,
  requireOfPermission,
  requireOfRole,
} from '@castellan/testing/second-factors/requirements';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { postForm } from '@castellan/testing/service-accounts/token-services';
import {
  addPerson,
  addRole,
  eventsOf,
  roleNamed,
  signedInWith,
  tally,
} from '@castellan/testing/users/people';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const twin = await service.another();
const admin = await signIn(service, ADMIN);
const own = '/api/v1/users/me/tokens';

const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

function clientWith(token: string, of: { client(): TestClient } = service): TestClient {
  const client = of.client();
  client.accessToken = token;
  return client;
}

type Made = { id: string; token: string; prefix: string };

async function make(client: TestClient, body: Record<string, unknown> = {}): Promise<Made> {
  const answer = await client.post(own, { name: 'Deployment', expires_at: inDays(30), ...body });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.data;
}

test('a new token has the documented form, is shown once, and only its hash is stored', async () => {
  const { client, person } = await signedInWith(service, 'role.read', 'users.read');
  const created = await client.post(own, { name: ' CI ', expires_at: inDays(30) });
  assert.equal(created.status, 201, created.text);
  const { token, id, prefix, created_at, expires_at, ...rest } = created.body.data;
  assert.deepEqual(rest, {
    name: 'CI',
    permissions: ['role.read', 'users.read'],
    narrowed_by: 'maker',
    last_used_at: null,
  });
  assert.match(token, /^castellan_pat_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
  assert.equal(prefix, token.slice(0, 26));
  const listed = await client.get(own);
  assert.deepEqual(listed.body.data, [{ ...rest, id, prefix, created_at, expires_at }]);
  const [row] = await service.sql<{ text: string; secret_hash: Buffer }>(
    'select t::text as text, secret_hash from personal_tokens t where id = $1',
    [id],
  );
  assert.deepEqual(row?.secret_hash, createHash('sha256').update(token).digest());
  assert.ok(!row?.text.includes(token.slice(27, 70)), 'the row holds the secret');
  const [event] = await eventsOf(service, created);
  assert.equal(event?.action, 'personal_token_created');
  assert.equal(event?.details.personal_token_id, id);
  const mail = await service.mailTo(person.email);
  assert.equal(mail.kind, 'personal_token_created');
  assert.match(mail.text, /Token: CI/);
});

test('a token acts as its owner at every instance, and the audit log names it', async () => {
  const { client, person } = await signedInWith(service, 'role.read', 'role.create', 'self.update_profile');
  const { token, id } = await make(client);
  for (const one of [service, twin]) {
    const me = await clientWith(token, one).get('/api/v1/users/me');
    assert.equal(me.body.data.email, person.email);
  }
  const made = await clientWith(token).post('/api/v1/roles', { name: `By token ${id}` });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.body.data.created_by_id, person.id);
  const [event] = await eventsOf(service, made);
  assert.deepEqual([event?.actor_id, event?.details.token_id], [person.id, id]);
  const bySession = await client.post('/api/v1/roles', { name: `By session ${id}` });
  const [other] = await eventsOf(service, bySession);
  assert.ok(!('token_id' in (other?.details ?? {})), 'an entry of a session names a token');
  const denied = await clientWith(token).get('/api/v1/audit-logs');
  assertRefused(denied, 403, 'permission_denied');
  const used = await client.get(own);
  assert.match(used.body.data[0].last_used_at, /:00(\.000)?Z$/);
});

test('a narrowed token does only what it is narrowed to and its owner may, at once', async () => {
  const role = await addRole(service, 'role.read', 'users.read');
  const person = await addPerson(service, { roles: [role] });
  const client = await signIn(service, person);
  const { token } = await make(client, { permissions: ['Role.Read'] });
  const program = clientWith(token, twin);
  assert.equal((await program.get('/api/v1/roles')).status, 200);
  assertRefused(await program.get('/api/v1/users'), 403, 'permission_denied');
  assert.deepEqual((await program.get('/api/v1/users/me')).body.data.permissions, ['role.read']);
  await service.sql('delete from role_permissions where role_id = $1', [role]);
  assertRefused(await program.get('/api/v1/roles'), 403, 'permission_denied');
  const lacking = await client.post(own, {
    name: 'More',
    expires_at: inDays(1),
    permissions: ['audit_log.read'],
  });
  assertRefused(lacking, 403, 'privilege_escalation');
  const unknown = await client.post(own, { name: 'More', expires_at: inDays(1), permissions: ['no.such'] });
  assertRefused(unknown, 404, 'permission_not_found');
});

test('a token gains nothing from a role that is given later', async () => {
  const person = await addPerson(service, { roles: [await addRole(service, 'role.read')] });
  const { token } = await make(await signIn(service, person));
  const later = await addRole(service, 'users.read');
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [person.id, later]);
  assertRefused(await clientWith(token).get('/api/v1/users'), 403, 'permission_denied');
  await service.sql('update users set is_superuser = true where id = $1', [person.id]);
  assertRefused(await clientWith(token).get('/api/v1/users'), 403, 'permission_denied');
});

test("a superuser's token does everything, and a narrowed one is that of no superuser", async () => {
  const person = await addPerson(service, { superuser: true });
  const client = await signIn(service, person);
  const all = await client.post(own, { name: 'All', expires_at: inDays(1) });
  assert.deepEqual([all.body.data.permissions, all.body.data.narrowed_by], [null, null]);
  const program = clientWith(all.body.data.token);
  const other = await addPerson(service, { superuser: true });
  const body = { first_name: 'Changed' };
  assert.equal((await program.put(`/api/v1/users/${other.id}`, body)).status, 200);
  const narrowed = clientWith(
    (await make(client, { permissions: ['users.update', 'users.read', 'role.create'] })).token,
  );
  const again = { first_name: 'Again' };
  assertRefused(await narrowed.put(`/api/v1/users/${other.id}`, again), 403, 'superuser_required');
  assert.equal((await narrowed.get('/api/v1/users/me')).body.data.is_superuser, false);
  const granted = await service.sql<{ id: string }>(
    "select id from permissions where name = 'audit_log.read'",
  );
  const role = await narrowed.post('/api/v1/roles', {
    name: `R ${person.id}`,
    permission_ids: [granted[0]?.id],
  });
  assertRefused(role, 403, 'privilege_escalation');
});

test('a token never is fresh: it hands out nothing that asks for a proof, and no superuser', async () => {
  const client = clientWith((await make(await signIn(service, ADMIN))).token);
  const target = await addPerson(service);
  const admins = await roleNamed(service, 'Admin');
  const assigned = await client.post(`/api/v1/users/${target.id}/roles`, { role_ids: [admins] });
  assertRefused(assigned, 403, 'user_session_required');
  assertRefused(
    await client.put(`/api/v1/users/${target.id}`, { is_superuser: true }),
    403,
    'user_session_required',
  );
  const reset = await client.post(`/api/v1/users/${target.id}/factors/reset`, {});
  assert.ok([403, 404].includes(reset.status), reset.text);
  await requireOfPermission(service, 'settings.read', 'aal1');
  try {
    assertRefused(await client.get('/api/v1/settings'), 403, 'user_session_required');
  } finally {
    await requireOfPermission(service, 'settings.read', null);
  }
});

test('the operations of administrators do not change the owner of the token that sends them', async () => {
  const me = await addPerson(service, { superuser: true });
  const client = clientWith((await make(await signIn(service, me))).token);
  for (const body of [{ email: newEmail('mine') }, { first_name: 'Other' }, { is_active: false }])
    assertRefused(await client.put(`/api/v1/users/${me.id}`, body), 403, 'user_session_required');
  const bulk = { user_ids: [me.id.toUpperCase()], updates: { last_name: 'Other' } };
  assertRefused(await client.put('/api/v1/users/bulk-update', bulk), 403, 'user_session_required');
  assertRefused(await client.delete(`/api/v1/users/${me.id}/sessions`), 403, 'user_session_required');
});

test('making a token takes a recent proof, in a session', async () => {
  const person = await addPerson(service);
  const client = await signIn(service, person);
  await ageProofs(service, person, 3_600);
  const body = { name: 'Late', expires_at: inDays(1) };
  assertRefused(await client.post(own, body), 403, 'step_up_required');
  assertRefused(
    await client.post(own, { ...body, current_password: 'Wrong-Horse-7' }),
    400,
    'wrong_current_password',
  );
  const { token } = await make(client, { current_password: PASSWORD });
  assertRefused(await clientWith(token).post(own, body), 403, 'user_session_required');
  const { key } = await addServiceAccount(service);
  assertRefused(await clientWith(key).post(own, body), 403, 'user_required');
  const strong = await addStrong(service, 'role.read');
  const withPassword = await strong.client.post(own, { ...body, current_password: strong.password });
  assertRefused(withPassword, 422, 'validation_failed');
  assert.equal((await strong.client.post(own, body)).status, 201);
});

test('a token counts for an account that must sign in strongly only if it was made in such a session', async () => {
  const weak = await addPerson(service, { roles: [await addRole(service, 'role.read')] });
  const before = clientWith((await make(await signIn(service, weak))).token);
  const strong = await addStrong(service, 'role.read');
  const strongToken = clientWith((await make(strong.client)).token);
  const [held] = await service.sql<{ role_id: string }>('select role_id from user_roles where user_id = $1', [
    weak.id,
  ]);
  await requireOfRole(service, String(held?.role_id), 'aal2');
  await requireOfRole(service, strong.role, 'aal2');
  assertRefused(await before.get('/api/v1/roles'), 403, 'user_session_required');
  assert.equal((await strongToken.get('/api/v1/roles')).status, 200);
  await requireOfRole(service, strong.role, 'phr');
  assertRefused(await strongToken.get('/api/v1/roles'), 403, 'user_session_required');
});

test('the time of a token is in the future and not too far', async () => {
  const client = await signIn(service, await addPerson(service));
  for (const expires_at of [inDays(-1), inDays(367), 'tomorrow', null, undefined])
    assertRefused(await client.post(own, { name: 'X', expires_at }), 422, 'validation_failed');
  assert.equal((await client.post(own, { name: 'X', expires_at: inDays(366) })).status, 201);
});

test('parallel requests make at most 50 live tokens', async () => {
  const client = await signIn(service, await addPerson(service));
  const answers = await Promise.all(
    Array.from({ length: 56 }, () => client.post(own, { name: 'Many', expires_at: inDays(1) })),
  );
  assert.deepEqual(tally(answers), { 201: 50, 409: 6 });
});

test('another service learns what a token is worth, and a wrong or ended one is worth nothing', async () => {
  const { client, person } = await signedInWith(service, 'role.read', 'users.read');
  const { token, id } = await make(client, { permissions: ['role.read'] });
  const { key } = await addServiceAccount(service, { permissions: ['token.introspect'] });
  const asking = { authorization: `Bearer ${key}` };
  const ask = async (text: string) =>
    (await postForm(service, 'introspect', { token: text, include: 'permissions' }, asking)).body;
  const told = await ask(token);
  assert.deepEqual(
    [told.active, told.sub, told.username, told.client_id, told.jti, told.permissions],
    [true, person.id, person.email, 'castellan', id, ['role.read']],
  );
  assert.ok(told.exp > told.iat);
  const wrong = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`;
  assert.deepEqual(await ask(wrong), { active: false });
  const forward = await clientWith(token).get('/api/v1/access/forward?permission=role.read');
  assert.deepEqual([forward.status, forward.headers.get('x-castellan-subject-id')], [204, person.id]);
  assert.equal((await clientWith(token).get('/api/v1/access/forward?permission=users.read')).status, 403);
  await service.sql('update users set must_change_password = true where id = $1', [person.id]);
  assert.deepEqual(await ask(token), { active: false });
  assertRefused(await clientWith(token).get('/api/v1/roles'), 403, 'password_change_required');
  await service.sql('update users set must_change_password = false where id = $1', [person.id]);
  assert.equal((await client.delete(`${own}/${id}`)).status, 200);
  assert.deepEqual(await ask(token), { active: false });
  assertRefused(await clientWith(token, twin).get('/api/v1/roles'), 401, 'personal_token_revoked');
  assertRefused(await client.delete(`${own}/${id}`), 404, 'personal_token_not_found');
});

test('a token makes no credential that would outlive it, and the session of its owner does', async () => {
  const client = await signIn(service, ADMIN);
  const { token } = await make(client);
  const program = clientWith(token);
  const account = await addServiceAccount(service);
  const keys = `/api/v1/service-accounts/${account.id}/keys`;
  const kept = await client.post(keys, { name: 'Kept' });
  const newApplication = (auth_method: string) => ({
    client_id: `app-${randomUUID()}`,
    name: `Application ${randomUUID()}`,
    auth_method,
    redirect_uris: ['https://app.example.com/callback'],
  });
  const application = await client.post('/api/v1/applications', newApplication('secret'));
  assert.equal(application.status, 201, application.text);
  const ofApplication = `/api/v1/applications/${application.body.data.id}`;
  const attempts: ((by: TestClient) => Promise<Answer>)[] = [
    (by) => by.post(keys, { name: 'Longer' }),
    (by) => by.post(`${keys}/${kept.body.data.id}/rotate`, {}),
    (by) => by.post('/api/v1/applications', newApplication('secret')),
    (by) => by.post(`${ofApplication}/secrets`, { name: 'Another' }),
    (by) => by.put(ofApplication, { auth_method: 'none' }),
  ];
  for (const attempt of attempts) {
    assertRefused(await attempt(program), 403, 'user_session_required');
    const answer = await attempt(client);
    assert.ok([200, 201].includes(answer.status), answer.text);
  }
  assert.equal((await program.put(ofApplication, { name: `Renamed ${randomUUID()}` })).status, 200);
  assert.equal((await program.post('/api/v1/applications', newApplication('none'))).status, 201);
});

test('wrong tokens are limited by the network, and one that was right passes', async () => {
  const alone = await startTestService({ after });
  const client = await signIn(alone, ADMIN);
  const { token } = await make(client);
  assert.equal((await clientWith(token, alone).get('/api/v1/roles')).status, 200);
  const statuses = [];
  for (let at = 0; at < 31; at += 1)
    statuses.push((await clientWith('castellan_pat_wrong', alone).get('/api/v1/roles')).status);
  assert.deepEqual([statuses[0], statuses[29], statuses[30]], [401, 401, 429]);
  assert.equal((await clientWith(token, alone).get('/api/v1/roles')).status, 200);
});

test('PERSONAL_TOKENS=off makes none and takes none', async () => {
  const off = await startTestService({ after }, { PERSONAL_TOKENS: 'off' });
  const client = await signIn(off, ADMIN);
  assertRefused(await client.post(own, { name: 'X', expires_at: inDays(1) }), 403, 'personal_tokens_off');
  assertRefused(
    await clientWith('castellan_pat_wrong', off).get('/api/v1/roles'),
    403,
    'personal_tokens_off',
  );
});

test('administrators see and end the tokens of the people they may act on', async () => {
  const { client, person } = await signedInWith(service, 'role.read');
  const { id, token } = await make(client);
  const { client: helper } = await signedInWith(service, 'session.read', 'session.revoke', 'role.read');
  const path = `/api/v1/users/${person.id}/tokens`;
  const listed = await helper.get(path);
  assert.deepEqual(
    listed.body.data.map((one: { id: string }) => one.id),
    [id],
  );
  const { client: lesser } = await signedInWith(service, 'session.revoke');
  assertRefused(await lesser.get(path), 403, 'permission_denied');
  assertRefused(await lesser.delete(`${path}/${id}`), 403, 'privilege_escalation');
  const ended = await helper.delete(`${path}/${id}`);
  assert.equal(ended.status, 200, ended.text);
  assert.equal((await eventsOf(service, ended)).at(-1)?.action, 'personal_token_ended');
  assertRefused(await clientWith(token).get('/api/v1/roles'), 401, 'personal_token_revoked');
  assertRefused(await helper.delete(`${path}/${id}`), 404, 'personal_token_not_found');
  const other = await make(client);
  const stranger = await addPerson(service);
  assertRefused(
    await admin.delete(`/api/v1/users/${stranger.id}/tokens/${other.id}`),
    404,
    'personal_token_not_found',
  );
  const { client: outsider } = await signedInWith(service);
  assertRefused(await outsider.delete(`${own}/${other.id}`), 404, 'personal_token_not_found');
});
