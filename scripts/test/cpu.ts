// Measures the processor time of each test file in the process that runs it, which scripts/test.ts lets load this module.
// It must not count time twice: a process reports itself and the ended processes that it has waited for.
import { appendFileSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a file, or PostgreSQL, cost in seconds. `cpu` includes child processes where there is a /proc. */
export type Cost = { file: string; cpu: number; wall: number };

const root = fileURLToPath(new URL('../..', import.meta.url));
/** USER_HZ, in which Linux counts for programs on every architecture that Node supports. */
const TICKS_PER_SECOND = 100;

type Stat = { program: string; parent: number; own: number; ended: number };

/** Returns the name of a process, its parent, and seconds: its own, and those of ended processes that it has waited for. */
function statOf(pid: number | string): Stat {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name may contain spaces and brackets. proc(5) counts from 1, and the third field follows it.
  const [, parent, ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [user, system, endedUser, endedSystem] = fields.slice(9, 13).map(Number) as [
    number,
    number,
    number,
    number,
  ];
  return {
    program: text.slice(text.indexOf('(') + 1, text.lastIndexOf(')')),
    parent: Number(parent),
    own: (user + system) / TICKS_PER_SECOND,
    ended: (endedUser + endedSystem) / TICKS_PER_SECOND,
  };
}

/**
 * Returns the processor time of all processes of the PostgreSQL to which the process of a connection belongs, in seconds. Undefined
 * if it does not run here, or the system has no /proc.
 */
export function serverSeconds(connection: number): number | undefined {
  try {
    const { program, parent } = statOf(connection);
    if (program !== 'postgres') return undefined;
    const server = statOf(parent);
    const others = [...allProcesses().values()].filter((one) => one.parent === parent);
    return others.reduce((sum, one) => sum + one.own, server.own + server.ended);
  } catch {
    return undefined;
  }
}

function allProcesses(): Map<number, Stat> {
  const found = new Map<number, Stat>();
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    try {
      found.set(Number(name), statOf(name));
    } catch {
      // It has ended.
    }
  }
  return found;
}

const BROWSER = /^(?:chrom|headless_shell)/;
const BROWSERS_EVERY_MS = 2_000;

/**
 * Looks at the browsers below this process until the returned function is called, which returns the seconds of their inner
 * processes, as far as they were seen. No test process can report those, because a browser does not wait for them.
 */
export function measureBrowsers(): () => number {
  if (process.platform !== 'linux') return () => 0;
  const seconds = new Map<number, number>();
  const look = (): void => {
    const all = allProcesses();
    const isBelow = (pid: number): boolean => {
      const parent = all.get(pid)?.parent ?? 0;
      return parent === process.pid || (parent > 1 && isBelow(parent));
    };
    for (const [pid, { program, parent, own }] of all) {
      const isInner = BROWSER.test(program) && BROWSER.test(all.get(parent)?.program ?? '');
      if (isInner && isBelow(pid)) seconds.set(pid, own);
    }
  };
  const timer = setInterval(look, BROWSERS_EVERY_MS);
  return () => {
    clearInterval(timer);
    return [...seconds.values()].reduce((sum, one) => sum + one, 0);
  };
}

function used(): { cpu: number; wall: number } {
  const { user, system } = process.cpuUsage();
  const children = process.platform === 'linux' ? statOf('self').ended : 0;
  return { cpu: (user + system) / 1_000_000 + children, wall: performance.now() / 1_000 };
}

/** Appends a cost to the reports of the run, if somebody asked for them with TEST_CPU_REPORT=<folder>. */
export function reportCost(cost: Cost): void {
  const folder = process.env.TEST_CPU_REPORT;
  if (folder !== undefined) appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify(cost)}\n`);
}

const program = relative(root, realpathSync(process.argv[1] ?? root));
/** A module of several files stands outside of the project. What it costs to load counts for its first file. */
let current = program.startsWith(`..${sep}`) ? undefined : program;
let start = { cpu: 0, wall: 0 };

function report(): void {
  if (current === undefined) return;
  const now = used();
  reportCost({ file: current, cpu: now.cpu - start.cpu, wall: now.wall - start.wall });
  start = now;
}

/** Says that this process, which runs several files, begins with `file` now. */
export function beginFile(file: string): void {
  report();
  current = file;
}

// The process of the test runner itself has no test file.
if (process.env.NODE_TEST_CONTEXT !== undefined) process.on('exit', report);
