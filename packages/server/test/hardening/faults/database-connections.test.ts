// The database stops, or connections to it break, amid everything: nothing acknowledged is lost, nothing is half done,
// and the service comes back by itself. It must not stop a server that it has not started.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { until } from '../../embedded/fixture.ts';
import { ADMIN, signIn } from '../../harness.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import {
  assertUnavailable,
  cutConnections,
  inTime,
  judgeAfter,
  openOnLine,
  openOnOwnServer,
  openTarget,
  untilReady,
  untilRefused,
  untilSucceeded,
} from './database-fixture.ts';
import { startLoad } from './database-load.ts';

const scenario = scenariosOf('faults');

suite('connections', { concurrency: 2 }, () => {
  scenario(
    'PostgreSQL that is stopped under load, properly or at once, again and again, takes nothing acknowledged with it',
    async (tally, t) => {
      const target = await openOnOwnServer(t);
      const load = await startLoad(t, target, tally);
      for (let round = 0; round < rounds(3, 14); round += 1) {
        await untilSucceeded(load, 60);
        const before = target.postmaster();
        const refusals = load.refused;
        process.kill(before, round % 2 === 0 ? 'SIGINT' : 'SIGQUIT');
        tally.injected();
        await until('another server runs', () => {
          try {
            return target.postmaster() !== before;
          } catch {
            return false;
          }
        });
        await untilReady(target);
        assert.ok(load.refused > refusals, 'the load noticed nothing');
      }
      await judgeAfter(target, load, tally);
    },
  );

  scenario(
    'connections that the server cuts, all at once or one amid a transaction, lose nothing acknowledged',
    async (tally, t) => {
      const target = await openTarget(t);
      const load = await startLoad(t, target, tally);
      for (let round = 0; round < rounds(12, 100); round += 1) {
        await untilSucceeded(load, 20);
        const amid = round % 3 !== 0;
        await until('a connection is there to be cut', async () => {
          const cut = await cutConnections(
            target.service,
            amid
              ? `state like 'idle in transaction%' or (state = 'active' and backend_xid is not null)`
              : 'true',
            amid ? 1 : 1_000,
          );
          tally.injected(cut);
          return cut > 0;
        });
      }
      await judgeAfter(target, load, tally);
    },
  );

  scenario(
    'without a line to the database nothing succeeds at either instance, and both come back with it',
    async (tally, t) => {
      const target = await openOnLine(t);
      const load = await startLoad(t, target, tally);
      for (let round = 0; round < rounds(3, 12); round += 1) {
        await untilSucceeded(load, 40);
        await target.line.cut();
        tally.injected();
        load.dark(true);
        await untilRefused(load, 60);
        for (const instance of [target.service, target.twin]) {
          const ready = await instance.client().get('/health/ready');
          assert.equal(ready.status, 503);
          assert.ok(Number(ready.headers.get('retry-after')) >= 1);
          assert.equal((await instance.client().get('/health/live')).status, 200);
          tally.held(2);
        }
        load.dark(false);
        await target.line.restore();
        await untilReady(target);
      }
      await judgeAfter(target, load, tally);
    },
  );

  scenario(
    'connections that go silent under load are given up in time, and the service goes on with new ones',
    async (tally, t) => {
      const target = await openOnLine(t);
      const load = await startLoad(t, target, tally);
      for (let round = 0; round < rounds(1, 4); round += 1) {
        await untilSucceeded(load, 60);
        target.line.silence();
        tally.injected();
        await untilRefused(load, 8);
        await untilReady(target);
        await untilSucceeded(load, 60);
      }
      await judgeAfter(target, load, tally);
    },
  );

  scenario(
    'a connection that once gave no answer in time is not used again: the next request does not wait for it',
    async (tally, t) => {
      const { line, service } = await openOnLine(t, { DATABASE_POOL_SIZE: '2' });
      const client = await signIn(service, ADMIN);
      for (let round = 0; round < rounds(1, 3); round += 1) {
        // Both connections of the pool are open now, and go silent.
        await Promise.all(Array.from({ length: 8 }, () => client.get('/api/v1/users/list')));
        line.silence();
        tally.injected();
        const stuck = await inTime(
          'a login on a silent connection',
          Promise.all([client.login(ADMIN), client.login(ADMIN)]),
        );
        for (const answer of stuck) assertUnavailable(answer);
        assert.equal((await client.login(ADMIN)).status, 200);
        tally.tried(3);
        tally.held(3);
      }
    },
  );

  scenario('a silent database is noticed by the probe before supervisors give up on it', async (tally, t) => {
    const { line, service } = await openOnLine(t);
    const client = service.client();
    assert.equal((await client.get('/health/ready')).status, 200);
    line.silence();
    tally.injected();
    const begun = performance.now();
    assert.equal((await client.get('/health/ready')).status, 503);
    // Its own bound is 2 s; that of other requests 12 s.
    assert.ok(performance.now() - begun < 6_000, `${performance.now() - begun} ms`);
    await line.cut();
    await line.restore();
    await until('it is ready', async () => (await client.get('/health/ready')).status === 200);
    tally.tried(2);
    tally.held(3);
  });
});
