/**
 * Helpers for tests with real servers: a throwaway PostgreSQL, temporary folders, clean-up steps, processes.
 * It must leave no folder, mount or server behind, whatever a test did.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import {
  defaultSystemDir,
  type EmbeddedConnection,
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from './index.ts';
import { findCluster, ownerOf, systemHome } from './location/location.ts';

/** Whether the tests run as root, which some faults need: another user, a small disk. */
export const root = process.geteuid?.() === 0;

/** Commits survive a crash of the server, but not of the machine. */
export const throwawaySettings = { fsync: 'off', full_page_writes: 'off' };

/**
 * The folder in which the processes of a run share a DATA_DIR with an empty cluster; scripts/test.ts names it. A copy
 * takes an eighth of the CPU time of initdb.
 */
const sharedDataDir = process.env.TEST_DATA_DIR;

/** Enough for the pools of many test files at once. */
const manyConnections = { max_connections: '200' };

// Waits until the process at the other end of the pipe has ended, then stops the server ($1) and removes its folder
// ($2).
const watchdog = `cat >/dev/null
file="$1/postmaster.pid"
test -f "$file" && kill -INT "$(head -n 1 "$file")"
for i in 1 2 3 4 5 6 7 8 9 10; do test -f "$file" && sleep 1; done
rm -rf "$2"`;

/**
 * Starts a PostgreSQL in a temporary folder, without fsync. It stops with the process that started it, however that
 * ends. `stop()` also removes the data. `settings` replace throwawaySettings.
 */
export async function startThrowawayPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<EmbeddedPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-throwaway-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  try {
    await copyCluster(folder);
    const server = await startEmbeddedPostgres({
      dataDir: folder,
      settings: { ...throwawaySettings, ...manyConnections, ...settings },
    });
    const guard = spawn('/bin/sh', ['-c', watchdog, 'sh', server.cluster, folder], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    guard.unref();
    if (guard.stdin instanceof Socket) guard.stdin.unref();
    return {
      ...server,
      async stop() {
        await server.stop();
        remove();
        guard.stdin.end();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Returns a DATA_DIR that has a cluster, for tests that are not about creating one. It is removed after the test. */
export async function dataDirWithCluster(t: TestContext): Promise<string> {
  const dataDir = join(temporaryFolder(t), 'data');
  await copyCluster(dataDir);
  return dataDir;
}

/** Copies the shared cluster. Does nothing outside of a run of scripts/test.ts: the first start creates a cluster. */
async function copyCluster(dataDir: string): Promise<void> {
  if (sharedDataDir === undefined) return;
  if (!existsSync(sharedDataDir)) await makeShared(sharedDataDir);
  mkdirSync(dataDir, { recursive: true });
  // Owners and modes must stay: as root, the cluster belongs to another user.
  execFileSync('cp', ['-a', `${sharedDataDir}/.`, dataDir]);
}

async function makeShared(shared: string): Promise<void> {
  const unfinished = mkdtempSync(`${shared}-`);
  chmodSync(unfinished, 0o755);
  const dataDir = join(unfinished, 'data');
  const server = await startEmbeddedPostgres({ dataDir, settings: throwawaySettings });
  await server.stop();
  // A cluster in the system folder belongs to one DATA_DIR: then nothing is shared.
  const isInside = existsSync(join(dataDir, 'postgres'));
  if (!isInside) await removeSystemHome(dataDir);
  const made = isInside ? dataDir : mkdtempSync(join(unfinished, 'empty-'));
  try {
    renameSync(made, shared);
  } catch (error) {
    // Another process was faster.
    if (!existsSync(shared)) throw error;
  }
  rmSync(unfinished, { recursive: true, force: true });
}

const undone = new WeakMap<TestContext, (() => unknown)[]>();

/** Runs a step after the test, the last registered first, so that services stop before their folders are removed. */
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

/** Creates a folder that every user can traverse. It is removed after the test, with the servers in it. */
export function temporaryFolder(t: TestContext, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'castellan-embedded-'));
  chmodSync(folder, 0o755);
  atEnd(t, async () => {
    await endAll(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

/**
 * Removes the folder of this `dataDir` in the system folder, which a process of root creates, with the server in it.
 * Call it before `dataDir` is removed. Leaves a folder that names another owner.
 */
export async function removeSystemHome(dataDir: string, systemDir = defaultSystemDir): Promise<void> {
  if (!existsSync(dataDir)) return;
  const real = realpathSync(dataDir);
  const home = systemHome({ dataDir: real, systemDir });
  if ((ownerOf(home) ?? real) !== real) return;
  await endAll(home);
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}

/** Kills until no process is left: one that was just forked, or that a supervisor started again, is killed as well. */
const endAll = (folder: string): Promise<void> =>
  until('its processes are gone', () => {
    killAll(folder);
    return processesUnder(folder).length === 0;
  });

/** Kills all processes that work in the folder: servers, sessions, initdb. */
export function killAll(folder: string): void {
  for (const pid of processesUnder(folder)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // ESRCH: a session ends by itself when its server is gone.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
}

/** Mounts a small disk on the folder until the test ends. Needs root. */
export function smallDisk(t: TestContext, folder: string, size: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'tmpfs', folder]);
  atEnd(t, () => {
    killAll(folder);
    execFileSync('umount', ['-l', folder]);
  });
}

/** Not a limit on speed: what has not happened by then, under any load, never will. */
const HANG_MS = 60_000;

/** Polls until the condition holds. Fails after `limitMs`, to end a test that hangs. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  limitMs = HANG_MS,
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

/** Returns the real path of the cluster of this `dataDir`, undefined before its first start. */
export const clusterOf = (dataDir: string): string | undefined =>
  findCluster({ dataDir, systemDir: defaultSystemDir, log: () => undefined });

export function postmasterPid(cluster: string): number {
  return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
}

/** Whether the server has stopped: its pid file is gone, and no process works in the cluster. */
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
