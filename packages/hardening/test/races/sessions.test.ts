// Sessions that end during a refresh, and refresh tokens that many requests exchange at once.
// It must not wait for a reuse interval to pass: it makes exchanges older in SQL.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { signIn } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { type Account, addUser, countLiveTokens, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { codesOf } from '@castellan/testing/sessions/attempts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { hashOf, readToken } from '@castellan/testing/sessions/own-tokens';
import {
  assertAmong,
  assertNothingOpens,
  login,
  newAccessToken,
  openInstances,
  opens,
  type RequestSpec,
  refresh,
  refreshes,
  sendAmong,
  sendAtOnce,
  times,
} from './requests.ts';

const scenario = scenariosOf('races');
const instances = await openInstances({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const { service, admin, visitor } = instances;
const idOf = (client: TestClient): string => readToken(client.accessToken as string).claims.sid;

const unexchanged = (sessionId: string) =>
  service.sql<{ token_hash: Buffer }>(
    "select token_hash from session_tokens where session_id = $1 and kind = 'refresh' and rotated_at is null",
    [sessionId],
  );

scenario(
  'a refresh token that many requests exchange at once has one successor, and all get it',
  async (tally) => {
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const client = await signIn(service, await addUser(service));
      const answers = await sendAtOnce(
        instances,
        times(50, () => refresh(client.refreshToken)),
        round,
      );
      tally.tried(50);
      assert.deepEqual(codesOf(answers), { ok: 50 });
      const [successor, ...more] = new Set(answers.map(({ body }) => body.data.refresh_token as string));
      assert.ok(successor && more.length === 0, `${more.length + 1} successors`);
      assert.deepEqual(await unexchanged(idOf(client)), [{ token_hash: hashOf(successor) }]);
      for (const { body } of answers) assert.ok(await opens(instances, body.data.access_token));
      const next = await visitor.post('/api/v1/auth/refresh', { refresh_token: successor });
      assert.equal(next.status, 200, next.text);
      assert.ok(await refreshes(instances, next.body.data.refresh_token));
      tally.held(54);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'a chain of exchanges that many requests repeat at once stays one chain, with one token not exchanged',
  async (tally) => {
    for (let round = 0; round < rounds(1, 10); round += 1) {
      const client = await signIn(service, await addUser(service));
      const chain = [client.refreshToken as string];
      for (let link = 0; link < 4; link += 1) {
        const requests = chain.flatMap((token) => times(4, () => refresh(token)));
        const answers = await sendAtOnce(instances, requests, round + link);
        tally.tried(answers.length);
        assert.deepEqual(codesOf(answers), { ok: requests.length });
        const successors = answers.map(({ body }) => body.data.refresh_token as string);
        chain.push(successors.at(-1) as string);
        assert.deepEqual(
          successors,
          requests.map((_, index) => chain[Math.floor(index / 4) + 1]),
        );
        const left = await unexchanged(idOf(client));
        assert.deepEqual(left, [{ token_hash: hashOf(chain.at(-1) as string) }]);
        tally.held(3);
      }
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'an exchanged token that is used many times after the interval ends its session, with one event and no live token',
  async (tally) => {
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const user = await addUser(service);
      const client = await signIn(service, user);
      const elsewhere = await signIn(service, user);
      const { data } = (await visitor.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken }))
        .body;
      await service.sql(
        "update session_tokens set rotated_at = rotated_at - interval '31 seconds' where token_hash = $1",
        [hashOf(client.refreshToken as string)],
      );
      // Two of three requests use the old token, on both paths; the third uses its successor.
      const requests = times(48, (index) => {
        const token = index % 3 === 2 ? data.refresh_token : client.refreshToken;
        return index % 4 === 3 ? newAccessToken(token) : refresh(token);
      });
      const answers = await sendAtOnce(instances, requests, round);
      tally.tried(48);
      for (const [index, { status, text }] of answers.entries())
        if (index % 3 !== 2) assert.equal(status, 401, text);
      tally.held(assertAmong(answers, [200, 'refresh_token_invalid']));
      tally.held(
        await assertNothingOpens(instances, [...answers, { body: { data } } as (typeof answers)[number]]),
      );
      assert.equal(await opens(instances, client.accessToken as string), false);
      assert.equal((await eventsOf(service, 'refresh_token_reuse', user)).length, 1);
      assert.deepEqual(await liveSessionIds(service, user.id), [idOf(elsewhere)]);
      assert.ok(await opens(instances, elsewhere.accessToken as string));
      tally.held(4);
    }
    tally.held(await assertSound(service));
  },
);

type Ending = { name: string; request(client: TestClient, owner: TestClient, user: Account): RequestSpec };
const endings: readonly Ending[] = [
  { name: 'logout', request: (client) => ({ client, path: '/api/v1/auth/logout' }) },
  { name: 'logout/all', request: (client) => ({ client, path: '/api/v1/auth/logout/all' }) },
  {
    name: 'ending it by its id',
    request: (client, owner) => ({
      client: owner,
      method: 'DELETE',
      path: `/api/v1/auth/sessions/${idOf(client)}`,
    }),
  },
  {
    name: 'an administrator who ends it',
    request: (client, _, { id }) => ({
      client: admin,
      method: 'DELETE',
      path: `/api/v1/users/${id}/sessions/${idOf(client)}`,
    }),
  },
  {
    name: 'an administrator who ends all sessions',
    request: (_client, _, { id }) => ({
      client: admin,
      method: 'DELETE',
      path: `/api/v1/users/${id}/sessions`,
    }),
  },
];

for (const { name, request } of endings)
  scenario(`after ${name} during refreshes no token of the session is accepted`, async (tally) => {
    const user = await addUser(service);
    for (let round = 0; round < rounds(2, 40); round += 1) {
      const owner = await signIn(service, user);
      const client = await signIn(service, user);
      const others = times(16, (index) => (index % 3 ? refresh : newAccessToken)(client.refreshToken));
      const [ended, answers] = await sendAmong(instances, round, request(client, owner, user), others);
      tally.tried(17);
      assert.equal(ended.status, 200, ended.text);
      tally.held(assertAmong(answers, [200, 'refresh_token_invalid']));
      tally.held(await assertNothingOpens(instances, answers));
      assert.equal(await opens(instances, client.accessToken as string), false);
      assert.equal(await refreshes(instances, client.refreshToken as string), false);
      assert.ok(!(await liveSessionIds(service, user.id)).includes(idOf(client)));
      assert.equal(await countLiveTokens(service, idOf(client)), 0, 'an ended session has a live token');
      tally.held(5);
    }
    tally.held(await assertSound(service));
  });

scenario(
  'a session that many requests end by its id at once ends once, with one event; the others get 404',
  async (tally) => {
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const user = await addUser(service);
      const owner = await signIn(service, user);
      const client = await signIn(service, user);
      const byId = endings.filter(({ name }) => name.endsWith('id') || name.endsWith('it'));
      assert.equal(byId.length, 2);
      const requests = times(24, (index) => (byId[index % 2] as Ending).request(client, owner, user));
      const answers = await sendAtOnce(instances, requests, round);
      tally.tried(24);
      assert.deepEqual(codesOf(answers), { ok: 1, session_not_found: 23 });
      assert.equal((await eventsOf(service, 'session_revoked', user)).length, 1);
      assert.deepEqual(await liveSessionIds(service, user.id), [idOf(owner)]);
      tally.held(3);
    }
    tally.held(await assertSound(service));
  },
);

scenario('all kinds of sign-out of one session at once answer no error and end it', async (tally) => {
  for (let round = 0; round < rounds(2, 20); round += 1) {
    const user = await addUser(service);
    const owner = await signIn(service, user);
    const client = await signIn(service, user);
    const requests = times(25, (index) => (endings[index % 5] as Ending).request(client, owner, user));
    const answers = await sendAtOnce(instances, requests, round);
    tally.tried(25);
    tally.held(assertAmong(answers, [200, 'token_revoked', 'session_not_found']));
    assert.deepEqual(await liveSessionIds(service, user.id), []);
    assert.equal(await opens(instances, client.accessToken as string), false);
    tally.held(2);
  }
  tally.held(await assertSound(service));
});

scenario(
  'after sign-ins during a logout everywhere each new session is live with all its tokens or with none',
  async (tally) => {
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const user = await addUser(service);
      const client = await signIn(service, user);
      const everywhere = { client, path: '/api/v1/auth/logout/all' };
      const others = times(16, () => login(user.email, user.password));
      const [ended, answers] = await sendAmong(instances, round, everywhere, others);
      tally.tried(17);
      assert.equal(ended.status, 200, ended.text);
      assert.deepEqual(codesOf(answers), { ok: 16 });
      const live = await liveSessionIds(service, user.id);
      for (const { body } of answers) {
        const isLive = live.includes(readToken(body.data.access_token).claims.sid);
        assert.equal(await opens(instances, body.data.access_token), isLive);
        assert.equal(await refreshes(instances, body.data.refresh_token), isLive);
      }
      assert.equal(await opens(instances, client.accessToken as string), false);
      tally.held(35);
    }
    tally.held(await assertSound(service));
  },
);
