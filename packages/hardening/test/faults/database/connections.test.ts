// The database stops, or connections to it break, under load: no acknowledged change is lost, none is half done, and
// the service recovers by itself. It must not stop a server that it has not started.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { suite } from 'node:test';
import { until } from '@castellan/embedded-postgres/testing';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import {
  assertUnavailable,
  checkAfter,
  cutConnections,
  inTime,
  openBehindRelay,
  openOnOwnServer,
  openTarget,
  untilReady,
  untilRefused,
  untilSucceeded,
} from './fixture.ts';
import { startLoad } from './load.ts';

const scenario = scenariosOf('faults');

suite('connections', { concurrency: 2 }, () => {
  scenario(
    'repeated stops of PostgreSQL under load, clean or immediate, lose no acknowledged change',
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
        assert.ok(load.refused > refusals, 'no request of the load was refused');
      }
      await checkAfter(target, load, tally);
    },
  );

  scenario(
    'connections that the server cuts, all at once or one during a transaction, lose no acknowledged change',
    async (tally, t) => {
      const target = await openTarget(t);
      const load = await startLoad(t, target, tally);
      for (let round = 0; round < rounds(12, 100); round += 1) {
        await untilSucceeded(load, 20);
        const isInTransaction = round % 3 !== 0;
        await until('a connection is there to be cut', async () => {
          const cut = await cutConnections(
            target.service,
            isInTransaction
              ? `state like 'idle in transaction%' or (state = 'active' and backend_xid is not null)`
              : 'true',
            isInTransaction ? 1 : 1_000,
          );
          tally.injected(cut);
          return cut > 0;
        });
      }
      await checkAfter(target, load, tally);
    },
  );

  scenario(
    'without a connection to the database nothing succeeds at either instance, and both recover with it',
    async (tally, t) => {
      const target = await openBehindRelay(t);
      const load = await startLoad(t, target, tally);
      for (let round = 0; round < rounds(3, 12); round += 1) {
        await untilSucceeded(load, 40);
        await target.relay.cut();
        tally.injected();
        load.setOutage(true);
        await untilRefused(load, 60);
        for (const instance of [target.service, target.twin]) {
          const ready = await instance.client().get('/health/ready');
          assert.equal(ready.status, 503);
          assert.ok(Number(ready.headers.get('retry-after')) >= 1);
          assert.equal((await instance.client().get('/health/live')).status, 200);
          tally.held(2);
        }
        load.setOutage(false);
        await target.relay.restore();
        await untilReady(target);
      }
      await checkAfter(target, load, tally);
    },
  );

  scenario(
    'connections that go silent under load time out, and the service continues with new ones',
    async (tally, t) => {
      const target = await openBehindRelay(t);
      const load = await startLoad(t, target, tally);
      for (let round = 0; round < rounds(1, 4); round += 1) {
        await untilSucceeded(load, 60);
        target.relay.silence();
        tally.injected();
        await untilRefused(load, 8);
        await untilReady(target);
        await untilSucceeded(load, 60);
      }
      await checkAfter(target, load, tally);
    },
  );

  scenario(
    'a connection that timed out is not used again: the next request does not wait for it',
    async (tally, t) => {
      const { relay, service } = await openBehindRelay(t, { DATABASE_POOL_SIZE: '2' });
      const client = await signIn(service, ADMIN);
      for (let round = 0; round < rounds(1, 3); round += 1) {
        // Both connections of the pool are open before they go silent.
        await Promise.all(Array.from({ length: 8 }, () => client.get('/api/v1/users/list')));
        // The pool of requests has one of the two connections.
        const removed = once(service.service.deps.pool, 'remove');
        relay.silence();
        tally.injected();
        const stuck = await inTime(
          'a login on a silent connection',
          Promise.all([client.login(ADMIN), client.login(ADMIN)]),
        );
        // A job of the service may have had the connection, and its place went to a new one.
        const refused = stuck.filter(({ status }) => status !== 200);
        assert.notEqual(refused.length, 0);
        for (const answer of refused) assertUnavailable(answer);
        // The logins that only waited for the connection are refused before it times out.
        await inTime('the end of the silent connection', removed);
        const next = await client.login(ADMIN);
        assert.equal(next.status, 200, `${next.text}\n${service.logLines.slice(-10).join('')}`);
        tally.tried(3);
        tally.held(3);
      }
    },
  );

  scenario("the probe reports a silent database before a supervisor's timeout", async (tally, t) => {
    const { relay, service } = await openBehindRelay(t);
    const client = await signIn(service, ADMIN);
    assert.equal((await client.get('/health/ready')).status, 200);
    relay.silence();
    tally.injected();
    // The probe has its own timeout of 2 s; a request before it waits for 12 s.
    const order: string[] = [];
    const other = client.get('/api/v1/users/me').then(() => order.push('another request'));
    const probe = await service.client().get('/health/ready');
    order.push('the probe');
    assert.equal(probe.status, 503);
    assert.deepEqual(order, ['the probe']);
    await relay.cut();
    await relay.restore();
    await other;
    await until('it is ready', async () => (await client.get('/health/ready')).status === 200);
    tally.tried(2);
    tally.held(3);
  });
});
