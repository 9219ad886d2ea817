// Replaces the instances of one version by those of another, one at a time, and back, under load and on one database: no
// request may fail. The second version is this one, with one more migration, which expands the schema. What both versions did
// must be in the change feed, told to a webhook, and sealed in the audit log.
//   node scripts/release/rolling-upgrade.ts [--from=<commit>] [--server]     default: the last release, the embedded PostgreSQL
// Needs a checkout with history. --server: the PostgreSQL of TEST_DATABASE_URL (default: 127.0.0.1:5432).
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { fetchCsrf, type Service, startService } from '../../bench/service/service.ts';
import { ask, dataOf, startLoad } from '../../deploy/ha/load.ts';
import { onOwnDatabase } from '../checks/own-database.ts';
import { tellLastRelease } from './last-release.ts';
import { layOutVersion } from './version-tree.ts';
import { judgeAuditLog, startWitnesses, type Witnesses } from './witnesses.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const account = { email: 'admin@example.com', password: 'Vexing#Quartz82Lime' };
const INSTANCES = 2;
/** The default of the service. */
const GRACE_SECONDS = 5;
/** Well below GRACE_SECONDS, as monitor.md asks of a load balancer, also where other programs take most of the machine. */
const CHECK_MS = 200;
/** Acknowledged writes that must pass between two replacements. */
const WRITES = 20;

type Balancer = { url: string; add(url: string): Promise<void>; close(): Promise<void> };

/**
 * Hands each connection to the next instance that is ready, as a load balancer with health checks does. It tries another
 * instance when a connection is refused, before any byte of a request.
 */
async function startBalancer(): Promise<Balancer> {
  const instances: string[] = [];
  let ready: string[] = [];
  let turn = 0;
  const isReady = (url: string): Promise<boolean> =>
    fetch(`${url}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  const check = async (): Promise<void> => {
    const states = await Promise.all(instances.map(isReady));
    ready = instances.filter((_, index) => states[index]);
  };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    sockets.add(client);
    client.on('error', () => client.destroy()).on('close', () => sockets.delete(client));
    const forward = (targetsLeft: number): void => {
      const target = ready[turn++ % ready.length];
      if (target === undefined || targetsLeft === 0) return void client.destroy();
      const { hostname, port } = new URL(target);
      const upstream = connect(Number(port), hostname);
      sockets.add(upstream);
      upstream.on('close', () => sockets.delete(upstream));
      const tryNext = () => forward(targetsLeft - 1);
      upstream.once('error', tryNext).once('connect', () => {
        upstream.off('error', tryNext).on('error', () => client.destroy());
        client.on('close', () => upstream.destroy());
        client.pipe(upstream).pipe(client);
      });
    };
    forward(ready.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the balancer listens on no port');
  let isClosed = false;
  const checks = (async () => {
    // One after the other: a slow answer must not replace a newer one.
    for (; !isClosed; await pause(CHECK_MS)) await check();
  })();
  return {
    url: `http://127.0.0.1:${address.port}`,
    async add(url) {
      instances.push(url);
      while (!ready.includes(url)) await pause(CHECK_MS);
    },
    async close() {
      isClosed = true;
      await checks;
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Whether the migrations that `newer` has and `older` lacks all expand the schema. */
function onlyExpands(older: string, newer: string): boolean {
  const folderOf = (tree: string): string => join(tree, 'packages/server/migrations');
  const known = new Set(readdirSync(folderOf(older)));
  return readdirSync(folderOf(newer))
    .filter((file) => file.endsWith('.sql') && !known.has(file))
    .every((file) => readFileSync(join(folderOf(newer), file), 'utf8').startsWith('-- Phase: expand'));
}

/** Creates what only this version knows, so that the way back is tried with it: an application, which brings its keys. */
async function createApplication(url: string): Promise<void> {
  const api = `${url}/api/v1`;
  const csrf = await fetchCsrf(url);
  const authorization = `Bearer ${dataOf(await ask(`${api}/auth/login`, 'POST', csrf, account), 'access_token')}`;
  const body = { client_id: 'rolling-upgrade', name: 'Rolling upgrade' };
  dataOf(await ask(`${api}/applications`, 'POST', { ...csrf, authorization }, body), 'id');
}

async function rehearse(folder: string, databaseUrl: string, from: string): Promise<void> {
  const [older, newer] = [join(folder, 'older'), join(folder, 'newer')];
  layOutVersion(root, from, older);
  layOutVersion(root, 'HEAD', newer);
  writeFileSync(
    join(newer, 'packages/server/migrations/9999-rolling-upgrade.sql'),
    '-- Phase: expand\nalter table users add column rolling_upgrade text;\n',
  );
  const balancer = await startBalancer();
  const running: Service[] = [];
  const environment = {
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder, 'data'),
    SECRET_KEY: 'a secret key for rolling upgrades, 32 bytes or more',
  };
  let witnesses: Witnesses | undefined;
  const launch = async (tree: string): Promise<Service> => {
    const service = await startService(
      {
        ...environment,
        PUBLIC_URL: balancer.url,
        RATE_LIMIT_USER: 'off',
        CONCURRENT_SESSION_LIMIT: '0',
        DATABASE_POOL_SIZE: '8',
        SHUTDOWN_GRACE_SECONDS: String(GRACE_SECONDS),
        LOG_LEVEL: 'error',
      },
      join(tree, 'packages/server/start.mjs'),
    );
    running.push(service);
    await balancer.add(service.url);
    return service;
  };
  try {
    let current = [];
    for (let number = 0; number < INSTANCES; number += 1) current.push(await launch(older));
    const load = await startLoad([balancer.url], account);
    const ways = onlyExpands(older, newer) ? [newer, older] : [newer];
    for (const tree of ways) {
      load.begin();
      const next = [];
      for (const old of current) {
        const started = await launch(tree);
        next.push(started);
        // From here on, instances of both versions write.
        if (tree === newer)
          witnesses ??= await startWitnesses({ url: balancer.url, newer: started.url }, account, load);
        await load.writesAgain(WRITES, 60_000);
        running.splice(running.indexOf(old), 1);
        await old.stop();
        await load.writesAgain(WRITES, 60_000);
      }
      current = next;
      if (tree === newer) await createApplication(balancer.url);
      const { reads, writes, longestWithoutWrite } = load.period();
      const name = tree === newer ? `${from} to this version` : `back to ${from}`;
      process.stdout.write(
        `${name}: reads ${JSON.stringify(reads)}, writes ${JSON.stringify(writes)}, at most ${longestWithoutWrite.toFixed(2)} s without a write\n`,
      );
      const failed = Object.keys({ ...reads, ...writes }).filter((status) => !/^2\d\d$/.test(status));
      if (failed.length > 0) throw new Error(`requests failed with ${failed.join(', ')}`);
    }
    // Somebody has to tell of what the earlier version has done since.
    if (ways.length > 1) await launch(newer);
    await load.stop();
    process.stdout.write(`${await witnesses?.judge()}\n`);
    await witnesses?.close();
    process.stdout.write(`${await judgeAuditLog(newer, environment, load.roles)}\n`);
    if (ways.length === 1) process.stdout.write(`not back: this version contracts the schema of ${from}\n`);
  } finally {
    await witnesses?.close();
    await Promise.allSettled(running.map((service) => service.stop()));
    await balancer.close();
  }
}

const given = process.argv.find((one) => one.startsWith('--from='))?.slice('--from='.length);
const from = given ?? tellLastRelease(root);
const folder = mkdtempSync(join(tmpdir(), 'castellan-rolling-'));
try {
  await onOwnDatabase(process.argv, 'castellan_rolling', (url) => rehearse(folder, url, from));
} finally {
  rmSync(folder, { recursive: true });
}
