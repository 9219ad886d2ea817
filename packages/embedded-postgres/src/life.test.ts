/**
 * Tests the properties of a started server and its recovery. Each test has its own cluster; it must not touch a server
 * that it did not start.
 */
import assert from 'node:assert/strict';
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import pg from 'pg';
import { settings, startService } from '../test/fixture.ts';
import { type EmbeddedOptions, type EmbeddedPostgres, startEmbeddedPostgres } from './index.ts';
import {
  atEnd,
  dataDirWithCluster,
  isStopped,
  killAll,
  postmasterPid,
  processesUnder,
  query,
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

describe('a started server', () => {
  test('is durable by default: fsync, full pages, checksums, synchronous commit', async (t) => {
    const server = await start(t, { settings: {} });
    for (const name of ['fsync', 'full_page_writes', 'data_checksums', 'synchronous_commit']) {
      assert.equal(await show(server, name), 'on', name);
    }
  });

  test('has a database in UTF-8, with the builtin locale for character classes and sorting', async (t) => {
    const server = await start(t);
    const [row] = await query(
      server.connection,
      `select current_database() as name, current_user as "user", pg_encoding_to_char(encoding) as encoding,
              datlocprovider as provider, datlocale as locale, upper('éß') as letters
       from pg_database where datname = current_database()`,
    );
    const expected = {
      name: 'castellan',
      user: 'castellan',
      encoding: 'UTF8',
      provider: 'b',
      locale: 'C.UTF-8',
    };
    assert.deepEqual(row, { ...expected, letters: 'Éß' });
    assert.match(server.description, /^PostgreSQL 18\.\d+, as user \S+, in \/.*\/data\/postgres$/);
  });

  test('listens on no network and only in a folder that is private to its user', async (t) => {
    const server = await start(t);
    assert.equal(await show(server, 'listen_addresses'), '');
    const folder = statSync(server.connection.host);
    assert.equal(folder.mode & 0o777, 0o700);
    assert.equal(folder.uid, statSync(server.cluster).uid);
  });

  test('accepts settings that replace the defaults, but none that opens it to the network', async (t) => {
    const server = await start(t, {
      settings: { ...settings, max_connections: '33', listen_addresses: '*' },
    });
    assert.equal(await show(server, 'max_connections'), '33');
    assert.equal(await show(server, 'listen_addresses'), '');
  });

  test('gets no environment variable of the service', async (t) => {
    const dataDir = await dataDirWithCluster(t);
    const env = { SECRET_KEY: 'do-not-tell', PGSSLMODE: 'require', PGOPTIONS: '' };
    const service = startService(t, { dataDir, settings }, { env });
    const { cluster } = await service.ready();
    const environment = readFileSync(`/proc/${postmasterPid(cluster)}/environ`, 'utf8').split('\0');
    const names = environment.map((entry) => entry.split('=')[0]).filter(Boolean);
    assert.deepEqual(
      names.filter(
        (name) => !/^(PATH|LC_ALL|TZ|HOME|PG_GRANDPARENT_PID|PGLOCALEDIR|PGSYSCONFDIR|PWD)$/.test(name ?? ''),
      ),
      [],
    );
    await service.stop();
  });

  test('does not log errors of statements, which contain personal data', async (t) => {
    const server = await start(t);
    await query(server.connection, 'create table people (email text unique)');
    const insert = "insert into people values ('someone@example.org')";
    await query(server.connection, insert);
    await assert.rejects(query(server.connection, insert), /duplicate key/);
    const log = readFileSync(join(server.cluster, '..', 'postgres.log'), 'utf8');
    assert.match(log, /ready to accept connections/);
    assert.doesNotMatch(log, /example\.org|duplicate/);
  });

  test('limits the size of its log', async (t) => {
    const server = await start(t);
    await server.stop();
    const log = join(server.cluster, '..', 'postgres.log');
    writeFileSync(log, 'x');
    truncateSync(log, 5_000_000);
    const again = await start(t, { dataDir: join(server.cluster, '..') });
    assert.ok(statSync(log).size < 100_000);
    await again.stop();
  });
});

describe('a server recovers', () => {
  test('Ctrl-C to the whole process group does not stop the server of a draining service', async (t) => {
    const service = startService(t, { dataDir: await dataDirWithCluster(t), settings });
    const { cluster, connection } = await service.ready();
    process.kill(-service.pid, 'SIGINT');
    await service.heard('interrupted');
    assert.deepEqual(await query(connection, 'select 1 as one'), [{ one: 1 }]);
    assert.equal(
      service.told.some((entry) => entry.line?.includes('lost')),
      false,
    );
    await service.stop();
    assert.ok(isStopped(cluster));
  });

  test('a killed service leaves a server that the next one joins and stops', async (t) => {
    const dataDir = await dataDirWithCluster(t);
    const service = startService(t, { dataDir, settings });
    const { cluster, connection } = await service.ready();
    await service.kill();
    await query(connection, 'create table written_to_the_orphan ()');
    const next = startService(t, { dataDir, settings });
    assert.equal((await next.ready()).joined, true);
    await next.stop();
    assert.ok(isStopped(cluster));
  });

  test('a killed server is restarted, for the process that started it and the one that joined', async (t) => {
    const dataDir = await dataDirWithCluster(t);
    const owner = startService(t, { dataDir, settings });
    const { cluster, connection } = await owner.ready();
    const joiner = startService(t, { dataDir, settings });
    await joiner.ready();
    const before = postmasterPid(cluster);
    process.kill(before, 'SIGKILL');
    await Promise.all([owner.heard('restarted'), joiner.heard('restarted')]);
    assert.notEqual(postmasterPid(cluster), before);
    assert.deepEqual(await query(connection, 'select 1 as one'), [{ one: 1 }]);
    await owner.stop();
    assert.deepEqual(await query(connection, 'select 1 as one'), [{ one: 1 }]);
    await joiner.stop();
    assert.ok(isStopped(cluster));
  });

  test('a server that is killed repeatedly is restarted each time', async (t) => {
    const service = startService(t, { dataDir: await dataDirWithCluster(t), settings });
    const { cluster, connection } = await service.ready();
    for (let round = 1; round <= 4; round += 1) {
      process.kill(postmasterPid(cluster), 'SIGKILL');
      const restarts = (): number => service.told.filter((entry) => entry.event === 'restarted').length;
      await until(`restart ${round}`, () => restarts() === round);
      assert.deepEqual(await query(connection, 'select 1 as one'), [{ one: 1 }]);
    }
    await service.stop();
    assert.ok(isStopped(cluster));
  });

  test('a server killed during a busy session, which does not notice, is restarted', async (t) => {
    const restarts: number[] = [];
    const server = await start(t, { onRestart: () => restarts.push(1) });
    const client = new pg.Client(server.connection);
    client.on('error', () => undefined);
    await client.connect();
    const [{ pid }] = (await client.query('select pg_backend_pid() as pid')).rows as [{ pid: number }];
    const busy = assert.rejects(client.query('select count(*) from generate_series(1, 100000000000)'));
    await until('the session is busy', async () => {
      const rows = await query(
        server.connection,
        `select 1 from pg_stat_activity where pid = ${pid} and state = 'active'`,
      );
      return rows.length === 1;
    });
    process.kill(postmasterPid(server.cluster), 'SIGKILL');
    await until('it is back', () => restarts.length === 1);
    await busy;
    assert.deepEqual(await query(server.connection, 'select 1 as one'), [{ one: 1 }]);
  });

  test('a server that recovers from a crashed session is joined again, not started twice', async (t) => {
    const restarts: number[] = [];
    const server = await start(t, { onRestart: () => restarts.push(1) });
    const before = postmasterPid(server.cluster);
    const [row] = await query(
      server.connection,
      "select pid from pg_stat_activity where application_name = 'castellan-keeper'",
    );
    process.kill(Number(row?.pid), 'SIGKILL');
    await until('it is back', () => restarts.length === 1);
    assert.equal(postmasterPid(server.cluster), before);
  });

  test('a stop during a restart leaves no server behind', async (t) => {
    for (const victim of ['postmaster', 'session'] as const) {
      const server = await start(t);
      const [row] = await query(
        server.connection,
        "select pid from pg_stat_activity where application_name = 'castellan-keeper'",
      );
      process.kill(victim === 'session' ? Number(row?.pid) : postmasterPid(server.cluster), 'SIGKILL');
      await server.stop();
      await until(
        `none is left after the ${victim} was killed`,
        () => processesUnder(server.cluster).length === 0,
      );
    }
  });

  test('killing all processes loses no acknowledged commit', async (t) => {
    const dataDir = await dataDirWithCluster(t);
    let acknowledged = 0;
    for (let round = 0; round < 3; round += 1) {
      const service = startService(t, { dataDir });
      const { cluster, connection } = await service.ready();
      const rows = await query(connection, "select to_regclass('written') as name");
      if (rows[0]?.name) {
        const [found] = await query(
          connection,
          'select count(*)::int as count, max(number)::int as last from written',
        );
        assert.ok(Number(found?.last) >= acknowledged, `${acknowledged} acknowledged, ${found?.last} there`);
        assert.equal(found?.count, found?.last);
        await query(connection, 'drop table written');
      }
      service.say('write');
      await until(
        'some hundred commits',
        () => service.told.filter((entry) => entry.event === 'acknowledged').length > 200,
      );
      await service.kill();
      killAll(cluster);
      acknowledged = service.told.filter((entry) => entry.event === 'acknowledged').at(-1)?.number ?? 0;
    }
  });
});
