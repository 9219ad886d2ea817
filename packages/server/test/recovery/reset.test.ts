// An administrator resets somebody's second factors: who may, what it ends, and what the password alone is worth then.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { mailsTo, waitForEmptyOutbox } from '@castellan/testing/accounts/self-service';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import {
  addAppUser,
  beginSignIn,
  codeOf,
  completeSignIn,
  wrongCodeOf,
} from '@castellan/testing/second-factors/app';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { liveSessionIds } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';
import { addResetUser, factorsOf, mailedToken, resetFactors } from './fixture.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const { client: desk, person: deskPerson } = await signedInWith(
  service,
  'second_factor.read',
  'second_factor.reset',
  'users.update',
);

const trust = (user: { id: string }): Promise<unknown> =>
  service.sql(
    `insert into devices (id, user_id, token_hash, trusted_until, trusted_epoch)
     select gen_random_uuid(), id, sha256(gen_random_uuid()::text::bytea), now() + interval '1 day', session_epoch
     from users where id = $1`,
    [user.id],
  );

test('the factors of a user are shown as to their owner, with failures, trust and recovery', async () => {
  const user = await addAppUser(service);
  await trust(user);
  const client = service.client();
  const token = await beginSignIn(client, user);
  for (let count = 0; count < 5; count += 1)
    await completeSignIn(client, token, { totp: wrongCodeOf(user.secret) });
  const answer = await desk.get(factorsOf(user));
  assert.equal(answer.status, 200, answer.text);
  const { failures, trusted_devices, recovery_pending, ...own } = answer.body.data;
  const { context: _, ...shown } = (await user.client.get('/api/v1/auth/factors')).body.data;
  assert.deepEqual(own, shown);
  assert.ok(Date.parse(failures.locked_until) > Date.now());
  assert.deepEqual([failures.suspended, trusted_devices, recovery_pending], [false, 1, false]);
  const unknown = await desk.get(factorsOf({ id: '00000000-0000-4000-8000-000000000000' }));
  assert.deepEqual([unknown.status, unknown.body.code], [404, 'user_not_found']);
});

test('a reset removes every factor and ends sessions, trust, pending sign-ins and mailed links', async () => {
  const user = await addAppUser(service);
  await trust(user);
  await service.sql(
    `insert into passkeys (id, user_id, credential_id, public_key, kind, name, rp_id, sign_count, backup_eligible, backed_up)
     values (gen_random_uuid(), $1, sha256(gen_random_uuid()::text::bytea), '\\x00', 'passkey', 'Key', 'localhost', 0, false, false)`,
    [user.id],
  );
  await service.sql(
    `insert into totp_enrolments (user_id, session_id, secret_sealed, expires_at)
     values ($1, gen_random_uuid(), '\\x00', now() + interval '10 minutes')`,
    [user.id],
  );
  const visitor = service.client();
  await visitor.post('/api/v1/auth/password-reset/request', { email: user.email });
  await waitForEmptyOutbox(service);
  const reset = mailsTo(service, user.email, 'password_reset').at(-1)?.token;
  const pending = await beginSignIn(visitor, user);

  const answer = await resetFactors(desk, user, { reason: ' Lost phone ' });
  assert.equal(answer.status, 200, answer.text);
  const { data } = answer.body;
  assert.deepEqual(
    [data.totp, data.recovery_codes, data.trusted_devices, data.recovery_pending, data.recovery_url],
    [null, null, 0, true, undefined],
  );
  const hours = (Date.parse(data.expires_at) - Date.now()) / 3_600_000;
  assert.ok(hours > 23.9 && hours < 24.1, `${hours} hours`);
  assert.deepEqual(await liveSessionIds(service, user.id), []);
  for (const table of [
    'totp_factors',
    'passkeys',
    'recovery_codes',
    'totp_enrolments',
    'pending_sign_ins',
    'factor_attempts',
  ])
    assert.deepEqual(await service.sql(`select from ${table} where user_id = $1`, [user.id]), [], table);
  const completed = await completeSignIn(visitor, pending, { totp: codeOf(user.secret) });
  assert.deepEqual([completed.status, completed.body.code], [422, 'sign_in_expired']);
  const confirmed = await visitor.post('/api/v1/auth/password-reset/confirm', {
    token: reset,
    new_password: 'Copper+Violin95Moss',
  });
  assert.deepEqual([confirmed.status, confirmed.body.code], [400, 'reset_token_invalid']);
  const [event] = await eventsOf(service, 'second_factor_reset', user);
  assert.equal(event?.actor_id, deskPerson.id);
  assert.deepEqual(
    [event?.details.reason, event?.details.deliver, event?.details.removed],
    ['Lost phone', 'mail', { totp: true, passkeys: 1, recovery_codes: 10 }],
  );
  await waitForEmptyOutbox(service);
  assert.equal(mailsTo(service, user.email, 'second_factor_reset').length, 1);
});

test('until the link is used, the password alone does not sign in, and a new password changes nothing', async () => {
  const user = await addAppUser(service);
  await resetFactors(desk, user);
  const visitor = service.client();
  const { email, password } = user;
  const refused = await visitor.post('/api/v1/auth/login', { email, password });
  assert.deepEqual([refused.status, refused.body.code], [422, 'second_factor_required']);
  assert.deepEqual(refused.body.second_factor.methods, ['recovery_link']);

  await visitor.post('/api/v1/auth/password-reset/request', { email });
  await waitForEmptyOutbox(service);
  const next = 'Copper+Violin95Moss';
  const confirmed = await visitor.post('/api/v1/auth/password-reset/confirm', {
    token: mailsTo(service, email, 'password_reset').at(-1)?.token,
    new_password: next,
  });
  assert.equal(confirmed.status, 200, confirmed.text);
  assert.deepEqual(await liveSessionIds(service, user.id), []);
  const again = await visitor.post('/api/v1/auth/login', { email, password: next });
  assert.deepEqual(again.body.second_factor?.methods, ['recovery_link'], again.text);
  assert.equal((await desk.get(factorsOf(user))).body.data.recovery_pending, true);
});

test('the link is mailed, or shown once to the administrator and not mailed', async () => {
  const mailed = await addAppUser(service);
  await resetFactors(desk, mailed, { deliver: 'mail' });
  assert.match(await mailedToken(service, mailed), /^[\w-]{43}$/);

  const { user, token } = await addResetUser(service, desk);
  assert.match(token, /^[\w-]{43}$/);
  await waitForEmptyOutbox(service);
  assert.deepEqual(
    mailsTo(service, user.email, 'second_factor_reset').map((mail) => mail.token),
    [null],
  );
  const entries = await service.sql<{ details: object }>(
    'select details from audit_logs where resource_id = $1',
    [user.id],
  );
  assert.ok(!JSON.stringify(entries).includes(token));
});

test('nobody resets their own factors here, superusers included', async () => {
  const superuser = await addPerson(service, { superuser: true });
  const client = await signIn(service, superuser);
  for (const [by, id] of [
    [desk, deskPerson.id],
    [client, superuser.id],
    [client, superuser.id.toUpperCase()],
  ] as const) {
    const answer = await resetFactors(by, { id });
    assert.deepEqual([answer.status, answer.body.code], [400, 'use_own_factors'], answer.text);
  }
});

test('without a factor and without a pending recovery there is nothing to reset; a pending one is begun anew', async () => {
  const person = await addPerson(service);
  const none = await resetFactors(desk, person);
  assert.deepEqual([none.status, none.body.code], [409, 'no_factor']);
  const { user } = await addResetUser(service, desk);
  assert.equal((await resetFactors(desk, user)).status, 200);
  assert.match(await mailedToken(service, user), /^[\w-]{43}$/);
});

test('an inactive account is not reset, because its link would not work', async () => {
  const user = await addAppUser(service);
  await service.sql('update users set is_active = false where id = $1', [user.id]);
  const answer = await resetFactors(desk, user);
  assert.deepEqual([answer.status, answer.body.code], [409, 'conflict']);
  assert.equal((await service.sql('select from totp_factors where user_id = $1', [user.id])).length, 1);
});

test('a help desk resets customers, no administrators and no superusers', async () => {
  const customer = await addAppUser(service);
  const product = await addRole(service, 'self.update_profile');
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [customer.id, product]);
  assert.equal((await resetFactors(desk, customer)).status, 200);

  const colleague = await addAppUser(service);
  const role = await addRole(service, 'role.delete');
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [colleague.id, role]);
  const escalation = await resetFactors(desk, colleague);
  assert.deepEqual([escalation.status, escalation.body.code], [403, 'privilege_escalation']);

  const superuser = await addAppUser(service);
  await service.sql('update users set is_superuser = true where id = $1', [superuser.id]);
  const refused = await resetFactors(desk, superuser);
  assert.deepEqual([refused.status, refused.body.code], [403, 'superuser_required']);
  for (const { id } of [colleague, superuser])
    assert.equal((await service.sql('select from totp_factors where user_id = $1', [id])).length, 1);
  assert.equal((await resetFactors(admin, superuser)).status, 200);
});

test('an administrator proves anew who they are; a service account with the permission need not', async () => {
  const { client, person } = await signedInWith(service, 'second_factor.reset');
  const user = await addAppUser(service);
  const backdate = (minutes: number) =>
    service.sql(`update sessions set created_at = now() - make_interval(mins => $2) where user_id = $1`, [
      person.id,
      minutes,
    ]);
  await backdate(11);
  const old = await signIn(service, person);
  await backdate(11);
  for (const by of [client, old]) {
    const answer = await resetFactors(by, user);
    assert.deepEqual([answer.status, answer.body.code], [403, 'step_up_required'], answer.text);
  }
  const account = await addServiceAccount(service, {
    permissions: ['second_factor.reset', 'second_factor.read'],
  });
  const machine = service.client();
  machine.accessToken = account.key;
  assert.equal((await resetFactors(machine, user)).status, 200);
});

test('a bad body is told: an unknown way to deliver, a reason that is too long or has control characters', async () => {
  const user = await addAppUser(service);
  for (const [body, status, code] of [
    [{ deliver: 'sms' }, 400, 'invalid_input'],
    [{ reason: 'x'.repeat(1_001) }, 422, 'validation_failed'],
    [{ reason: 'a\u0007b' }, 422, 'validation_failed'],
  ] as const) {
    const answer = await resetFactors(desk, user, body);
    assert.deepEqual([answer.status, answer.body.code], [status, code], answer.text);
  }
});

test('forgetting the devices of a user ends trust; an unlock opens the app and keeps its count', async () => {
  const user = await addAppUser(service);
  await trust(user);
  await trust(user);
  const forgotten = await desk.delete(`/api/v1/users/${user.id}/devices`);
  assert.deepEqual([forgotten.status, forgotten.body.message], [200, 'Devices forgotten: 2.']);
  assert.equal((await desk.get(factorsOf(user))).body.data.trusted_devices, 0);
  const [event] = await eventsOf(service, 'device_forgotten', user);
  assert.equal(event?.details.devices, 2);
  assert.equal((await desk.delete(`/api/v1/users/${user.id}/devices`)).body.message, 'Devices forgotten: 0.');
  assert.equal((await eventsOf(service, 'device_forgotten', user)).length, 1);

  const client = service.client();
  const token = await beginSignIn(client, user);
  for (let count = 0; count < 5; count += 1)
    await completeSignIn(client, token, { totp: wrongCodeOf(user.secret) });
  const unlocked = await desk.post(`/api/v1/users/${user.id}/unlock`);
  assert.deepEqual([unlocked.status, unlocked.body.message], [200, 'User unlocked.']);
  assert.equal((await eventsOf(service, 'second_factor_unlocked', user)).length, 1);
  assert.equal((await eventsOf(service, 'account_unlocked', user)).length, 0);
  const [attempts] = await service.sql(
    'select total, locks, locked_until from factor_attempts where user_id = $1',
    [user.id],
  );
  assert.deepEqual(attempts, { total: 5, locks: 1, locked_until: null });
  const right = await completeSignIn(client, await beginSignIn(client, user), { totp: codeOf(user.secret) });
  assert.equal(right.status, 200, right.text);

  await service.sql('update totp_factors set suspended_at = now() where user_id = $1', [user.id]);
  const again = await desk.post(`/api/v1/users/${user.id}/unlock`);
  assert.equal(again.body.message, 'The user was not locked.');
  assert.equal((await desk.get(factorsOf(user))).body.data.failures.suspended, true);
});

test('deactivation keeps the factors, deletion removes them', async () => {
  const user = await addAppUser(service);
  assert.equal((await admin.put(`/api/v1/users/${user.id}`, { is_active: false })).status, 200);
  assert.notEqual((await desk.get(factorsOf(user))).body.data.totp, null);
  assert.equal((await admin.delete(`/api/v1/users/${user.id}`)).status, 200);
  for (const table of ['totp_factors', 'recovery_codes'])
    assert.deepEqual(await service.sql(`select from ${table} where user_id = $1`, [user.id]), [], table);
});
