/**
 * Tests that the last process that uses the server stops it, in any order. They must not leave a server behind.
 */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { settings, startService } from '../test/fixture.ts';
import { type EmbeddedOptions, type EmbeddedPostgres, startEmbeddedPostgres } from './index.ts';
import {
  atEnd,
  dataDirWithCluster,
  isStopped,
  processesUnder,
  query,
  startThrowawayPostgres,
  temporaryFolder,
  until,
} from './testing.ts';

async function start(t: TestContext, options: Partial<EmbeddedOptions> = {}): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({
    dataDir: options.dataDir ?? (await dataDirWithCluster(t)),
    settings,
    ...options,
  });
  atEnd(t, () => server.stop());
  return server;
}

async function show(server: EmbeddedPostgres, name: string): Promise<unknown> {
  return Object.values((await query(server.connection, `show ${name}`))[0] ?? {})[0];
}

describe('stopping the server', () => {
  test('stop of the only process ends the server, can be called again, and keeps the data', async (t) => {
    const server = await start(t);
    await query(server.connection, 'create table kept as select 7 as number');
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    assert.ok(isStopped(server.cluster));
    const again = await start(t, { dataDir: join(server.cluster, '..') });
    assert.equal(again.joined, false);
    assert.deepEqual(await query(again.connection, 'select number from kept'), [{ number: 7 }]);
  });

  for (const [order, firstToLeave] of [
    ['starter first', 0],
    ['joiner first', 1],
  ] as const) {
    test(`the last of two processes stops the server: ${order}`, async (t) => {
      const dataDir = await dataDirWithCluster(t);
      const services = [startService(t, { dataDir, settings })];
      const { cluster, connection, joined } = await services[0]!.ready();
      assert.equal(joined, false);
      services.push(startService(t, { dataDir, settings }));
      assert.equal((await services[1]!.ready()).joined, true);
      await services[firstToLeave]!.stop();
      assert.deepEqual(await query(connection, 'select 1 as one'), [{ one: 1 }]);
      await services[1 - firstToLeave]!.stop();
      assert.ok(isStopped(cluster));
    });
  }

  test('two processes that leave at the same time leave no server behind', async (t) => {
    const dataDir = await dataDirWithCluster(t);
    for (let round = 0; round < 5; round += 1) {
      const services = [startService(t, { dataDir, settings }), startService(t, { dataDir, settings })];
      const [first] = await Promise.all(services.map((service) => service.ready()));
      await Promise.all(services.map((service) => service.stop()));
      assert.ok(isStopped(first!.cluster), `round ${round}`);
    }
  });

  test('a process that joins while the last one leaves gets a running server', async (t) => {
    const dataDir = await dataDirWithCluster(t);
    let leaving = startService(t, { dataDir, settings });
    await leaving.ready();
    for (let round = 0; round < 8; round += 1) {
      const coming = startService(t, { dataDir, settings });
      const [, { connection }] = await Promise.all([leaving.stop(), coming.ready()]);
      assert.deepEqual(await query(connection, 'select 1 as one'), [{ one: 1 }], `round ${round}`);
      leaving = coming;
    }
    const { cluster } = await leaving.ready();
    await leaving.stop();
    assert.ok(isStopped(cluster));
  });

  test('one process that starts it twice stops it with the second stop', async (t) => {
    const first = await start(t);
    const second = await start(t, { dataDir: join(first.cluster, '..') });
    assert.equal(second.joined, true);
    await first.stop();
    assert.equal(await show(second, 'fsync'), 'off');
    await second.stop();
    assert.ok(isStopped(second.cluster));
  });

  test('a throwaway server and its folder are removed with the process that started it', async (t) => {
    const server = await startThrowawayPostgres();
    atEnd(t, () => server.stop());
    assert.equal(await show(server, 'fsync'), 'off');
    await server.stop();
    assert.ok(!existsSync(join(server.cluster, '..')));

    const program = join(temporaryFolder(t), 'throwaway.ts');
    const source = join(import.meta.dirname, 'testing.ts');
    writeFileSync(
      program,
      `import { startThrowawayPostgres } from ${JSON.stringify(source)};
       const server = await startThrowawayPostgres();
       process.stdout.write(JSON.stringify({ event: 'ready', cluster: server.cluster }) + '\\n');
       setInterval(() => undefined, 1000);`,
    );
    const service = startService(t, {}, { program });
    const { cluster } = await service.ready();
    await service.kill();
    await until('the folder is gone', () => !existsSync(join(cluster, '..')));
    assert.deepEqual(processesUnder(cluster), []);
  });
});
