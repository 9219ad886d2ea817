// Runs three database nodes (PostgreSQL, Patroni, etcd) and HAProxy on one machine, from the files of this folder, each
// node in a separate network namespace, and does to them what machines and networks do.
// It must run in a private network and mount namespace: drill.ts makes one.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export const nodeNames = ['node1', 'node2', 'node3'] as const;
export type NodeName = (typeof nodeNames)[number];

/** Where HAProxy leads to the primary. */
export const primaryAddress = { host: '127.0.0.1', port: 6432 };

const gateway = '10.77.0.1';
const addressOf = (node: NodeName): string => `10.77.0.1${node.at(-1)}`;
const own = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8');
const START_LIMIT_MS = 120_000;

type Member = { Member: string; Host: string; Role: string; State: string; 'Lag in MB'?: number };

export type Cluster = {
  /** The superuser's password of every node, for this run. */
  password: string;
  /** The members as Patroni sees them, from a node that answers. */
  members(): Member[];
  primary(): NodeName;
  /** Ends everything on the node at once, as a power failure does. */
  crash(node: NodeName): void;
  /** Starts the node's etcd and Patroni. */
  start(node: NodeName): void;
  /** Drops every packet between the node and the given others ("client" is HAProxy and the service). */
  cut(node: NodeName, from: readonly (NodeName | 'client')[]): void;
  /** Undoes `cut`. */
  heal(node: NodeName): void;
  /** Hands the role of the primary to another node. */
  switchOver(to: NodeName): void;
  /** Resolves when one node is the primary, one its synchronous standby, and `count` are running. */
  settled(count: number): Promise<void>;
  stop(): void;
};

const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const ip = (...args: string[]): string => run('ip', ...args);

function buildNetwork(): void {
  ip('link', 'set', 'lo', 'up');
  ip('link', 'add', 'bridge', 'type', 'bridge');
  ip('addr', 'add', `${gateway}/24`, 'dev', 'bridge');
  ip('link', 'set', 'bridge', 'up');
  for (const node of nodeNames) {
    ip('netns', 'add', node);
    ip('link', 'add', `to-${node}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', node);
    ip('link', 'set', `to-${node}`, 'master', 'bridge', 'up');
    ip('-n', node, 'addr', 'add', `${addressOf(node)}/24`, 'dev', 'eth0');
    ip('-n', node, 'link', 'set', 'lo', 'up');
    ip('-n', node, 'link', 'set', 'eth0', 'up');
  }
}

/** Starts the cluster in `folder`, with the logs of its programs in `folder/log`. Resolves when all nodes run. */
export async function startCluster(folder: string): Promise<Cluster> {
  const uid = Number(run('id', '-u', 'postgres'));
  const gid = Number(run('id', '-g', 'postgres'));
  const passwords = {
    PATRONI_SUPERUSER_PASSWORD: randomBytes(18).toString('base64url'),
    PATRONI_REPLICATION_PASSWORD: randomBytes(18).toString('base64url'),
    PATRONI_REWIND_PASSWORD: randomBytes(18).toString('base64url'),
  };
  for (const name of ['', 'log', ...nodeNames, ...nodeNames.map((node) => `${node}/socket`)]) {
    mkdirSync(join(folder, name), { recursive: true });
    chownSync(join(folder, name), uid, gid);
    chmodSync(join(folder, name), 0o755);
  }
  writeFileSync(join(folder, 'patroni.yml'), own('patroni.yml'));
  writeFileSync(join(folder, 'haproxy.cfg'), own('haproxy.cfg'));
  buildNetwork();

  const processes = new Map<NodeName, ChildProcess[]>();
  const logFile = (name: string): number => openSync(join(folder, 'log', name), 'a');

  const startIn = (node: NodeName, name: string, program: string[], env: Record<string, string>): void => {
    const output = logFile(`${node}-${name}`);
    // Every node has its own folder of sockets, as every machine has.
    const ownSockets = `mount --bind "${join(folder, node, 'socket')}" /run/postgresql && exec "$@"`;
    const asPostgres = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', ...program];
    const child = spawn('ip', ['netns', 'exec', node, 'sh', '-c', ownSockets, 'sh', ...asPostgres], {
      env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', ...env },
      stdio: ['ignore', output, output],
      cwd: folder,
    });
    closeSync(output);
    processes.set(node, [...(processes.get(node) ?? []), child]);
  };

  const environmentOf = (node: NodeName): Record<string, string> => ({
    ...Object.fromEntries(
      [...own('node.env').matchAll(/^(PATRONI_\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [
        name,
        value.replace(/^10\.77\.0\.11(?=:\d+$)/, addressOf(node)),
      ]),
    ),
    ...passwords,
    PATRONI_NAME: node,
    PATRONI_POSTGRESQL_DATA_DIR: join(folder, node, 'data'),
    PATRONI_POSTGRESQL_PGPASS: join(folder, node, 'pgpass'),
  });

  const start = (node: NodeName): void => {
    const at = (port: number): string => `http://${addressOf(node)}:${port}`;
    const peers = nodeNames.map((name) => `${name}=http://${addressOf(name)}:2380`).join(',');
    startIn(
      node,
      'etcd',
      [
        'etcd',
        `--name=${node}`,
        `--data-dir=${join(folder, node, 'etcd')}`,
        `--listen-peer-urls=${at(2380)}`,
        `--initial-advertise-peer-urls=${at(2380)}`,
        `--listen-client-urls=${at(2379)}`,
        `--advertise-client-urls=${at(2379)}`,
        `--initial-cluster=${peers}`,
        '--initial-cluster-token=castellan',
        '--enable-v2',
      ],
      {},
    );
    startIn(node, 'patroni', ['patroni', join(folder, 'patroni.yml')], environmentOf(node));
  };

  const patronictl = (...args: string[]): string => {
    const failures: string[] = [];
    for (const node of nodeNames) {
      const { PATH } = process.env;
      const result = spawnSync(
        'ip',
        ['netns', 'exec', node, 'patronictl', '-c', join(folder, 'patroni.yml'), ...args],
        { encoding: 'utf8', timeout: 30_000, env: { PATH, LC_ALL: 'C.UTF-8', ...environmentOf(node) } },
      );
      if (result.status === 0) return result.stdout;
      failures.push(`${node}: ${result.stderr || result.stdout}`);
    }
    throw new Error(`patronictl ${args[0]} failed on every node:\n${failures.join('\n')}`);
  };
  const members = (): Member[] => JSON.parse(patronictl('list', '--format', 'json')) as Member[];
  const primary = (): NodeName => {
    const name = members().find((member) => member.Role === 'Leader')?.Member;
    const node = nodeNames.find((known) => known === name);
    if (node === undefined) throw new Error('the cluster has no primary');
    return node;
  };

  const crash = (node: NodeName): void => {
    // All processes of the namespace, in one breath.
    const pids = ip('netns', 'pids', node).split('\n').filter(Boolean).map(Number);
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended with its parent.
      }
    }
    processes.delete(node);
  };

  const settled = async (count: number): Promise<void> => {
    const end = performance.now() + START_LIMIT_MS;
    let seen = 'no answer';
    while (performance.now() < end) {
      try {
        const now = members();
        seen = now.map(({ Member, Role, State }) => `${Member} ${Role} ${State}`).join(', ');
        const running = now.filter(({ State }) => /^(running|streaming)$/.test(State));
        const roles = running.map(({ Role }) => Role);
        if (running.length >= count && roles.includes('Leader') && roles.includes('Sync Standby')) return;
      } catch {
        // No node answers yet.
      }
      await pause(500);
    }
    throw new Error(`the cluster did not settle within ${START_LIMIT_MS / 1_000} s: ${seen}`);
  };

  for (const node of nodeNames) start(node);
  const balancer = spawn('haproxy', ['-f', join(folder, 'haproxy.cfg')], {
    stdio: ['ignore', logFile('haproxy'), logFile('haproxy')],
  });
  const stop = (): void => {
    balancer.kill('SIGKILL');
    for (const node of nodeNames) crash(node);
  };
  process.once('exit', stop);
  await settled(nodeNames.length);

  return {
    password: passwords.PATRONI_SUPERUSER_PASSWORD,
    members,
    primary,
    crash,
    start,
    cut(node, from) {
      for (const other of from) {
        const target = other === 'client' ? gateway : addressOf(other);
        ip('-n', node, 'route', 'add', 'blackhole', `${target}/32`);
      }
    },
    heal(node) {
      for (const line of ip('-n', node, 'route').split('\n')) {
        const target = /^blackhole (\S+)/.exec(line)?.[1];
        if (target !== undefined) ip('-n', node, 'route', 'del', 'blackhole', target);
      }
    },
    switchOver(to) {
      patronictl('switchover', '--master', primary(), '--candidate', to, '--force');
    },
    settled,
    stop,
  };
}
