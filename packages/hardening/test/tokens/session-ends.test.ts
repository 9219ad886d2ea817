// Sessions with more rows than one request could remove: however they end, the end is one small write that counts for
// every look-up, and the clean-up removes the rows later, in batches. It must not measure time: its own triggers record
// which statements remove rows, and how many.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { paths } from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, eventually, signIn } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { type Account, addUser, countLiveTokens, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { firstResetLink, openInstances, opens, refreshes } from '../races/requests.ts';

const scenario = scenariosOf('tokens');
const ROWS = rounds(6_000, 200_000);
/** Rows that one statement of the clean-up removes at most (ended-rows.ts). */
const BATCH = 2_000;
const NEW = 'ReplacementPassword!42';

// The clean-up runs all the time.
const instances = await openInstances(
  { after },
  { CONCURRENT_SESSION_LIMIT: '2', CLEANUP_INTERVAL_MINUTES: '0.01', REFRESH_REUSE_INTERVAL: '0' },
);
const { service, admin, visitor } = instances;
await service.sql(`
  create table removals (statement text not null, removed integer not null);
  create function note_removal() returns trigger language plpgsql as $$
  begin
    insert into removals select current_query(), count(*) from gone;
    return null;
  end $$;
  create trigger tokens_removed after delete on session_tokens
    referencing old table as gone for each statement execute function note_removal();
  create trigger sessions_removed after delete on sessions
    referencing old table as gone for each statement execute function note_removal();`);

const sidOf = (client: TestClient): string => readToken(client.accessToken as string).claims.sid;

/** Adds as many tokens to the session as refreshes without a limit would leave. They expire with the issued ones. */
const addManyTokens = (client: TestClient): Promise<unknown> =>
  service.sql(
    `insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at)
     select s.user_id, sha256(convert_to(s.id || '-' || number, 'UTF8')), s.id, 'access', gen_random_uuid(), 'none',
            now(), now() + interval '1 day'
     from sessions s, generate_series(1, $2::integer) number where s.id = $1`,
    [sidOf(client), ROWS],
  );

type EndSession = (client: TestClient, user: Account) => Promise<Answer>;
const endings: Readonly<Record<string, EndSession>> = {
  logout: (client) => client.post('/api/v1/auth/logout'),
  'logout everywhere': (client) => client.post('/api/v1/auth/logout/all'),
  'its owner ending it by its id': (client) => client.delete(`/api/v1/auth/sessions/${sidOf(client)}`),
  'a changed password': (client, { password }) =>
    client.post(paths.changePassword, { current_password: password, new_password: NEW }),
  'a password reset': async (_, { email }) =>
    visitor.post(paths.confirmReset, { token: await firstResetLink(instances, email), new_password: NEW }),
  'an administrator setting a password': (_, { id }) => admin.put(`/api/v1/users/${id}`, { password: NEW }),
  deactivation: (_, { id }) => admin.put(`/api/v1/users/${id}`, { is_active: false }),
  'deactivation in bulk': (_, { id }) =>
    admin.put('/api/v1/users/bulk-update', { user_ids: [id], updates: { is_active: false } }),
  'an administrator ending it': (client, { id }) =>
    admin.delete(`/api/v1/users/${id}/sessions/${sidOf(client)}`),
  'an administrator ending all': (_, { id }) => admin.delete(`/api/v1/users/${id}/sessions`),
  deletion: (_, { id }) => admin.delete(`/api/v1/users/${id}`),
  'the session limit': async (_, user) => {
    await service.client().login(user);
    return service.client().login(user);
  },
};

for (const [what, end] of Object.entries(endings))
  scenario(`${what} ends a session at once, however many tokens it has, and removes none`, async (tally) => {
    const user = await addUser(service);
    const client = await signIn(service, user);
    await addManyTokens(client);
    const answer = await end(client, user);
    tally.tried(ROWS);
    assert.equal(answer.status, 200, answer.text);
    await assertEnded(client, user);
    tally.held(4);
  });

scenario('a reused refresh token ends a session at once, however many tokens it has', async (tally) => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  const first = client.refreshToken as string;
  const { body } = await visitor.post(paths.refresh, { refresh_token: first });
  await addManyTokens(client);
  assert.equal((await visitor.post(paths.refresh, { refresh_token: first })).status, 401);
  tally.tried(ROWS);
  await assertEnded(client, user);
  assert.equal(await refreshes(instances, body.data.refresh_token), false);
  assert.equal((await eventsOf(service, 'refresh_token_reuse', user)).length, 1);
  tally.held(6);
});

/** Checks that both instances refuse the session, and that only the clean-up removed rows, in bounded batches. */
async function assertEnded(client: TestClient, user: Account): Promise<void> {
  assert.equal(await opens(instances, client.accessToken as string), false);
  assert.equal(await refreshes(instances, client.refreshToken as string), false);
  assert.ok(!(await liveSessionIds(service, user.id)).includes(sidOf(client)));
  assert.equal(await countLiveTokens(service, sidOf(client)), 0);
  const unbounded = await service.sql(
    "select statement from removals where removed > $1 or removed > 0 and statement not like '%limit%'",
    [BATCH],
  );
  assert.deepEqual(unbounded, [], 'rows removed outside the batches of the clean-up');
}

scenario(
  'many sessions of one user end by one write; the audit entry counts all and lists some',
  async (tally) => {
    const sessions = rounds(2_000, 100_000);
    const user = await addUser(service);
    const client = await signIn(service, user);
    const before = (await admin.get(`/api/v1/users/${user.id}`)).headers.get('etag');
    await service.sql(
      `insert into sessions (id, user_id, expires_at)
     select gen_random_uuid(), $1, now() + interval '1 day' from generate_series(2, $2::integer)`,
      [user.id, sessions],
    );
    const answer = await admin.delete(`/api/v1/users/${user.id}/sessions`);
    tally.tried(sessions);
    assert.equal(answer.status, 200, answer.text);
    const [event] = await eventsOf(service, 'session_revoked', user);
    assert.equal(event?.details.sessions_ended, sessions);
    assert.equal((event?.details.session_ids as string[] | undefined)?.length, 100);
    assert.deepEqual(await liveSessionIds(service, user.id), []);
    assert.equal(await opens(instances, client.accessToken as string), false);
    assert.equal((await admin.get(`/api/v1/users/${user.id}`)).headers.get('etag'), before, 'the ETag');
    const again = await signIn(service, user);
    assert.deepEqual(await liveSessionIds(service, user.id), [sidOf(again)], 'a session of the new epoch');
    tally.held(6);
  },
);

scenario('a session that an instance of an earlier version inserts has the current epoch', async (tally) => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  assert.equal((await client.post('/api/v1/auth/logout/all')).status, 200);
  const [made] = await service.sql<{ id: string }>(
    `insert into sessions (id, user_id, expires_at)
     values (gen_random_uuid(), $1, now() + interval '1 day') returning id`,
    [user.id],
  );
  tally.tried();
  assert.deepEqual(await liveSessionIds(service, user.id), [made?.id]);
  assert.equal((await service.client().login(user)).status, 200);
  assert.equal((await liveSessionIds(service, user.id)).length, 2);
  tally.held(2);
});

scenario('the clean-up removes all rows of ended sessions and deleted users', async (tally) => {
  const left = (what: string) => service.sql<{ count: number }>(`select count(*)::int from ${what}`);
  await eventually(
    async () => (await left('session_ends'))[0]?.count === 0 || undefined,
    'no end to be left',
  );
  const dead = `session_tokens t where not exists (
    select from sessions s join users u on u.id = s.user_id where s.id = t.session_id and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active))`;
  await eventually(async () => (await left(dead))[0]?.count === 0 || undefined, 'no dead token to be left');
  assert.deepEqual(await left('sessions where user_id not in (select id from users)'), [{ count: 0 }]);
  assert.deepEqual(
    await left(
      'sessions s join users u on u.id = s.user_id where s.epoch < u.session_epoch and revoked_at is null',
    ),
    [{ count: 0 }],
  );
  const [removed] = await service.sql<{ sum: number }>('select sum(removed)::int from removals');
  assert.ok(Number(removed?.sum) > ROWS);
  const owner = await signIn(service, ADMIN);
  assert.ok(await opens(instances, owner.accessToken as string));
  tally.tried(Number(removed?.sum));
  tally.held(6 + (await assertSound(service)));
});
