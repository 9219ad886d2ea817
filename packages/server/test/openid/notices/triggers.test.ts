// Which notices are written when a session ends, whoever ends it: by the service, and by hand in SQL.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TEST_SECRET_KEY } from '@castellan/testing/harness';
import { removeSessionRows } from '../../../src/cleanup.ts';
import { settleRestored } from '../../../src/modules/backup/after-restore.ts';
import {
  deleteOldNotices,
  deleteToldSessions,
  noticeExpiredSessions,
} from '../../../src/modules/openid/notices/rows.ts';
import { type EndedAccess, tellApplications } from '../../../src/modules/openid/told-applications.ts';
import { inTransaction } from '../../../src/platform/db/transaction.ts';
import { makeApplication, path, startWithAdmin } from '../../applications/fixture.ts';
import { ask, ledTo } from '../authorize/fixture.ts';
import {
  addApplication,
  addSignedIn,
  exchange,
  REDIRECT,
  refresh,
  type SignedIn,
  tokensOf,
} from '../fixture.ts';
import { noticesTo, takePart, takePartMany } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const { deps, scheduler } = service.service;
await scheduler.stop();
await deps.noticeWorker.stop();
const LOGOUT = 'http://127.0.0.1:9/logout';
const app = await addApplication(admin, [service], { backchannel_logout_url: LOGOUT });
const withoutAddress = await addApplication(admin, [service]);
/** The notices of one person. */
const noticesOf = async ({ person }: SignedIn) =>
  (await noticesTo(service, app)).filter((notice) => notice.user_id === person.id);
const untold = ({ person }: SignedIn) =>
  service.sql('select from application_sessions where user_id = $1 and told_at is null', [person.id]);

const ends: Readonly<Record<string, { reason: string; end: (who: SignedIn) => Promise<unknown> }>> = {
  'sign-out': { reason: 'logout', end: ({ client }) => client.post('/api/v1/auth/logout') },
  'sign-out everywhere': {
    reason: 'all_sessions_ended',
    end: ({ client }) => client.post('/api/v1/auth/logout/all'),
  },
  'a changed password': {
    reason: 'all_sessions_ended',
    end: ({ client, person }) =>
      client.post('/api/v1/auth/change_password', {
        current_password: person.password,
        new_password: 'Marble?Tundra61Fox',
      }),
  },
  'deactivation by an administrator': {
    reason: 'user_deactivated',
    end: ({ person }) => admin.put(`/api/v1/users/${person.id}`, { is_active: false }),
  },
  'deletion by an administrator': {
    reason: 'user_deleted',
    end: ({ person }) => admin.delete(`/api/v1/users/${person.id}`),
  },
  'an update of the session in SQL': {
    reason: 'session_ended',
    end: ({ sessionId }) => service.sql('update sessions set revoked_at = now() where id = $1', [sessionId]),
  },
  'an update of the user in SQL': {
    reason: 'user_deactivated',
    end: ({ person }) => service.sql('update users set is_active = false where id = $1', [person.id]),
  },
  'a raised epoch in SQL': {
    reason: 'all_sessions_ended',
    end: ({ person }) =>
      service.sql('update users set session_epoch = session_epoch + 1 where id = $1', [person.id]),
  },
  'a deletion of the session in SQL': {
    reason: 'session_deleted',
    end: ({ sessionId }) => service.sql('delete from sessions where id = $1', [sessionId]),
  },
  'a deletion of the user in SQL': {
    reason: 'user_deleted',
    end: ({ person }) => service.sql('delete from users where id = $1', [person.id]),
  },
};

for (const [what, { reason, end }] of Object.entries(ends))
  test(`${what} writes one notice to each application, and the clean-up no second one`, async () => {
    const who = await addSignedIn(service);
    const other = await addSignedIn(service);
    const sid = await takePart(service, app, who);
    await takePart(service, withoutAddress, who);
    await takePart(service, app, other);
    await end(who);
    const written = [{ sid, reason, state: 'waiting', user_id: who.person.id }];
    assert.deepEqual(await noticesOf(who), written);
    assert.equal((await untold(who)).length, 0);
    await removeSessionRows(deps);
    await service.sql('delete from sessions where user_id = $1', [who.person.id]);
    assert.deepEqual(await noticesOf(who), written);
    assert.deepEqual([await noticesOf(other), (await untold(other)).length], [[], 1]);
    assert.deepEqual(await noticesTo(service, withoutAddress), []);
  });

test('a transaction that is rolled back tells nobody, and what ends nothing writes nothing', async () => {
  const who = await addSignedIn(service);
  await takePart(service, app, who);
  await service.sql('update users set first_name = $2, is_active = true where id = $1', [
    who.person.id,
    'Jo',
  ]);
  await service.sql('update sessions set last_used_at = now() where id = $1', [who.sessionId]);
  await assert.rejects(
    inTransaction(deps.db, async (tx) => {
      await tellApplications(tx, { userId: who.person.id }, 'test');
      throw new Error('changed my mind');
    }),
  );
  assert.deepEqual([await noticesOf(who), (await untold(who)).length], [[], 1]);
});

test('a new sign-in to the application is told again; an inactive application never', async () => {
  const who = await addSignedIn(service);
  const quiet = await makeApplication(admin, { backchannel_logout_url: LOGOUT, redirect_uris: [REDIRECT] });
  await takePart(service, app, who);
  await takePart(service, quiet as { id: string }, who);
  assert.equal((await admin.put(`${path}/${quiet.id}`, { is_active: false })).status, 200);
  await tellApplications(deps.db, { userId: who.person.id, applicationId: app.id }, 'first');
  await service.sql('update application_sessions set told_at = null where user_id = $1', [who.person.id]);
  await service.sql('update sessions set revoked_at = now() where id = $1', [who.sessionId]);
  assert.deepEqual(
    (await noticesOf(who)).map(({ reason }) => reason),
    ['first', 'session_ended'],
  );
  assert.deepEqual(await noticesTo(service, { id: quiet.id as string }), []);
});

test('tellApplications tells what is named: a session, an application of a person, an application', async () => {
  const [one, two] = [await addSignedIn(service), await addSignedIn(service)];
  const own = await addApplication(admin, [service], { backchannel_logout_url: LOGOUT });
  const sids: string[] = [];
  const told = async (ended: EndedAccess): Promise<string[]> => {
    await service.sql('update application_sessions set told_at = null');
    await service.sql('delete from logout_notices');
    await tellApplications(deps.db, ended, 'test');
    const rows = await service.sql<{ sid: string }>('select sid from logout_notices order by sid');
    return rows.map(({ sid }) => sid).filter((sid) => sids.includes(sid));
  };
  for (const [application, who] of [
    [app, one],
    [own, one],
    [own, two],
  ] as const)
    sids.push(await takePart(service, application, who));
  const [first = '', second = '', third = ''] = sids;
  const userId = one.person.id;
  assert.deepEqual(await told({ userId }), [first, second].sort());
  assert.deepEqual(await told({ userId, sessionId: one.sessionId }), [first, second].sort());
  assert.deepEqual(await told({ userId, sessionId: two.sessionId }), []);
  assert.deepEqual(await told({ userId, applicationId: own.id }), [second]);
  assert.deepEqual(await told({ applicationId: own.id }), [second, third].sort());
});

test('a grant that ends because its code or its refresh token came twice is told; one that the application ends is not', async () => {
  for (const reuse of ['code', 'refresh token'] as const) {
    const who = await addSignedIn(service);
    await takePart(service, app, who);
    const { grant, refresh_token } = await tokensOf(service, app, who);
    if (reuse === 'code') assert.equal((await exchange(service, app, grant)).status, 400);
    else {
      await service.sql('update access_grants set turn = 5 where id = $1', [grant.id]);
      assert.equal((await refresh(service, app, refresh_token)).status, 400);
    }
    assert.equal((await noticesOf(who)).length, 1, reuse);
  }
  const who = await addSignedIn(service);
  await takePart(service, app, who);
  const { refresh_token } = await tokensOf(service, app, who);
  const body = new URLSearchParams({
    token: refresh_token,
    client_id: app.client_id,
    client_secret: app.client_secret ?? '',
  });
  const answer = await fetch(`${service.url}/api/v1/oauth/revoke`, { method: 'POST', body });
  assert.equal(answer.status, 200);
  assert.deepEqual(await noticesOf(who), []);
});

test('an application that is deleted is told what its record said, with what waited before', async () => {
  const [before, at] = [await addSignedIn(service), await addSignedIn(service)];
  const gone = await addApplication(admin, [service], { backchannel_logout_url: LOGOUT });
  await takePart(service, gone, before);
  await service.sql('update sessions set revoked_at = now() where id = $1', [before.sessionId]);
  await takePart(service, gone, at);
  assert.equal((await admin.delete(`${path}/${gone.id}`)).status, 200);
  const rows = await service.sql<{ reason: string; application: { client_id: string } }>(
    'select reason, application from logout_notices where application_id = $1 order by id',
    [gone.id],
  );
  assert.deepEqual(
    rows.map(({ reason, application }) => [reason, application.client_id]),
    [
      ['session_ended', gone.client_id],
      ['application_deleted', gone.client_id],
    ],
  );
});

test('beyond 50 applications, and with rows that somebody has locked, the rest waits in the backlog without a wait', async () => {
  const many = await addSignedIn(service);
  await takePartMany(service, many, 60);
  await service.sql('update users set is_active = false where id = $1', [many.person.id]);
  assert.equal((await untold(many)).length, 10);
  const who = await addSignedIn(service);
  await takePart(service, app, who);
  const locked = await deps.pool.connect();
  try {
    await locked.query('begin');
    await locked.query('select from application_sessions where user_id = $1 for update', [who.person.id]);
    await service.sql('update sessions set revoked_at = now() where id = $1', [who.sessionId]);
  } finally {
    await locked.query('rollback');
    locked.release();
  }
  assert.equal((await untold(who)).length, 1);
  const backlog = await service.sql<{ user_id: string; session_id: string | null; reason: string }>(
    'select user_id, session_id, reason from logout_backlog order by id',
  );
  assert.deepEqual(backlog, [
    { user_id: many.person.id, session_id: null, reason: 'user_deactivated' },
    { user_id: who.person.id, session_id: who.sessionId, reason: 'session_ended' },
  ]);
});

test('expired sessions are told; one that was refreshed is looked at when it expires', async () => {
  const [expired, refreshed] = [await addSignedIn(service), await addSignedIn(service)];
  for (const who of [expired, refreshed]) await takePart(service, app, who);
  await service.sql(
    `update application_sessions set expires_at = now() - interval '1 second' where user_id = any($1)`,
    [[expired.person.id, refreshed.person.id]],
  );
  await service.sql('update sessions set expires_at = now() where id = $1', [expired.sessionId]);
  await removeSessionRows(deps);
  assert.deepEqual(
    (await noticesOf(expired)).map(({ reason }) => reason),
    ['session_expired'],
  );
  assert.deepEqual([await noticesOf(refreshed), (await untold(refreshed)).length], [[], 1]);
  const [moved] = await service.sql<{ same: boolean }>(
    `select a.expires_at = s.expires_at as same from application_sessions a join sessions s on s.id = a.session_id
     where s.id = $1`,
    [refreshed.sessionId],
  );
  assert.equal(moved?.same, true);
  assert.equal(await noticeExpiredSessions(deps.db, 1_000), 0);
});

const uncommitted: Readonly<Record<string, { reason: string; statement: string }>> = {
  'a sign-out': {
    reason: 'logout',
    statement: `update sessions set revoked_at = now(), revoked_reason = 'logout' where user_id = $1`,
  },
  'the end of all sessions': {
    reason: 'session_ended',
    statement: 'update users set session_epoch = session_epoch + 1 where id = $1',
  },
};
for (const [what, { reason, statement }] of Object.entries(uncommitted))
  test(`an application that is signed in to during ${what} is told soon after`, async () => {
    const who = await addSignedIn(service);
    const ending = await deps.pool.connect();
    try {
      await ending.query('begin');
      await ending.query(statement, [who.person.id]);
      assert.ok(ledTo(await ask(who.client, app)).fields.code);
      await ending.query('commit');
    } finally {
      ending.release();
    }
    assert.equal((await noticesOf(who)).length, 0);
    const soon = await service.sql(
      `update application_sessions set expires_at = now()
       where user_id = $1 and expires_at < now() + interval '1 minute' returning 1`,
      [who.person.id],
    );
    assert.equal(soon.length, 1);
    assert.equal(await noticeExpiredSessions(deps.db, 1_000), 1);
    assert.deepEqual(
      (await noticesOf(who)).map((notice) => notice.reason),
      [reason],
    );
  });

test('the clean-up deletes settled notices after their time and told rows after an hour, and no others', async () => {
  const who = await addSignedIn(service);
  const sid = await takePart(service, app, who);
  await service.sql('update sessions set revoked_at = now() where id = $1', [who.sessionId]);
  const live = await addSignedIn(service);
  await takePart(service, app, live);
  await service.sql(
    `update logout_notices set created_at = now() - interval '8 days', state = case sid when $1 then 'sent' else state end`,
    [sid],
  );
  assert.equal(await deleteOldNotices(deps.db, 7, 1_000), 1);
  assert.deepEqual(await noticesOf(who), []);
  assert.ok((await noticesTo(service, app)).every(({ state }) => state === 'waiting'));
  await service.sql(
    `update application_sessions set told_at = now() - interval '2 hours' where user_id = $1`,
    [who.person.id],
  );
  assert.equal(await deleteToldSessions(deps.db, 1_000), 1);
  assert.equal((await untold(live)).length, 1);
});

test('a restore that ends sessions tells of those, and of nothing that the backup still had to tell', async () => {
  const [before, live] = [await addSignedIn(service), await addSignedIn(service)];
  for (const who of [before, live]) await takePart(service, app, who);
  await service.sql('update sessions set revoked_at = now() where id = $1', [before.sessionId]);
  const restore = (sessions: 'end' | { secretKey: Buffer }) =>
    inTransaction(deps.db, (tx) =>
      settleRestored(tx, deps.log, { sessions, revokeApiKeys: false }, new Date().toISOString()),
    );
  await restore({ secretKey: Buffer.from(TEST_SECRET_KEY) });
  assert.equal((await noticesOf(before)).length, 1);
  await restore('end');
  assert.deepEqual(await noticesOf(before), []);
  assert.deepEqual(
    (await noticesOf(live)).map(({ reason }) => reason),
    ['database_restored'],
  );
  assert.equal((await service.sql('select from logout_backlog')).length, 0);
});
