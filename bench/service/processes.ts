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

// proc(5): state and ppid follow the name in parentheses; cutime and cstime are fields 16 and 17 of the line.
const statFields = (pid: number): string[] => read(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];

const threadsOf = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
};

/**
 * Returns the microseconds in user and kernel mode since the processes began, with their ended children. Exact to the
 * nanosecond (/proc/<pid>/schedstat), except for ended children, which `stat` counts in ticks.
 */
export function cpuMicroseconds(pids: number[]): number {
  let nanoseconds = 0;
  let ticks = 0;
  for (const pid of pids) {
    for (const thread of threadsOf(pid))
      nanoseconds += Number(read(pid, `task/${thread}/schedstat`).split(' ')[0] ?? 0);
    const fields = statFields(pid);
    ticks += Number(fields[13] ?? 0) + Number(fields[14] ?? 0);
  }
  return nanoseconds / 1_000 + (ticks * 1_000_000) / ticksPerSecond;
}

/** Moves processes with all their threads to cores, written as for `taskset -c`. Needs Linux with `taskset`. */
export function pin(cores: string, pids: readonly number[]): void {
  for (const pid of pids)
    execFileSync('taskset', ['-a', '-c', '-p', cores, String(pid)], { stdio: 'ignore' });
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
