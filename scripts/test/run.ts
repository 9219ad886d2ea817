// Manages what a test run leaves on the system: a temporary folder, processes and databases, and removes all of them.
// As a program it waits for the end of the run that started it, and cleans up if that run was killed.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { dropDatabases, holdServer, type ServerChoice } from './server.ts';

export type TestRun = {
  /** TMPDIR of everything that the run starts. */
  folder: string;
  /** The beginning of the name of every database of the run. */
  prefix: string;
  server: ServerChoice;
};

// An orderly stop takes less time. A test that hangs must not keep the person who interrupts it waiting.
const GRACE_MS = 3_000;

/** Creates the folder of a run. Its name identifies the run. */
export async function beginRun(server: ServerChoice): Promise<TestRun> {
  const folder = await mkdtemp(join(tmpdir(), 'castellan-run-'));
  // If the tests run as root, PostgreSQL runs as another user.
  await chmod(folder, 0o755);
  const id = basename(folder).slice('castellan-run-'.length).toLowerCase();
  return { folder, prefix: `scratch_${id}_`, server };
}

/** Ends the run's processes, drops its databases and removes its folder. Can be repeated. */
export async function endRun({ folder, prefix }: TestRun, adminUrl: string): Promise<void> {
  await endProcesses(folder);
  unmountBelow(folder);
  try {
    await dropDatabases(adminUrl, prefix);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Starts a process that calls `endRun` if this one dies without calling `dismiss`. */
export function guardRun(run: TestRun): { dismiss(): void } {
  const program = 'read -r _ || exec "$@"';
  const args = ['-c', program, 'sh', process.execPath, import.meta.filename, JSON.stringify(run)];
  const guard: ChildProcess = spawn('/bin/sh', args, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  guard.unref();
  return { dismiss: () => void guard.stdin?.end('done\n') };
}

/** Unmounts the small disks of tests that were interrupted: a folder with one of them could not be removed. */
function unmountBelow(folder: string): void {
  if (process.platform !== 'linux') return;
  for (const line of readFileSync('/proc/mounts', 'utf8').split('\n')) {
    const [, place] = line.split(' ');
    if (place?.startsWith(`${folder}/`)) execFileSync('umount', ['-l', place]);
  }
}

async function endProcesses(folder: string): Promise<void> {
  signalAll(folder, 'SIGINT');
  const end = performance.now() + GRACE_MS;
  while (processesOf(folder).length > 0 && performance.now() < end) await wait(50);
  while (signalAll(folder, 'SIGKILL') > 0) await wait(50);
}

function signalAll(folder: string, signal: NodeJS.Signals): number {
  const pids = processesOf(folder);
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      const hasEnded = error instanceof Error && 'code' in error && error.code === 'ESRCH';
      if (!hasEnded) throw error;
    }
  }
  return pids.length;
}

/** Returns the processes that were started with this folder in their environment or work in it, except this one. */
export function processesOf(folder: string): number[] {
  const found = process.platform === 'linux' ? fromProc(folder) : fromPs(folder);
  return found.filter((pid) => pid !== process.pid);
}

function fromProc(folder: string): number[] {
  const isOurs = (pid: string): boolean => {
    try {
      const place = readlinkSync(`/proc/${pid}/cwd`);
      if (place === folder || place.startsWith(`${folder}/`)) return true;
      return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(folder);
    } catch {
      // The process has ended, or belongs to another user.
      return false;
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isOurs(name))
    .map(Number);
}

function fromPs(folder: string): number[] {
  const lines = execFileSync('ps', ['eww', '-A', '-o', 'pid=,command='], { encoding: 'utf8' }).split('\n');
  return lines.filter((line) => line.includes(folder)).map((line) => Number.parseInt(line, 10));
}

if (import.meta.main) {
  const run: TestRun = JSON.parse(process.argv[2] ?? '');
  const server = await holdServer(run.server);
  await endRun(run, server.adminUrl);
  await server.release();
}
