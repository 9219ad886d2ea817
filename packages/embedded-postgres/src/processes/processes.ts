/**
 * Tells what the operating system knows about a process id: alive, the same process as before, working in a folder.
 * It must not use an id alone as an identity, because ids are reused.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const hasProc = process.platform === 'linux';

/** Whether the process is alive. A zombie counts as dead: it no longer has files, locks or memory. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it exists, as another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
  return !hasProc || stat(pid)?.state !== 'Z';
}

/** Returns the start time of the process, which identifies it together with the id; empty outside Linux. */
export function birthOf(pid: number): string {
  return stat(pid)?.birth ?? '';
}

/** Returns the id of this process's pid namespace; empty outside Linux. */
export function pidNamespace(): string {
  try {
    return hasProc ? readlinkSync('/proc/self/ns/pid').replace(/\D/g, '') : '';
  } catch {
    return '';
  }
}

/**
 * Whether the process is alive and a server of `folder`: every PostgreSQL process has its cluster as working folder.
 */
export function worksIn(pid: number, folder: string): boolean {
  if (!isAlive(pid)) return false;
  try {
    if (hasProc) return readlinkSync(`/proc/${pid}/cwd`) === folder;
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).includes(
      folder,
    );
  } catch {
    return false;
  }
}

/** Returns all live processes whose working folder is `folder`; empty outside Linux. */
export function processesIn(folder: string): number[] {
  if (!hasProc) return [];
  const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return ids.map(Number).filter((pid) => worksIn(pid, folder));
}

/** Sends SIGKILL. Does nothing if the process has already ended. */
export function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function stat(pid: number): { state: string; birth: string } | undefined {
  if (!hasProc) return undefined;
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // proc(5): the name in parentheses may contain anything; it is followed by state (field 3) … starttime (field 22).
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', birth: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}
