// What ends what: every cause at one instance, and what is left at another with the next request. Notices are written here; another
// suite sends them.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { changeEmail, paths } from '@castellan/testing/accounts/self-service';
import { newEmail, signIn, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { type AddedIdentity, addIdentity, addProvider, beginWith } from '@castellan/testing/openid/providers';
import { formRequest } from '@castellan/testing/service-accounts/token-services';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { endLostAccessOfAll, removeSessionRows } from '../../../src/cleanup.ts';
import { settleRestored } from '../../../src/modules/backup/after-restore.ts';
import { noticeExpiredSessions } from '../../../src/modules/openid/notices/rows.ts';
import { resetSigningKeys, revokeSigningKey } from '../../../src/modules/sessions/keys/revocation.ts';
import { inTransaction } from '../../../src/platform/db/transaction.ts';
import { path } from '../../applications/fixture.ts';
import { assertError, exchange, post, refresh, tokensOf, userinfo } from '../fixture.ts';
import { assertPage, logout } from '../sign-out/fixture.ts';
import { addWorld, type Left, openEnds, untouched, type World, whatIsLeft } from './fixture.ts';

const ends = await openEnds({ after });
const { service, twin, admin } = ends;
const strict = await service.another({ REFRESH_REUSE_INTERVAL: '0' });
const limited = await service.another({ CONCURRENT_SESSION_LIMIT: '1' });
for (const { service: one } of [strict, limited]) {
  await one.scheduler.stop();
  await one.deps.noticeWorker.stop();
}
const { deps } = service.service;
const issuer = await startIssuer({ after });
const provider = await addProvider(service, { issuer: issuer.issuer, client_id: issuer.client.id });

/** Makes the session of the person one that began with an identity of the provider, in this session there. */
async function beginThere(userId: string, sid: string | null): Promise<AddedIdentity> {
  const identity = await addIdentity(service, provider, userId);
  await beginWith(service, identity, sid);
  return identity;
}

const tellLogout = (claims: Record<string, unknown>): Promise<void> =>
  ended(
    service
      .client()
      .request(
        'POST',
        `/api/v1/auth/providers/${provider.slug}/backchannel-logout`,
        formRequest({ logout_token: issuer.logoutToken(claims) }),
      ),
  );

const signedOut: Partial<Left> = {
  codes: ['invalid_grant', 'invalid_grant'],
  browser: 'login_required',
  pushed: 'login_required',
  interaction: ['sign_in', '/login'],
};
/** A session has ended: what is bound to it ends, and what is offline goes on. */
const sessionEnded: Partial<Left> = { ...signedOut, bound: [] };
/** Every session of the account has ended. */
const accountEnded: Partial<Left> = { ...signedOut, bound: [], offline: [] };
const accessEnded: Partial<Left> = {
  bound: [],
  offline: [],
  codes: ['invalid_grant', 'invalid_grant'],
};
const applicationGone: Partial<Left> = {
  bound: [],
  offline: [],
  codes: ['invalid_client', 'invalid_client'],
  browser: 'error page',
  pushed: 'error page',
  interaction: [null, 'error page'],
};

const put = async (address: string, body: object): Promise<void> => {
  const answer = await admin.put(`/api/v1/${address}`, body);
  assert.equal(answer.status, 200, answer.text);
};
const ended = async (answer: Promise<{ status: number; text: string }>): Promise<void> => {
  const { status, text } = await answer;
  assert.equal(status, 200, text);
};
const user = ({ who }: World): string => `users/${who.person.id}`;

type Cause = { end: (world: World) => Promise<unknown>; left: Partial<Left> };
const causes: Readonly<Record<string, Cause>> = {
  'sign-out': {
    end: ({ who }) => ended(who.client.post('/api/v1/auth/logout')),
    left: { ...sessionEnded, notices: ['logout'] },
  },
  'sign-out at an application': {
    end: async ({ application, who }) => {
      const { id_token } = await tokensOf(service, application, who);
      assert.equal((await logout(who.client, { id_token_hint: id_token })).status, 303);
    },
    left: { ...sessionEnded, notices: ['logout'] },
  },
  'the end of the own session': {
    end: ({ who }) => ended(who.client.delete(`/api/v1/auth/sessions/${who.sessionId}`)),
    left: { ...sessionEnded, notices: ['revoked'] },
  },
  'the end of the session by an administrator': {
    end: (world) => ended(admin.delete(`/api/v1/${user(world)}/sessions/${world.who.sessionId}`)),
    left: { ...sessionEnded, notices: ['revoked'] },
  },
  'the session limit': {
    end: async ({ who }) => void (await signIn(limited, who.person)),
    left: { ...sessionEnded, notices: ['session_limit'] },
  },
  'a reused refresh token of the session': {
    end: async ({ who }) => {
      const visitor = strict.client();
      const send = () => visitor.post('/api/v1/auth/refresh', { refresh_token: who.client.refreshToken });
      assert.equal((await send()).status, 200);
      assert.equal((await send()).status, 401);
    },
    left: { ...sessionEnded, notices: ['refresh_token_reuse'] },
  },
  'the expiry of the session': {
    end: async ({ who }) => {
      for (const [table, key] of [
        ['sessions', 'id'],
        ['application_sessions', 'session_id'],
      ])
        await service.sql(`update ${table} set expires_at = now() where ${key} = $1`, [who.sessionId]);
      await noticeExpiredSessions(deps.db, 60_000);
    },
    left: { ...sessionEnded, notices: ['session_expired'] },
  },
  'an identity that an administrator disconnects': {
    end: async (world) => {
      const identity = await addIdentity(service, provider, world.who.person.id);
      await beginWith(service, identity);
      await ended(admin.delete(`/api/v1/${user(world)}/identities/${identity.id}`));
    },
    left: { ...sessionEnded, notices: ['identity_disconnected'] },
  },
  'an identity that its owner disconnects': {
    end: async ({ who }) => {
      const identity = await addIdentity(service, provider, who.person.id);
      await beginWith(service, identity);
      await ended(who.client.delete(`/api/v1/users/me/identities/${identity.id}`));
    },
    left: { ...sessionEnded, notices: ['identity_disconnected'] },
  },
  'a provider that is made inactive, with its sessions': {
    end: async ({ who }) => {
      const closing = await addProvider(service);
      await beginWith(service, await addIdentity(service, closing, who.person.id));
      await put(`identity-providers/${closing.id}?end_sessions=true`, { is_active: false });
    },
    left: { ...sessionEnded, notices: ['provider_ended'] },
  },
  'a logout token of the provider': {
    end: async ({ who }) => {
      const { subject } = await beginThere(who.person.id, null);
      await tellLogout({ sub: subject });
    },
    left: { ...sessionEnded, notices: ['provider_logout'] },
  },
  'a logout token of the session at the provider': {
    end: async ({ who }) => {
      await beginThere(who.person.id, who.sessionId);
      await tellLogout({ sub: undefined, sid: who.sessionId });
    },
    left: { ...sessionEnded, notices: ['provider_logout'] },
  },
  'sign-out everywhere': {
    end: ({ who }) => ended(who.client.post('/api/v1/auth/logout/all')),
    left: { ...accountEnded, notices: ['all_sessions_ended'] },
  },
  'the end of all sessions by an administrator': {
    end: (world) => ended(admin.delete(`/api/v1/${user(world)}/sessions`)),
    left: { ...accountEnded, notices: ['all_sessions_ended'] },
  },
  'a changed password': {
    end: ({ who: { client, person } }) =>
      ended(
        client.post('/api/v1/auth/change_password', {
          current_password: person.password,
          new_password: 'Marble?Tundra61Fox',
        }),
      ),
    // The change signs the browser in again.
    left: {
      ...accountEnded,
      browser: 'code',
      pushed: 'code',
      interaction: ['select_account', 'code'],
      notices: ['all_sessions_ended'],
    },
  },
  'a password that an administrator sets': {
    end: (world) => put(user(world), { password: 'Marble?Tundra61Fox' }),
    left: { ...accountEnded, notices: ['all_sessions_ended'] },
  },
  'an email that an administrator sets': {
    end: (world) => put(user(world), { email: newEmail() }),
    left: { ...accountEnded, notices: ['all_sessions_ended'] },
  },
  'an email that its owner changes': {
    end: async ({ who }) => void (await changeEmail(service, who.client, who.person.email, newEmail())),
    // The session that asked stays.
    left: {
      bound: [],
      offline: [],
      codes: ['invalid_grant', 'invalid_grant'],
      notices: ['all_sessions_ended'],
    },
  },
  'a change of the email that its owner undoes': {
    end: async ({ who }) => {
      const token = await changeEmail(service, who.client, who.person.email, newEmail());
      await ended(service.client().post(paths.undoEmail, { token }));
    },
    left: { ...accountEnded, notices: ['all_sessions_ended'] },
  },
  'an account that is no longer verified': {
    end: (world) => put(user(world), { verified: false }),
    left: { ...accountEnded, notices: ['all_sessions_ended'] },
  },
  deactivation: {
    end: (world) => put(user(world), { is_active: false }),
    left: { ...accountEnded, notices: ['user_deactivated'] },
  },
  'deactivation for a moment': {
    end: async (world) => {
      await put(user(world), { is_active: false });
      await put(user(world), { is_active: true });
    },
    left: { ...accountEnded, notices: ['user_deactivated'] },
  },
  'deletion of the account': {
    end: async (world) => {
      await put(user(world), { role_id: [] });
      await ended(admin.delete(`/api/v1/${user(world)}`));
    },
    left: { ...accountEnded, notices: ['user_deleted'] },
  },
  'an application that is made inactive': {
    end: ({ application: { id } }) => put(`applications/${id}`, { is_active: false }),
    left: applicationGone,
  },
  'an application that is inactive for a moment': {
    end: async ({ application: { id } }) => {
      await put(`applications/${id}`, { is_active: false });
      await put(`applications/${id}`, { is_active: true });
    },
    left: accessEnded,
  },
  'deletion of the application': {
    end: ({ application: { id } }) => ended(admin.delete(`${path}/${id}`)),
    left: { ...applicationGone, notices: ['application_deleted'] },
  },
  'the end of every grant of the application': {
    end: ({ application: { id } }) => ended(admin.delete(`${path}/${id}/grants`)),
    left: { ...accessEnded, notices: ['access_ended'] },
  },
  'the end of one grant': {
    end: ({ application: { id }, bound }) => ended(admin.delete(`${path}/${id}/grants/${bound.grant.id}`)),
    left: { bound: [], notices: ['access_ended'] },
  },
  'the end of one person’s access': {
    end: (world) => ended(admin.delete(`/api/v1/${user(world)}/applications/${world.application.id}`)),
    left: { ...accessEnded, notices: ['access_ended'] },
  },
  'access that the person takes back': {
    end: ({ who, application }) =>
      ended(who.client.delete(`/api/v1/users/me/applications/${application.id}`)),
    left: { ...accessEnded, notices: ['withdrawn'] },
  },
  'a code that is used twice': {
    end: async ({ application, bound }) =>
      assert.equal((await exchange(service, application, bound.grant)).body.error, 'invalid_grant'),
    left: { bound: [], notices: ['authorization_code_reuse'] },
  },
  'a refresh token of the application that is used twice': {
    end: async ({ application, offline }) => {
      assert.equal((await refresh(strict, application, offline.refresh)).status, 200);
      assert.equal((await refresh(strict, application, offline.refresh)).status, 400);
    },
    left: { offline: [], notices: ['application_refresh_token_reuse'] },
  },
  'a lost permission that the application requires': {
    end: async ({ who, role }) => {
      await service.sql('delete from user_roles where user_id = $1 and role_id = $2', [who.person.id, role]);
    },
    left: { ...accessEnded, browser: 'access_denied', pushed: 'access_denied' },
  },
  'a lost permission, after the job that looks for it': {
    end: async ({ who, role }) => {
      await service.sql('delete from role_permissions where role_id = $1', [role]);
      await endLostAccessOfAll(deps);
      // The grants stay ended after the permission has come back.
      await service.sql('insert into role_permissions (role_id, permission_id) values ($1, $2)', [
        role,
        ends.permissionId,
      ]);
      assert.equal((await who.client.get('/api/v1/users/me')).status, 200);
    },
    left: { ...accessEnded, notices: ['permission_lost'] },
  },
};

test('nothing ends by itself, and the clean-up ends nothing that lives', async () => {
  const world = await addWorld(ends);
  await removeSessionRows(deps);
  assert.deepEqual(await whatIsLeft(ends, world), untouched);
});

const bystander = await addWorld(ends);

for (const [cause, { end, left }] of Object.entries(causes))
  test(`${cause}: what has ended at one instance has ended at the other`, async () => {
    const world = await addWorld(ends);
    await end(world);
    assert.deepEqual(await whatIsLeft(ends, world), { ...untouched, ...left });
    assert.equal((await userinfo(twin, bystander.bound.opaque)).status, 200);
    // What has ended stays so.
    await removeSessionRows(deps);
    for (const [held, tokens] of [
      [world.bound, left.bound],
      [world.offline, left.offline],
    ] as const)
      if (tokens) assert.equal((await userinfo(service, held.opaque)).status, 401);
  });

test('consent that is withdrawn ends the access, and the next request asks for it again', async () => {
  const world = await addWorld(ends, { first_party: false });
  const { who, application } = world;
  await service.sql(
    `insert into consents (user_id, application_id, scopes) values ($1, $2, '{openid,email}')`,
    [who.person.id, application.id],
  );
  await ended(who.client.delete(`/api/v1/users/me/applications/${application.id}`));
  assert.deepEqual(await whatIsLeft(ends, world), {
    ...untouched,
    ...accessEnded,
    browser: 'consent_required',
    pushed: 'consent_required',
    notices: ['withdrawn'],
  });
});

test('a revoked secret is refused at the other instance, and what the application holds goes on', async () => {
  const world = await addWorld(ends);
  const { id } = world.application;
  const added = await admin.post(`${path}/${id}/secrets`, {});
  const [first] = (await admin.get(`${path}/${id}/secrets`)).body.data.filter(
    (one: { id: string }) => one.id !== added.body.data.id,
  );
  await ended(admin.delete(`${path}/${id}/secrets/${first.id}`));
  for (const answer of [
    await exchange(twin, world.application, world.codes[0] ?? assert.fail()),
    await refresh(twin, world.application, world.bound.refresh),
    await post(twin, 'introspect', world.application, { token: world.bound.opaque }),
  ])
    assert.deepEqual([answer.status, answer.body.error], [401, 'invalid_client']);
  const next = { ...world.application, client_secret: added.body.data.secret };
  assert.deepEqual(await whatIsLeft(ends, { ...world, application: next }), untouched);
});

test('roles and permissions that an account gets or loses are in the next answer of the other instance', async () => {
  const world = await addWorld(ends, { required_permission_id: null });
  const { who, role, application, bound } = world;
  const told = async () => {
    const { body } = await userinfo(twin, bound.opaque);
    const { active, scope } = (await post(twin, 'introspect', application, { token: bound.jwt })).body;
    return { roles: body.roles, active, scope };
  };
  const { roles } = await told();
  assert.deepEqual(await told(), { roles: [`Role ${role}`], active: true, scope: 'orders.read' });
  assert.equal(roles.length, 1);
  await put(`users/${who.person.id}`, { role_id: [] });
  assert.deepEqual(await told(), { roles: [], active: true, scope: undefined });
  await put(`users/${who.person.id}`, { role_id: [role] });
  await service.sql('delete from role_permissions where role_id = $1', [role]);
  assert.deepEqual(await told(), { roles: [`Role ${role}`], active: true, scope: undefined });
});

test('a restore that ends sessions ends everything but the applications', async (t) => {
  const own = await openEnds(t);
  const world = await addWorld(own);
  const { db, log } = own.service.service.deps;
  await inTransaction(db, (tx) =>
    settleRestored(tx, log, { sessions: 'end', revokeApiKeys: false }, new Date().toISOString()),
  );
  assert.deepEqual(await whatIsLeft(own, world), {
    ...untouched,
    ...accountEnded,
    // The table of stored requests is emptied.
    pushed: 'error page',
    interaction: [null, 'error page'],
    notices: ['database_restored'],
  });
});

// The next two end what others need.
test('a revoked key of applications ends the tokens that it signed, and hints; others go on', async () => {
  const world = await addWorld(ends);
  const { application, who, bound, offline } = world;
  const { id_token } = await tokensOf(service, application, who);
  const kid = readToken(bound.jwt).header.kid as string;
  assert.equal(readToken(id_token).header.kid, kid);
  const { db, auditLog } = deps;
  await revokeSigningKey({ db, auditLog, secretKey: Buffer.from(TEST_SECRET_KEY) }, kid);
  for (const jwt of [bound.jwt, offline.jwt])
    assert.equal((await post(twin, 'introspect', application, { token: jwt })).text, '{"active":false}');
  assert.equal((await userinfo(twin, bound.opaque)).status, 200);
  assert.equal((await post(twin, 'introspect', application, { token: bound.opaque })).body.active, true);
  for (const one of [service, twin]) await one.service.deps.keyRing.load();
  assertPage(await logout(who.client.at(twin.url), { id_token_hint: id_token }));
  assert.equal((await who.client.get('/api/v1/users/me')).status, 200);
});

test('a replaced SECRET_KEY ends the refresh tokens of applications', async () => {
  const world = await addWorld(ends);
  const { application, offline } = world;
  const secret = randomBytes(48).toString('base64');
  const { db, auditLog } = deps;
  await resetSigningKeys({ db, auditLog, secretKey: Buffer.from(secret) });
  const renewed = await service.another({ SECRET_KEY: secret });
  assertError(await refresh(renewed, application, offline.refresh), 400, 'invalid_grant');
  assert.equal((await userinfo(renewed, offline.opaque)).status, 200);
});
