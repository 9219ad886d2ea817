/**
 * Tests starts after every kind of end, and by several processes at once. They must not end a process that they did not
 * start.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { settings, startService } from '../test/fixture.ts';
import { startEmbeddedPostgres } from './index.ts';
import { tryStartLock } from './processes/start-lock.ts';
import { bufferMegabytes } from './start.ts';
import {
  atEnd,
  dataDirWithCluster,
  isStopped,
  killAll,
  postmasterPid,
  processesUnder,
  query,
  temporaryFolder,
  until,
} from './testing.ts';

const socketLock = '.s.PGSQL.5432.lock';

/** Creates a cluster with a table `kept`, whose server and service were killed; its lock files name the dead server. */
async function killedCluster(t: TestContext): Promise<{ dataDir: string; cluster: string }> {
  const dataDir = await dataDirWithCluster(t);
  const service = startService(t, { dataDir, settings });
  const { cluster, connection } = await service.ready();
  await query(connection, 'create table kept as select 7 as number');
  await service.kill();
  killAll(cluster);
  await until('all is dead', () => processesUnder(cluster).length === 0);
  assert.ok(existsSync(join(cluster, 'postmaster.pid')));
  return { dataDir, cluster };
}

async function startsWithItsData(t: TestContext, dataDir: string): Promise<void> {
  const server = await startEmbeddedPostgres({ dataDir, settings });
  atEnd(t, () => server.stop());
  assert.equal(server.joined, false);
  assert.deepEqual(await query(server.connection, 'select number from kept'), [{ number: 7 }]);
  await server.stop();
  assert.ok(isStopped(server.cluster));
}

/** Puts another process id into both lock files of a dead server. */
function nameInLocks(cluster: string, pid: number): void {
  for (const name of ['postmaster.pid', socketLock]) {
    const path = join(cluster, name);
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^\d+/, String(pid)));
  }
}

function startOther(t: TestContext, script: string, uid: number): ChildProcess {
  const child = spawn('/bin/sh', ['-c', script], {
    cwd: '/',
    stdio: 'ignore',
    ...(process.geteuid?.() === 0 ? { uid } : {}),
  });
  atEnd(t, () => child.kill('SIGKILL'));
  return child;
}

describe('a start after the last server was killed', () => {
  test('works when its process is gone', async (t) => {
    const { dataDir } = await killedCluster(t);
    await startsWithItsData(t, dataDir);
  });

  test('works when another program of the same user has its process id, and does not touch it', async (t) => {
    const { dataDir, cluster } = await killedCluster(t);
    const other = startOther(t, 'exec sleep 300', statSync(cluster).uid);
    nameInLocks(cluster, other.pid ?? 0);
    await startsWithItsData(t, dataDir);
    assert.equal(other.exitCode ?? other.signalCode, null);
  });

  test('works when its process is a zombie that is not reaped', async (t) => {
    const { dataDir, cluster } = await killedCluster(t);
    const parent = startOther(t, 'sleep 0 & exec sleep 300', statSync(cluster).uid);
    let zombie = 0;
    await until('there is a zombie', () => {
      const children = readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, 'utf8').trim();
      zombie = Number(children);
      return zombie > 0 && /\) Z /.test(readFileSync(`/proc/${zombie}/stat`, 'utf8'));
    });
    nameInLocks(cluster, zombie);
    await startsWithItsData(t, dataDir);
  });

  test('works when the service itself has its process id', async (t) => {
    const { dataDir, cluster } = await killedCluster(t);
    nameInLocks(cluster, process.pid);
    await startsWithItsData(t, dataDir);
  });

  test('works when a lost disk write left its pid file empty', async (t) => {
    const { dataDir, cluster } = await killedCluster(t);
    writeFileSync(join(cluster, 'postmaster.pid'), '');
    await startsWithItsData(t, dataDir);
  });

  test('ends a busy session of the dead server, which would prevent a new one', async (t) => {
    const dataDir = await dataDirWithCluster(t);
    const service = startService(t, { dataDir, settings });
    const { cluster, connection } = await service.ready();
    await query(connection, 'create table kept as select 7 as number');
    const busy = assert.rejects(query(connection, 'select count(*) from generate_series(1, 100000000000)'));
    await until('the session is busy', async () => {
      const rows = await query(
        connection,
        "select from pg_stat_activity where state = 'active' and query like '%series%' and pid <> pg_backend_pid()",
      );
      return rows.length > 0;
    });
    await service.kill();
    process.kill(postmasterPid(cluster), 'SIGKILL');
    await startsWithItsData(t, dataDir);
    await busy;
  });
});

test('a first start that was killed during initdb does not disturb the next one', async (t) => {
  const dataDir = join(temporaryFolder(t), 'data');
  const service = startService(t, { dataDir, settings });
  const unfinished = (): string[] =>
    existsSync(dataDir) ? readdirSync(dataDir).filter((name) => name.startsWith('postgres.init-')) : [];
  await until('initdb runs', () =>
    unfinished().some((name) => existsSync(join(dataDir, name, 'PG_VERSION'))),
  );
  await service.kill();
  assert.ok(!existsSync(join(dataDir, 'postgres')));
  const server = await startEmbeddedPostgres({ dataDir, settings });
  atEnd(t, () => server.stop());
  assert.equal(server.joined, false);
  assert.deepEqual(unfinished(), []);
});

test('of eight simultaneous first starts on one folder, one starts the server and seven join', async (t) => {
  const dataDir = join(temporaryFolder(t), 'data');
  const services = Array.from({ length: 8 }, () => startService(t, { dataDir, settings }));
  const ready = await Promise.all(services.map((service) => service.ready()));
  assert.equal(ready.filter((one) => !one.joined).length, 1);
  assert.equal(new Set(ready.map((one) => one.connection.host)).size, 1);
  const left = readdirSync(dataDir).filter((name) => name.startsWith('postgres.starting'));
  assert.deepEqual(left, []);
  await Promise.all(services.map((service) => service.stop()));
  assert.ok(isStopped(ready[0]!.cluster));
});

test('of eight simultaneous starts after all processes were killed, one starts the server and seven join', async (t) => {
  const { dataDir, cluster } = await killedCluster(t);
  const services = Array.from({ length: 8 }, () => startService(t, { dataDir, settings }));
  const ready = await Promise.all(services.map((service) => service.ready()));
  assert.equal(ready.filter((one) => !one.joined).length, 1);
  await Promise.all(services.map((service) => service.stop()));
  assert.ok(isStopped(cluster));
});

describe('the start lock', () => {
  test('is held by one process, and free again after its release', (t) => {
    const folder = temporaryFolder(t);
    const release = tryStartLock(folder);
    assert.ok(release);
    assert.equal(tryStartLock(folder), undefined);
    release();
    tryStartLock(folder)?.();
    assert.deepEqual(readdirSync(folder), []);
  });

  test('is free when its holder has died, even if the process id is reused', async (t) => {
    const folder = temporaryFolder(t);
    const release = tryStartLock(folder);
    const [claim = ''] = readdirSync(folder);
    release?.();
    const dead = spawn('/bin/true');
    await once(dead, 'exit');
    writeFileSync(join(folder, claim.replace(`-${process.pid}-`, `-${dead.pid}-`)), '');
    const [, birth] = /-(\d+)-\d+$/.exec(claim) ?? [];
    writeFileSync(join(folder, claim.replace(`-${birth}-`, `-${Number(birth) - 1}-`)), '');
    const again = tryStartLock(folder);
    assert.ok(again);
    again();
    assert.deepEqual(readdirSync(folder), []);
  });

  test("respects another container's claim while it is fresh, because its process cannot be seen", (t) => {
    const folder = temporaryFolder(t);
    const claim = join(folder, 'postgres.starting-1-1-1-1');
    writeFileSync(claim, '');
    assert.equal(tryStartLock(folder), undefined);
    const longAgo = statSync(claim).mtimeMs / 1000 - 120;
    utimesSync(claim, longAgo, longAgo);
    assert.ok(tryStartLock(folder));
  });
});

test("PostgreSQL's own cache is an eighth of the memory, within bounds", () => {
  const gigabyte = 2 ** 30;
  assert.deepEqual(
    [0.25, 0.5, 0.75, 1, 2, 64].map((size) => bufferMegabytes(size * gigabyte)),
    [64, 64, 96, 128, 256, 256],
  );
});
