// The failover drill: two instances of the service on three PostgreSQL nodes under Patroni, etcd and HAProxy, while nodes
// crash, are cut off and hand over. Prints a Markdown table, and ends with 1 if an acknowledged write was lost, an ended
// session lived again, or the service did not come back by itself.
// `sudo npm run drill`, about three minutes, on a Debian with: patroni etcd-server python3-etcd haproxy postgresql.
// It uses no network but its own: `unshare` gives it one that nothing else can reach.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { markdown } from '../../bench/report/table.ts';
import { type Service, startService } from '../../bench/service/service.ts';
import { type Cluster, type NodeName, nodeNames, primaryAddress, startCluster } from './cluster.ts';
import { ask, type Load, startLoad } from './load.ts';

const QUIET_MS = 5_000;
const RECOVERY_LIMIT_MS = 90_000;
const WRITES_AFTERWARDS = 20;
const account = { email: 'admin@example.com', password: randomBytes(18).toString('base64url') };

type Fault = {
  name: string;
  /** Breaks something. Returns what mends it. */
  happen(cluster: Cluster): Promise<() => void> | (() => void);
};

const othersThan = (node: NodeName): NodeName[] => nodeNames.filter((other) => other !== node);
const standby = (cluster: Cluster): NodeName => {
  const name = cluster.members().find(({ Role }) => Role === 'Sync Standby')?.Member;
  const node = nodeNames.find((known) => known === name);
  if (node === undefined) throw new Error('the cluster has no synchronous standby');
  return node;
};

const faults: Fault[] = [
  { name: 'quiet', happen: async () => () => undefined },
  {
    name: 'planned switch-over',
    happen(cluster) {
      cluster.switchOver(standby(cluster));
      return () => undefined;
    },
  },
  {
    name: 'power failure of the primary (`kill -9` of all its processes)',
    happen(cluster) {
      const node = cluster.primary();
      cluster.crash(node);
      return () => cluster.start(node);
    },
  },
  {
    name: 'power failure of the synchronous standby',
    happen(cluster) {
      const node = standby(cluster);
      cluster.crash(node);
      return () => cluster.start(node);
    },
  },
  {
    name: 'primary cut off from everything',
    happen(cluster) {
      const node = cluster.primary();
      cluster.cut(node, [...othersThan(node), 'client']);
      return () => cluster.heal(node);
    },
  },
  {
    name: 'primary cut off from the other nodes, not from the service',
    happen(cluster) {
      const node = cluster.primary();
      cluster.cut(node, othersThan(node));
      return () => cluster.heal(node);
    },
  },
];

/** How many acknowledged roles are missing. */
async function lostRoles(databaseUrl: string, ids: readonly string[]): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ lost: number }>(
    'select count(*)::int as lost from unnest($1::uuid[]) as told (id) left join roles using (id) where roles.id is null',
    [ids],
  );
  await client.end();
  return rows[0]?.lost ?? ids.length;
}

/** How many tokens of ended sessions are accepted by an instance. */
async function revivedSessions(service: Service, ended: Load['ended']): Promise<number> {
  let revived = 0;
  for (const access of ended) {
    const { status } = await ask(`${service.url}/api/v1/users/me`, 'GET', {
      authorization: `Bearer ${access}`,
    });
    if (status !== 401) revived += 1;
  }
  return revived;
}

const shown = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([status, times]) => `${times} × ${status}`)
    .join(', ');

async function drill(folder: string): Promise<boolean> {
  const cluster = await startCluster(folder);
  const { host, port } = primaryAddress;
  const connect = (user: string, password: string, database: string): string =>
    `postgres://${user}:${password}@${host}:${port}/${database}`;
  const owner = new pg.Client({ connectionString: connect('postgres', cluster.password, 'postgres') });
  const password = randomBytes(18).toString('base64url');
  await owner.connect();
  await owner.query(`create role castellan login password '${password}'`);
  await owner.query('create database castellan owner castellan');
  await owner.end();
  const databaseUrl = connect('castellan', password, 'castellan');

  const settings = {
    DATABASE_URL: databaseUrl,
    FIRST_SUPERUSER_PASSWORD: account.password,
    RATE_LIMIT_USER: 'off',
    CONCURRENT_SESSION_LIMIT: '0',
    DATA_DIR: folder,
  };
  const services = [await startService(settings), await startService(settings)];
  const load = await startLoad(
    services.map(({ url }) => url),
    account,
  );

  const rows: string[][] = [];
  let sound = true;
  for (const fault of faults) {
    await load.writesAgain(WRITES_AFTERWARDS, RECOVERY_LIMIT_MS);
    load.begin();
    const mend = await fault.happen(cluster);
    // A fault that is noticed late shows itself after some time, so the first writes after it prove nothing.
    await pause(QUIET_MS);
    await load.writesAgain(WRITES_AFTERWARDS, RECOVERY_LIMIT_MS);
    // The nodes that are left agree on a primary, then the broken one comes back and catches up.
    await cluster.settled(2);
    await load.writesAgain(WRITES_AFTERWARDS, RECOVERY_LIMIT_MS);
    mend();
    await cluster.settled(nodeNames.length);
    await load.writesAgain(WRITES_AFTERWARDS, RECOVERY_LIMIT_MS);
    const { reads, writes, longestWithoutWrite } = load.period();
    const lost = await lostRoles(databaseUrl, load.roles);
    const revived = await revivedSessions(services[0] as Service, [...load.ended]);
    sound &&= lost === 0 && revived === 0;
    rows.push([
      fault.name,
      longestWithoutWrite.toFixed(1),
      shown(writes),
      shown(reads),
      `${lost} of ${load.roles.length}`,
      `${revived} of ${load.ended.length}`,
    ]);
    process.stderr.write(`${fault.name}: ${lost} lost, ${revived} alive\n`);
  }
  await load.stop();
  for (const service of services) await service.stop();
  cluster.stop();
  process.stdout.write(
    markdown(
      [
        'Fault',
        'longest time without a write, s',
        'writes by status',
        'reads by status',
        'acknowledged roles lost',
        'ended sessions alive',
      ],
      rows,
    ),
  );
  return sound;
}

const isInside = process.argv.includes('--inside');
if (isInside) {
  // Ends the nodes as well (`exit` in cluster.ts).
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  const folder = mkdtempSync(join(tmpdir(), 'castellan-drill-'));
  chmodSync(folder, 0o755);
  const keepLogs = (): void => {
    process.stderr.write(`The logs of the nodes are in ${join(folder, 'log')}.\n`);
  };
  const sound = await drill(folder).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    keepLogs();
    process.exit(1);
  });
  if (sound) rmSync(folder, { recursive: true, force: true });
  else keepLogs();
  process.exit(sound ? 0 : 1);
}
const own = fileURLToPath(import.meta.url);
const inside = `mkdir -p /run/netns && mount -t tmpfs none /run/netns && exec "$@"`;
const { status } = spawnSync(
  'unshare',
  ['--net', '--mount', 'sh', '-c', inside, 'sh', process.execPath, own, '--inside'],
  { stdio: 'inherit' },
);
process.exitCode = status ?? 1;
