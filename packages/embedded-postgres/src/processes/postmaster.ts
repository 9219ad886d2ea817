/**
 * One PostgreSQL server process: its pid file, its start and stop. It must not signal a process unless it has
 * identified it as the server of this cluster.
 */
import { spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Plan } from '../cluster.ts';
import { EmbeddedPostgresError, errorCode, explainError, explainOutput } from '../error.ts';
import { endProcess, isAlive, processesIn, worksIn } from './processes.ts';
import { spawnOptions } from './run-as.ts';

/** PostgreSQL's default; it only names the socket file, because no TCP port is opened. */
export const SOCKET_PORT = 5432;

const POLL_MS = 10;
/** pg_ctl waits 60 s; recovery of a large journal on a slow disk may take longer. */
const START_TIMEOUT_MS = 180_000;
/** A fast shutdown writes one checkpoint; pg_ctl waits 60 s for it. */
const FAST_SHUTDOWN_MS = 60_000;
const IMMEDIATE_SHUTDOWN_MS = 10_000;
/** Only starts, stops and fatal errors are logged, about 500 bytes each. */
const logLimitBytes = 1024 * 1024;

export type PidFile = { readonly pid: number; readonly socketDir: string; readonly ready: boolean };

/** Reads postmaster.pid (src/include/utils/pidfile.h: line 1 pid, line 5 socket directory, line 8 status). */
export function readPidFile(cluster: string): PidFile | undefined {
  let lines: string[];
  try {
    lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return undefined;
  }
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 1) return undefined;
  return { pid, socketDir: lines[4] ?? '', ready: lines[7]?.trim() === 'ready' };
}

export type Started = { readonly outcome: 'ready' } | { readonly outcome: 'exited'; readonly output: string };

/**
 * Starts the server in its own session, so that Ctrl-C does not reach it, and with a file for its output, so that it
 * neither blocks nor fails when the service dies. Resolves when it accepts connections or has ended.
 */
export async function startPostmaster(
  plan: Plan,
  settings: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Started> {
  const log = openLog(plan);
  const begin = fstatSync(log).size;
  try {
    const [command = '', ...words] = [...plan.as.words, join(plan.native, 'bin', 'postgres')];
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(command, [...words, '-D', plan.cluster, ...options], {
      ...spawnOptions(plan.as),
      detached: true,
      stdio: ['ignore', log, log],
    });
    let ended = false;
    child.once('exit', () => {
      ended = true;
    });
    child.once('error', (error) => {
      writeSync(log, `FATAL: ${error.message}\n`);
      ended = true;
    });
    child.unref();
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (!ended) {
      const found = readPidFile(plan.cluster);
      if (found?.ready && found.pid === child.pid) return { outcome: 'ready' };
      if (signal.aborted) child.kill('SIGINT');
      if (performance.now() > deadline) {
        throw new EmbeddedPostgresError(
          `PostgreSQL in ${plan.cluster} has not finished its recovery within ${START_TIMEOUT_MS / 1000} s and continues: start the service again later`,
        );
      }
      await pause(POLL_MS);
    }
    return { outcome: 'exited', output: readFrom(log, begin) };
  } finally {
    closeSync(log);
  }
}

/** Returns the explanation why a server ended at its start, from its output. */
export function explainExit(plan: Plan, output: string): EmbeddedPostgresError {
  return explainOutput('PostgreSQL', output, plan.cluster);
}

/**
 * Stops the server of the cluster: ends its sessions and writes all data. Returns false if it has not ended within
 * about a minute, or if its process is not visible (another container).
 */
export async function stopPostmaster(cluster: string): Promise<boolean> {
  const pid = readPidFile(cluster)?.pid;
  if (pid === undefined) return true;
  for (const [signal, patience] of [
    ['SIGINT', FAST_SHUTDOWN_MS],
    ['SIGQUIT', IMMEDIATE_SHUTDOWN_MS],
  ] as const) {
    if (!worksIn(pid, cluster)) return !isAlive(pid);
    process.kill(pid, signal);
    const deadline = performance.now() + patience;
    while (worksIn(pid, cluster) && performance.now() < deadline) await pause(POLL_MS);
  }
  return !worksIn(pid, cluster);
}

/** Whether a server process of this cluster is alive, even if it does not answer. */
export function isServed(cluster: string): boolean {
  const found = readPidFile(cluster);
  return found !== undefined && worksIn(found.pid, cluster);
}

/**
 * Makes the lock files of a dead server harmless. PostgreSQL refuses to start while any process, even a zombie, has the
 * process id in them. Removing the files would prevent its second check, whether old sessions still use the shared
 * memory in postmaster.pid. Call it under the start lock, after finding no server.
 */
export function defuseLockFiles(cluster: string, socketDir: string): void {
  if (isServed(cluster)) return;
  for (const path of [join(cluster, 'postmaster.pid'), join(socketDir, `.s.PGSQL.${SOCKET_PORT}.lock`)]) {
    let handle: number;
    try {
      // Links are not followed: these folders may belong to another user than root.
      handle = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') continue;
      throw explainError(error, path);
    }
    try {
      const stat = fstatSync(handle);
      if (!stat.isFile() || stat.nlink !== 1)
        throw new EmbeddedPostgresError(`${path} is not a file of PostgreSQL: remove it`);
      const text = readFileSync(handle, 'utf8');
      // 2^31-1 is higher than any process id (Linux: 2^22). It is longer than what it replaces, so one write is enough.
      writeSync(handle, text.replace(/^\d*/, '2147483647'), 0);
    } finally {
      closeSync(handle);
    }
  }
}

/** Ends sessions of a killed server. Busy ones do not notice that it is dead, and prevent the start of a new one. */
export function endOrphanedSessions(cluster: string): void {
  if (isServed(cluster)) return;
  for (const pid of processesIn(cluster)) endProcess(pid);
}

/** Truncates the server's log above its limit. Safe while the server writes, because it appends. */
export function boundLog(cluster: string): void {
  try {
    const handle = openSync(logPath(cluster), constants.O_RDWR | constants.O_NOFOLLOW);
    if (fstatSync(handle).size > logLimitBytes) ftruncateSync(handle);
    closeSync(handle);
  } catch {
    // Missing, or not writable by this user: its owner truncates it.
  }
}

export function logPath(cluster: string): string {
  return join(dirname(cluster), 'postgres.log');
}

function openLog(plan: Plan): number {
  const path = logPath(plan.cluster);
  boundLog(plan.cluster);
  try {
    const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
    const handle = openSync(path, flags, 0o600);
    if (plan.as.drop) fchownSync(handle, plan.as.drop.uid, plan.as.drop.gid);
    return handle;
  } catch (error) {
    throw explainError(error, path);
  }
}

function readFrom(handle: number, begin: number): string {
  const size = fstatSync(handle).size - begin;
  const buffer = Buffer.alloc(Math.max(0, Math.min(size, 64 * 1024)));
  const read = readSync(handle, buffer, 0, buffer.length, begin);
  return buffer.toString('utf8', 0, read);
}
