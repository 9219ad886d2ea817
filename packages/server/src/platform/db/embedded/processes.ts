/**
 * What the operating system says about a process id: alive, the same as before, at work in a folder.
 * It must not take an id alone for an identity, because ids are used again.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const hasProc = process.platform === 'linux';

/** A zombie counts as dead: it holds no file, lock or memory any more. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it exists and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
  return !hasProc || stat(pid)?.state !== 'Z';
}

/** Changes when the id is given to another process; empty where the system does not tell. */
export function birthOf(pid: number): string {
  return stat(pid)?.birth ?? '';
}

/** The namespace in which this process' ids have a meaning; empty outside Linux. */
export function pidNamespace(): string {
  try {
    return hasProc ? readlinkSync('/proc/self/ns/pid').replace(/\D/g, '') : '';
  } catch {
    return '';
  }
}

/** True when the live process `pid` is a server of `folder`: every PostgreSQL process works inside its cluster. */
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

/** All live processes that work in `folder`; empty where the system does not tell. */
export function processesIn(folder: string): number[] {
  if (!hasProc) return [];
  const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return ids.map(Number).filter((pid) => worksIn(pid, folder));
}

/** SIGKILL; nothing happens when the process has ended by itself meanwhile. */
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
    // proc(5): the name in parentheses may hold anything; after it come state (field 3) … starttime (field 22).
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', birth: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}
