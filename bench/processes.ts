// Reads processor time and memory of processes on Linux. It must not start or end one.
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

// proc(5): state and ppid follow the name in parentheses; utime and stime are fields 14 and 15 of the line.
const statFields = (pid: number): string[] => read(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];

/** Returns the microseconds in user and kernel mode since the processes began. */
export function cpuMicroseconds(pids: number[]): number {
  let ticks = 0;
  for (const pid of pids) {
    const fields = statFields(pid);
    ticks += Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  }
  return (ticks * 1_000_000) / ticksPerSecond;
}

/** Returns the proportional set size in MiB: a shared page counts in proportion to its users. */
export function pssMebibytes(pids: number[]): number {
  let kibibytes = 0;
  for (const pid of pids) kibibytes += Number(/^Pss:\s+(\d+)/m.exec(read(pid, 'smaps_rollup'))?.[1] ?? 0);
  return kibibytes / 1024;
}

/** Returns a process and its children, such as a PostgreSQL server with all its backends. */
export function withChildren(parent: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => Number(statFields(pid)[1]) === parent);
  return [parent, ...children];
}
