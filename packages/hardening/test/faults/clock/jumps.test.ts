// A clock that jumps while the service runs: sessions, locks, limits and jobs follow the database's time; only CSRF
// tokens and the wording of refusals follow the process's. It must not move the clock of the database.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { createClient, type TestClient } from '@castellan/testing/client';
import { ADMIN } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';
import { auth, claimsOf, databaseSeconds, HOUR, hasJumped, meAt, openClocks, shifts } from './fixture.ts';

const scenario = scenariosOf('faults');

suite('clocks that jump', { concurrency: 3 }, () => {
  scenario(
    'a clock that jumps while the service runs ends no session, opens no lock, and starts no job',
    async (tally, t) => {
      const clocks = await openClocks(t, 0);
      const { service, wrong, right } = clocks;
      const client = createClient(wrong);
      assert.equal((await client.login(ADMIN)).status, 200);
      const locked = await addUser({ sql: service.sql });
      for (let attempt = 0; attempt < 3; attempt += 1)
        await createClient(wrong).login({ email: locked.email, password: 'Wrong#Quartz82Lime' });
      for (let round = 0; round < rounds(2, 10); round += 1) {
        for (const shiftMs of Object.values(shifts)) {
          clocks.set(shiftMs);
          tally.injected();
          const fresh = createClient(wrong);
          await hasJumped(wrong, shiftMs);
          for (const url of [wrong, right]) assert.equal((await meAt(url, client.accessToken)).status, 200);
          const refreshed = await fresh.post(`${auth}/refresh`, { refresh_token: client.refreshToken });
          assert.equal(refreshed.status, 200, refreshed.text);
          client.refreshToken = refreshed.body.data.refresh_token;
          assert.ok(
            Math.abs(claimsOf(refreshed.body.data.access_token).iat - (await databaseSeconds(service))) < 60,
          );
          assert.equal((await fresh.login(locked)).body.code, 'account_locked');
          tally.tried(5);
          tally.held(5);
        }
      }
      const cleanUps =
        clocks.child.out().split('clean-up done').length +
        service.child.out().split('clean-up done').length -
        2;
      assert.equal(cleanUps, 0);
      tally.held(1 + (await assertSound({ sql: service.sql })));
    },
  );

  scenario(
    "limits follow the database's clock: an instance whose clock jumps neither lifts nor prolongs one",
    async (tally, t) => {
      const clocks = await openClocks(t, 0, { RATE_LIMIT_PASSWORD_RESET: '3/hour' });
      const ask = (url: string) =>
        createClient(url).post(`${auth}/password-reset/request`, { email: 'x@example.com' });
      for (let number = 0; number < 3; number += 1) assert.equal((await ask(clocks.wrong)).status, 200);
      for (const shiftMs of Object.values(shifts)) {
        clocks.set(shiftMs);
        tally.injected();
        await hasJumped(clocks.wrong, shiftMs);
        for (const url of [clocks.wrong, clocks.right]) {
          const answer = await ask(url);
          assert.equal(answer.status, 429);
          const seconds = Number(answer.headers.get('retry-after'));
          assert.ok(seconds >= 1 && seconds <= 3_600, `${seconds} s`);
          tally.tried();
          tally.held(2);
        }
      }
    },
  );

  scenario(
    'a CSRF token of an instance whose clock is right is refused by one that is a day off, and a new one from there works',
    async (tally, t) => {
      const clocks = await openClocks(t, 0);
      for (const [shiftMs, isTaken] of [
        [HOUR, true],
        [-HOUR, false],
        [24 * HOUR, false],
        [-24 * HOUR, false],
      ] as const) {
        const client: TestClient = createClient(clocks.right);
        await client.prepare('POST');
        clocks.set(shiftMs);
        tally.injected();
        await hasJumped(clocks.wrong, shiftMs);
        const answer = await client.at(clocks.wrong).login(ADMIN);
        assert.equal(answer.status, isTaken ? 200 : 403, answer.text);
        assert.equal((await createClient(clocks.wrong).login(ADMIN)).status, 200);
        tally.tried(2);
        tally.held(2);
      }
    },
  );
});
