// Trusted devices: where the password alone signs in, what it is worth, and everything that ends it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { confirmReset, resetLink } from '@castellan/testing/accounts/self-service';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import {
  type AppUser,
  addAppUser,
  beginSignIn,
  codeOf,
  completeSignIn,
  enrol,
  forgetStep,
  keepTokens,
} from '@castellan/testing/second-factors/app';
import {
  browserWith,
  devicesOf,
  deviceTokens,
  passwordAlone,
  signInByApp,
  trustedBrowser,
} from '@castellan/testing/second-factors/devices';
import { addStrong, requireOfRole } from '@castellan/testing/second-factors/requirements';
import { liveSessionIds } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { sql } from 'kysely';
import { settleRestored } from '../../src/modules/backup/after-restore.ts';
import { rehearse } from '../../src/platform/db/transaction.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const NEW_PASSWORD = 'ReplacementPassword!42';

const logIn = (client: TestClient, { email, password }: AppUser) =>
  client.post('/api/v1/auth/login', { email, password }, { headers: { authorization: null } });

test('on a trusted device the password alone signs in, with aal1 and no claims', async () => {
  const user = await addAppUser(service);
  const client = await trustedBrowser(service, user);
  const [trusted] = await eventsOf(service, 'device_trusted', user);
  const answer = await logIn(client, user);
  assert.equal(answer.status, 200, answer.text);
  const { acr, amr, auth_time } = readToken(answer.body.data.access_token).claims;
  assert.deepEqual([acr, amr, auth_time], [undefined, undefined, undefined]);
  const [signedIn] = (await eventsOf(service, 'login_succeeded', user)).slice(-1);
  assert.deepEqual(signedIn?.details.methods, ['password', 'device']);
  const [row] = await service.sql<{ proof: string; device_id: string }>(
    'select proof, device_id from sessions where user_id = $1 order by created_at desc limit 1',
    [user.id],
  );
  assert.deepEqual(row, { proof: 'password+device', device_id: trusted?.details.device_id });
});

test('the 422 of the password tells whether trust is offered', async () => {
  const user = await addAppUser(service);
  const answer = await logIn(service.client(), user);
  assert.equal(answer.body.second_factor.may_trust_device, true);
});

test('without trust_device, and with false, the next sign-in asks for the factor', async () => {
  const user = await addAppUser(service);
  for (const more of [{}, { trust_device: false }]) {
    const client = service.client();
    await signInByApp(service, client, user, more);
    assert.equal(await passwordAlone(client, user), 'second_factor_required');
  }
  assert.deepEqual(await eventsOf(service, 'device_trusted', user), []);
});

test('a wrong code trusts nothing', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  const token = await beginSignIn(client, user);
  await completeSignIn(client, token, { recovery_code: 'AAAA-AAAA-AAAA-AAAA', trust_device: true });
  assert.deepEqual(deviceTokens(client), []);
  assert.deepEqual(await devicesOf(service, user), []);
});

test('trust gets a fresh token: the one that the browser had is worth nothing', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  await signInByApp(service, client, user);
  const before = deviceTokens(client);
  await signInByApp(service, client, user, { trust_device: true });
  assert.equal(deviceTokens(client).length, 1);
  assert.notDeepEqual(deviceTokens(client), before);
  assert.equal(await passwordAlone(browserWith(service, before), user), 'second_factor_required');
  assert.equal(await passwordAlone(client, user), 200);
  assert.equal((await devicesOf(service, user)).length, 1);
});

test('trust is of one account, one device and TRUSTED_DEVICE_DAYS', async () => {
  const [user, other] = [await addAppUser(service), await addAppUser(service)];
  const client = await trustedBrowser(service, user);
  assert.equal(await passwordAlone(client, other), 'second_factor_required');
  assert.equal(await passwordAlone(service.client(), user), 'second_factor_required');
  const [row] = await service.sql<{ days: number }>(
    'select extract(day from trusted_until - created_at)::int as days from devices where user_id = $1',
    [user.id],
  );
  assert.equal(row?.days, 30);
  await service.sql('update devices set trusted_until = now() where user_id = $1', [user.id]);
  assert.equal(await passwordAlone(client, user), 'second_factor_required');
});

test('a wrong password on a trusted device is refused as any other', async () => {
  const user = await addAppUser(service);
  const client = await trustedBrowser(service, user);
  assert.equal(await passwordAlone(client, { ...user, password: NEW_PASSWORD }), 'invalid_credentials');
});

test('with TRUSTED_DEVICE_DAYS=0 trust is not offered, not given and not honoured', async () => {
  const without = await service.another({ TRUSTED_DEVICE_DAYS: '0' });
  const user = await addAppUser(service);
  const trusted = await trustedBrowser(service, user);
  assert.equal(await passwordAlone(trusted.at(without.url), user), 'second_factor_required');
  const client = without.client();
  const answer = await logIn(client, user);
  assert.equal(answer.body.second_factor.may_trust_device, false);
  await signInByApp(without, client, user, { trust_device: true });
  assert.equal(await passwordAlone(client.at(service.url), user), 'second_factor_required');
  const listed = await trusted.at(without.url).get('/api/v1/auth/devices');
  assert.ok(listed.body.data.every((one: { trusted_until: unknown }) => one.trusted_until === null));
});

test('a session of a trusted device is not fresh for changes of factors, and steps up by the factor', async () => {
  const user = await addAppUser(service);
  const client = await trustedBrowser(service, user);
  keepTokens(client, await logIn(client, user));
  const refused = await client.post('/api/v1/auth/factors/recovery-codes');
  assert.deepEqual([refused.status, refused.body.code], [403, 'step_up_required']);
  const byPassword = await client.post('/api/v1/auth/step-up', { password: user.password });
  assert.deepEqual([byPassword.status, byPassword.body.code], [422, 'validation_failed']);
  const stepped = await client.post('/api/v1/auth/step-up', { totp: codeOf(user.secret) });
  assert.equal(stepped.body.data.acr, 'aal2', stepped.text);
});

test('trust is neither offered, given nor honoured while the account is under a requirement', async () => {
  const user = await addStrong(service, 'role.read');
  const before = await trustedBrowser(service, user);
  await requireOfRole(service, user.role, 'aal2');
  assert.equal(await passwordAlone(before, user), 'second_factor_required', 'trust from before it');
  assert.deepEqual(await shownTrust(user), { own: 0, administrators: 0 });
  const answer = await logIn(service.client(), user);
  assert.equal(answer.body.second_factor.may_trust_device, false);
  const asking = await trustedBrowser(service, user);
  assert.equal((await eventsOf(service, 'device_trusted', user)).length, 1);
  await requireOfRole(service, user.role, null);
  assert.equal(await passwordAlone(asking, user), 'second_factor_required', 'it asked under the requirement');
  assert.equal(await passwordAlone(before, user), 200);
  assert.deepEqual(await shownTrust(user), { own: 1, administrators: 1 });
});

/** Returns how many devices the owner and an administrator are told to be trusted. */
async function shownTrust(user: AppUser): Promise<{ own: number; administrators: number }> {
  const { body } = await user.client.get('/api/v1/auth/devices');
  const own = body.data.filter((one: { trusted_until: string | null }) => one.trusted_until !== null).length;
  const factors = await admin.get(`/api/v1/users/${user.id}/factors`);
  return { own, administrators: factors.body.data.trusted_devices };
}

test('an announced requirement leaves trust as it is until its date', async () => {
  const user = await addStrong(service, 'role.read');
  await requireOfRole(service, user.role, 'aal2', "now() + interval '1 hour'");
  const client = await trustedBrowser(service, user);
  assert.equal(await passwordAlone(client, user), 200);
  await requireOfRole(service, user.role, 'aal2');
  assert.equal(await passwordAlone(client, user), 'second_factor_required');
});

const PATH = '/api/v1/auth';

/** What ends trust. Each gets the user, a browser that they trust, and their first session. */
const ends: Record<string, (user: AppUser, trusted: TestClient) => Promise<unknown>> = {
  'a changed password': async (user) => {
    const body = { current_password: user.password, new_password: NEW_PASSWORD };
    assert.equal((await user.client.post(`${PATH}/change_password`, body)).status, 200);
    user.password = NEW_PASSWORD;
  },
  'a reset password': async (user) => {
    const token = await resetLink(service, user.email);
    assert.equal((await confirmReset(service.client(), token, NEW_PASSWORD)).status, 200);
    user.password = NEW_PASSWORD;
  },
  'logout/all': async (user) => assert.equal((await user.client.post(`${PATH}/logout/all`)).status, 200),
  'the removal of the factor and a new one': async (user) => {
    keepTokens(user.client, await user.client.delete(`${PATH}/factors/totp`));
    Object.assign(user, await enrol(user.client));
  },
  "an administrator's end of all sessions": async (user) => {
    const answer = await admin.delete(`/api/v1/users/${user.id}/sessions`);
    assert.equal(answer.status, 200, answer.text);
  },
  "an administrator's password": async (user) => {
    const answer = await admin.put(`/api/v1/users/${user.id}`, { password: NEW_PASSWORD });
    assert.equal(answer.status, 200, answer.text);
    user.password = NEW_PASSWORD;
  },
  'a deactivation and the activation after it': async (user) => {
    for (const is_active of [false, true])
      assert.equal((await admin.put(`/api/v1/users/${user.id}`, { is_active })).status, 200);
  },
  'DELETE of the device': async (user) => {
    const [row] = await devicesOf(service, user);
    assert.equal((await user.client.delete(`${PATH}/devices/${row?.id}`)).status, 200);
  },
  'DELETE of all devices': async (user) =>
    assert.equal((await user.client.delete(`${PATH}/devices`)).status, 200),
};

for (const [what, end] of Object.entries(ends))
  test(`${what} ends trust`, async () => {
    const user = await addAppUser(service);
    const client = await trustedBrowser(service, user);
    // The first browser has the sessions of the user, and no device.
    await forgetStep(service, user);
    assert.equal(await passwordAlone(client, user), 200);
    await end(user, client);
    assert.equal(await passwordAlone(client, user), 'second_factor_required');
  });

test('signing out keeps trust', async () => {
  const user = await addAppUser(service);
  const client = await trustedBrowser(service, user);
  assert.equal((await client.post(`${PATH}/logout`)).status, 200);
  assert.equal(await passwordAlone(client, user), 200);
});

test('a password changed in a session of a trusted device goes on, and the next sign-in asks for the factor', async () => {
  const user = await addAppUser(service);
  const client = await trustedBrowser(service, user);
  keepTokens(client, await logIn(client, user));
  const changed = await client.post(`${PATH}/change_password`, {
    current_password: PASSWORD,
    new_password: NEW_PASSWORD,
  });
  assert.equal(changed.status, 200, changed.text);
  keepTokens(client, changed);
  const [live] = await liveSessionIds(service, user.id);
  const [row] = await service.sql<{ proof: string; device_id: string | null }>(
    'select proof, device_id from sessions where id = $1',
    [live],
  );
  const [device] = await devicesOf(service, user);
  assert.deepEqual(row, { proof: 'password+session', device_id: device?.id });
  const sessions = await client.get(`${PATH}/sessions`);
  assert.deepEqual(sessions.body.data[0].methods, ['password', 'device']);
  const again = await passwordAlone(client, { ...user, password: NEW_PASSWORD });
  assert.equal(again, 'second_factor_required');
});

test('an account whose factors were reset does not sign in on a trusted device', async () => {
  const user = await addAppUser(service);
  const client = await trustedBrowser(service, user);
  await service.sql('update users set recovery_pending = true where id = $1', [user.id]);
  const answer = await logIn(client, user);
  assert.deepEqual(answer.body.second_factor.methods, ['recovery_link']);
});

test('the database refuses a session of a device whose trust has ended', async () => {
  const user = await addAppUser(service);
  await trustedBrowser(service, user);
  const [device] = await devicesOf(service, user);
  const insert = () =>
    service.sql(
      "insert into sessions (id, user_id, expires_at, proof, device_id) values (gen_random_uuid(), $1, now() + interval '1 day', 'password+device', $2)",
      [user.id, device?.id],
    );
  await insert();
  await service.sql('update users set session_epoch = session_epoch + 1 where id = $1', [user.id]);
  await assert.rejects(insert(), { constraint: 'sessions_proof_check' });
});

test('a restore ends trust and the sign-ins that wait, with the sessions', async () => {
  const user = await addAppUser(service);
  await trustedBrowser(service, user);
  await beginSignIn(service.client(), user);
  const { db, log } = service.service.deps;
  const left = await rehearse(db, async (tx) => {
    await settleRestored(tx, log, { sessions: 'end', revokeApiKeys: false }, '2026-11-27T07:00:00Z');
    const { rows } = await sql<{ devices: number; trusted: number; waiting: number }>`
      select (select count(*) from devices where user_id = ${user.id})::integer as devices,
        (select count(*) from devices where trusted_until is not null)::integer as trusted,
        (select count(*) from pending_sign_ins)::integer as waiting`.execute(tx);
    return rows[0];
  });
  assert.deepEqual(left, { devices: 1, trusted: 0, waiting: 0 });
});
