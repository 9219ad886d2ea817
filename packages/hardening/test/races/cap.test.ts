// CONCURRENT_SESSION_LIMIT when many sign in at once: exactly that many sessions are live, and exactly their tokens
// work. It must not say which sign-ins keep their session.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { signIn } from '@castellan/testing/harness';
import { assertCap, assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addUser, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { codesOf } from '@castellan/testing/sessions/attempts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import {
  assertAmong,
  assertNothingOpens,
  login,
  newAccessToken,
  openInstances,
  opens,
  refresh,
  refreshes,
  sendAtOnce,
  times,
} from './requests.ts';

const scenario = scenariosOf('races');
// The default of CONCURRENT_SESSION_LIMIT.
const CAP = 5;
const instances = await openInstances({ after });
const { service } = instances;

for (const [many, count, share, full] of [
  ['sixteen', 16, 3, 12],
  ['fifty', 50, 1, 5],
] as const)
  scenario(
    `after ${many} sign-ins at once exactly the limit of sessions is live, and exactly their tokens work`,
    async (tally) => {
      for (let round = 0; round < rounds(share, full); round += 1) {
        const user = await addUser(service);
        const requests = times(count, () => login(user.email, user.password));
        const answers = await sendAtOnce(instances, requests, round);
        tally.tried(count);
        assert.deepEqual(codesOf(answers), { ok: count });
        const live = await liveSessionIds(service, user.id);
        assert.equal(live.length, CAP);
        for (const { body } of answers) {
          const isLive = live.includes(readToken(body.data.access_token).claims.sid);
          assert.equal(await opens(instances, body.data.access_token), isLive);
          assert.equal(await refreshes(instances, body.data.refresh_token), isLive);
        }
        const events = await eventsOf(service, 'session_revoked', user);
        assert.equal(new Set(events.map(({ details }) => details.session_id)).size, count - CAP);
        assert.equal(events.length, count - CAP);
        tally.held(4 + 2 * count);
      }
      tally.held((await assertSound(service)) + (await assertCap(service, CAP)));
    },
  );

scenario('sessions that the session limit ends during a refresh leave no valid token', async (tally) => {
  for (let round = 0; round < rounds(2, 20); round += 1) {
    const user = await addUser(service);
    const clients = await Promise.all(times(CAP, () => signIn(service, user)));
    const requests = clients.flatMap(({ refreshToken }) => [
      login(user.email, user.password),
      refresh(refreshToken),
      newAccessToken(refreshToken),
      refresh(refreshToken),
    ]);
    const answers = await sendAtOnce(instances, requests, round);
    tally.tried(requests.length);
    const logins = answers.filter((_, index) => index % 4 === 0);
    const prolonged = answers.filter((_, index) => index % 4 !== 0);
    assert.deepEqual(codesOf(logins), { ok: CAP });
    tally.held(assertAmong(prolonged, [200, 'refresh_token_invalid']));
    tally.held(await assertNothingOpens(instances, prolonged));
    for (const { accessToken } of clients) assert.equal(await opens(instances, accessToken as string), false);
    for (const { body } of logins) assert.ok(await opens(instances, body.data.access_token));
    tally.held(1 + 2 * CAP);
  }
  tally.held((await assertSound(service)) + (await assertCap(service, CAP)));
});

scenario(
  'sign-ins, refreshes and sign-outs of one user at once answer no error and keep to the session limit',
  async (tally) => {
    const uncapped = await service.another({ CONCURRENT_SESSION_LIMIT: '0' });
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const user = await addUser(service);
      const clients = await Promise.all(times(8, () => signIn(uncapped, user)));
      const requests = clients.flatMap((client, index) => [
        login(user.email, user.password),
        refresh(client.refreshToken),
        newAccessToken(client.refreshToken),
        { client, path: `/api/v1/auth/${index % 3 === 0 ? 'logout/all' : 'logout'}` },
      ]);
      const answers = await sendAtOnce(instances, requests, round);
      tally.tried(requests.length);
      tally.held(assertAmong(answers, [200, 'refresh_token_invalid', 'token_revoked']));
      const logins = answers.filter((_, index) => index % 4 === 0);
      assert.deepEqual(codesOf(logins), { ok: 8 });
      const live = await liveSessionIds(service, user.id);
      for (const { body } of answers) {
        const token = body.data?.access_token;
        if (token) assert.equal(await opens(instances, token), live.includes(readToken(token).claims.sid));
      }
      tally.held(2);
    }
    tally.held((await assertSound(service)) + (await assertCap(service, CAP)));
  },
);
