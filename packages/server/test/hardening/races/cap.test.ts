// CONCURRENT_SESSION_LIMIT when many sign in at once: exactly so many sessions live, and exactly their tokens work.
// It must not say which of the logins stay.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { signIn } from '../../harness.ts';
import { assertCap, assertSound } from '../../invariants.ts';
import { addUser, liveSessionIds } from '../../sessions/accounts.ts';
import { codesOf } from '../../sessions/attempts.ts';
import { eventsOf } from '../../sessions/audit-events.ts';
import { readToken } from '../../sessions/own-tokens.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import {
  assertAmong,
  assertNothingOpens,
  fire,
  login,
  newAccessToken,
  openRange,
  opens,
  refresh,
  refreshes,
  times,
} from './shots.ts';

const scenario = scenariosOf('races');
// The default, which the specification names.
const CAP = 5;
const range = await openRange({ after });
const { service } = range;

for (const [many, count, share, full] of [
  ['sixteen', 16, 3, 12],
  ['fifty', 50, 1, 5],
] as const)
  scenario(
    `${many} logins at once end with exactly the cap alive, and exactly these tokens work`,
    async (tally) => {
      for (let round = 0; round < rounds(share, full); round += 1) {
        const user = await addUser(service);
        const shots = times(count, () => login(user.email, user.password));
        const answers = await fire(range, shots, round);
        tally.tried(count);
        assert.deepEqual(codesOf(answers), { ok: count });
        const live = await liveSessionIds(service, user.id);
        assert.equal(live.length, CAP);
        for (const { body } of answers) {
          const isLive = live.includes(readToken(body.data.access_token).claims.sid);
          assert.equal(await opens(range, body.data.access_token), isLive);
          assert.equal(await refreshes(range, body.data.refresh_token), isLive);
        }
        const events = await eventsOf(service, 'session_revoked', user);
        assert.equal(new Set(events.map(({ details }) => details.session_id)).size, count - CAP);
        assert.equal(events.length, count - CAP);
        tally.held(4 + 2 * count);
      }
      tally.held((await assertSound(service)) + (await assertCap(service, CAP)));
    },
  );

scenario('sessions that the cap ends while they are refreshed leave no token behind', async (tally) => {
  for (let round = 0; round < rounds(3, 20); round += 1) {
    const user = await addUser(service);
    const clients = await Promise.all(times(CAP, () => signIn(service, user)));
    const shots = clients.flatMap(({ refreshToken }) => [
      login(user.email, user.password),
      refresh(refreshToken),
      newAccessToken(refreshToken),
      refresh(refreshToken),
    ]);
    const answers = await fire(range, shots, round);
    tally.tried(shots.length);
    const logins = answers.filter((_, index) => index % 4 === 0);
    const prolonged = answers.filter((_, index) => index % 4 !== 0);
    assert.deepEqual(codesOf(logins), { ok: CAP });
    tally.held(assertAmong(prolonged, [200, 'refresh_token_invalid']));
    tally.held(await assertNothingOpens(range, prolonged));
    for (const { accessToken } of clients) assert.equal(await opens(range, accessToken as string), false);
    for (const { body } of logins) assert.ok(await opens(range, body.data.access_token));
    tally.held(1 + 2 * CAP);
  }
  tally.held((await assertSound(service)) + (await assertCap(service, CAP)));
});

scenario(
  'logins, refreshes and logouts of one user at once answer no error and keep to the cap',
  async (tally) => {
    const uncapped = await service.another({ CONCURRENT_SESSION_LIMIT: '0' });
    for (let round = 0; round < rounds(3, 20); round += 1) {
      const user = await addUser(service);
      const clients = await Promise.all(times(8, () => signIn(uncapped, user)));
      const shots = clients.flatMap((client, index) => [
        login(user.email, user.password),
        refresh(client.refreshToken),
        newAccessToken(client.refreshToken),
        { client, path: `/api/v1/auth/${index % 3 === 0 ? 'logout/all' : 'logout'}` },
      ]);
      const answers = await fire(range, shots, round);
      tally.tried(shots.length);
      tally.held(assertAmong(answers, [200, 'refresh_token_invalid', 'token_revoked']));
      const logins = answers.filter((_, index) => index % 4 === 0);
      assert.deepEqual(codesOf(logins), { ok: 8 });
      const live = await liveSessionIds(service, user.id);
      for (const { body } of answers) {
        const token = body.data?.access_token;
        if (token) assert.equal(await opens(range, token), live.includes(readToken(token).claims.sid));
      }
      tally.held(2);
    }
    tally.held((await assertSound(service)) + (await assertCap(service, CAP)));
  },
);
