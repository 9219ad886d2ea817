// Instances and the database are killed while rights change: when all runs again, live guards keep what the database says, and readers
// have every change. It must not stop a server that it has not started.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '@castellan/embedded-postgres/testing';
import { openLiveFeed } from '@castellan/testing/feed/reader';
import { startTestService } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { lastFirst, openOnOwnServer, untilReady } from '../faults/database/fixture.ts';
import { caughtUp, compare, openGuards, useGuards } from './guards.ts';
import { startInstance, startWitness } from './instances.ts';
import { makeWorld } from './rights.ts';
import { WRITERS, withWriters } from './writers.ts';

const scenario = scenariosOf('feed');
const environment = { CONCURRENT_SESSION_LIMIT: '0', DATABASE_POOL_SIZE: '6' };

scenario(
  'readers of two instances that are killed in turn have every change of 50 writers',
  async (tally, t) => {
    const service = await startTestService(lastFirst(t), environment);
    const { key } = await addServiceAccount(service, { permissions: ['access.watch'] });
    const instances = [
      await startInstance(t, service.databaseUrl),
      await startInstance(t, service.databaseUrl),
    ];
    const urls = instances.map(({ url }) => url);
    const first = await openLiveFeed(urls[0] ?? '', key);
    const liveAt = performance.now();
    const witness = startWitness(t, first, urls, key);
    await withWriters(service, async (writing) => {
      let isWriting = true;
      const done = writing.finally(() => {
        isWriting = false;
      });
      for (let turn = 0; isWriting; turn += 1) {
        await pause(300);
        const instance = instances[turn % 2];
        await instance?.kill();
        tally.injected();
        await instance?.restart();
      }
      const written = await done;
      tally.tried(written.length);
      const found = await witness.end(service);
      const expected = written.filter((one) => one.isCommitted && one.endsAt > liveAt);
      assert.ok(expected.length > WRITERS, `${expected.length} changes after it was live`);
      assert.deepEqual(
        expected.filter(({ id }) => !found.has(id)),
        [],
      );
      assert.equal(witness.forgotten, 0, `of ${witness.streams} streams`);
      tally.held(expected.length + witness.streams);
    });
  },
);

scenario(
  'live guards of an instance that is killed, and of another, keep nothing that the database does not say',
  async (tally, t) => {
    const service = await startTestService(lastFirst(t), environment);
    const world = await makeWorld(service);
    const [killed, other] = [
      await startInstance(t, service.databaseUrl),
      await startInstance(t, service.databaseUrl),
    ];
    const guards = await openGuards(t, [killed.url, other.url], world);
    for (let round = 0; round < rounds(2, 8); round += 1) {
      const stop = useGuards(t, guards, world);
      const writing = world.write(service.databaseUrl, round % 2 === 0);
      await pause(Math.random() * 1_500);
      await killed.kill();
      tally.injected();
      await pause(Math.random() * 1_500);
      await killed.restart();
      tally.tried(await writing);
      await caughtUp(service, guards);
      await stop();
      tally.held(await compare(service.url, guards, world, `round ${round}`));
    }
  },
);

scenario(
  'live guards whose PostgreSQL is killed and starts again keep nothing that it does not say',
  async (tally, t) => {
    const target = await openOnOwnServer(t, environment);
    const world = await makeWorld(target.service);
    const guards = await openGuards(t, [target.service.url, target.twin.url], world);
    for (const [round, signal] of (['SIGQUIT', 'SIGINT', 'SIGKILL'] as const).entries()) {
      const stop = useGuards(t, guards, world);
      const writing = world.write(target.service.databaseUrl, false);
      await pause(Math.random() * 1_500);
      const before = target.postmaster();
      process.kill(before, signal);
      tally.injected();
      await until('another server runs', () => {
        try {
          return target.postmaster() !== before;
        } catch {
          return false;
        }
      });
      await untilReady(target);
      tally.tried(await writing);
      await caughtUp(target.service, guards);
      await stop();
      tally.held(await compare(target.service.url, guards, world, `${round}: ${signal}`));
    }
  },
);
