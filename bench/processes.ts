// What Linux says about processes: processor time and memory. It must not start or end one.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

const read = (pid: number, file: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
};

// proc(5): after the name in parentheses come state, ppid, …; utime and stime are fields 14 and 15 of the line.
const statFields = (pid: number): string[] => read(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];

/** Microseconds in user and kernel mode since the process began. */
export function cpuMicroseconds(pids: number[]): number {
  let ticks = 0;
  for (const pid of pids) {
    const fields = statFields(pid);
    ticks += Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  }
  return (ticks * 1_000_000) / ticksPerSecond;
}

/** Memory in MiB, shared pages counted in proportion to who shares them. */
export function pssMebibytes(pids: number[]): number {
  let kibibytes = 0;
  for (const pid of pids) kibibytes += Number(/^Pss:\s+(\d+)/m.exec(read(pid, 'smaps_rollup'))?.[1] ?? 0);
  return kibibytes / 1024;
}

/** A process and those that it started: a PostgreSQL server with all its sessions. */
export function withChildren(parent: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => Number(statFields(pid)[1]) === parent);
  return [parent, ...children];
}
