// What the parts of `npm run bench` have in common: their options, and which core runs what. It must not measure.
import { execFileSync } from 'node:child_process';
import { pin } from '../service/processes.ts';

export type Run = {
  /** Rounds in which the rows of a part take turns. */
  rounds: number;
  /** Seconds of a row in one round, where it sends one request after another. */
  seconds: number;
  /** Numbers of users, in ascending order. */
  sizes: readonly number[];
  /** A folder that keeps filled databases and finished parts for the next run. */
  keep?: string;
  /** Also measures better-auth, installed from npm into a temporary folder. */
  withBetterAuth: boolean;
  /** The start.mjs of another checkout, measured beside this one. */
  earlier?: string;
  /** A setting with which another instance is measured beside this one. */
  extra?: { name: string; value: string };
};

const [servedCore = '', ...others] = coresOfThisProcess();
const otherCores = others.join(',');
/** Whether servers have a core for themselves. */
export const isPinned = otherCores !== '';

/** Returns the numbers of the cores that this process may use; none where they cannot be chosen. A container may lack core 0. */
function coresOfThisProcess(): string[] {
  try {
    const listed = execFileSync('taskset', ['-c', '-p', String(process.pid)], { encoding: 'utf8' });
    return coresIn(listed.slice(listed.lastIndexOf(':') + 1).trim());
  } catch {
    return [];
  }
}

/** Returns the numbers in a list of cores such as `0,2-4`. */
export function coresIn(list: string): string[] {
  return list.split(',').flatMap((part) => {
    const [first = Number.NaN, last = first] = part.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => String(first + index));
  });
}

/** Moves the measured servers to the first core, and everything that serves or loads them to the other cores. */
export function pinApart(served: readonly number[], rest: readonly number[]): void {
  if (!isPinned) return;
  pin(servedCore, served);
  pin(otherCores, [process.pid, ...rest]);
}

/** Moves processes to the core of the measured servers. */
export function pinToServed(pids: readonly number[]): void {
  if (isPinned) pin(servedCore, pids);
}

/** Lets this process and what it starts use all cores. A server reads at its start how many there are. */
export function unpin(): void {
  if (isPinned) pin(`${servedCore},${otherCores}`, [process.pid]);
}

/** Runs `work` in this process on the core of the servers. */
export async function onServedCore<T>(work: () => Promise<T>): Promise<T> {
  if (!isPinned) return work();
  pin(servedCore, [process.pid]);
  try {
    return await work();
  } finally {
    pin(otherCores, [process.pid]);
  }
}
