// Resolves names for outbound requests, a few at a time: Node resolves in its thread pool, where passwords are hashed, too, and no
// signal ends a look-up. Names for which the name servers are silent wait for each other alone. It must not judge addresses.
import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { performance } from 'node:perf_hooks';
import { errorCode } from '../unknown-values.ts';

export type Resolve = (host: string) => Promise<LookupAddress[]>;

/** Tells whether the name servers answer for a name, for both families, whatever they say. It uses no thread. */
export type IsAnswered = (host: string) => Promise<boolean>;

/** Look-ups at once. The thread pool has four threads by default. */
const PARALLEL = 2;
/** Of names for which the name servers are silent. They may be in the file of hosts. */
const PARALLEL_SILENT = 1;
/** How long the name servers are waited for. */
const SILENT_MS = 1_000;
/** How long a failure is kept. */
const FAILED_MS = 60_000;
/** A name whose look-up took longer than the name servers are waited for counts as one of silent ones for so long. */
const SLOW_MS = 600_000;
/** Names of which a failure is kept, and slow ones. */
const MAX_NAMES = 1_000;

/** `servers`: instead of the system's, for tests. */
export function createIsAnswered(servers?: readonly string[]): IsAnswered {
  let resolver: Resolver | undefined;
  return async (host) => {
    if (!resolver) {
      resolver = new Resolver({ timeout: SILENT_MS, tries: 1 });
      if (servers) resolver.setServers(servers);
    }
    // A look-up asks for both families, and waits for both.
    const answered = await Promise.all([
      isAnswer(resolver.resolve4(host)),
      isAnswer(resolver.resolve6(host)),
    ]);
    return answered.every((one) => one);
  };
}

const isAnswer = (asked: Promise<unknown>): Promise<boolean> =>
  asked.then(
    () => true,
    (error: unknown) => errorCode(error) !== 'ETIMEOUT',
  );

/** Returns what runs tasks, at most `parallel` at once, in order of arrival. */
function createLane(parallel: number): <T>(task: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (task) => {
    if (running === parallel) await new Promise<void>((begin) => waiting.push(begin));
    else running += 1;
    try {
      return await task();
    } finally {
      // The next one takes the turn over.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}

/** Creates a `Resolve` whose callers share the look-up of a name, and its failure for a minute. `now` is monotonic, in milliseconds. */
export function createNames(
  resolve: Resolve,
  {
    answers = createIsAnswered(),
    now = () => performance.now(),
  }: { answers?: IsAnswered; now?: () => number } = {},
): Resolve {
  const underWay = new Map<string, Promise<LookupAddress[]>>();
  const failures = new Map<string, { error: unknown; until: number }>();
  /** Name servers may answer the first question, and be silent at the next one. */
  const slowUntil = new Map<string, number>();
  const lane = createLane(PARALLEL);
  const silentLane = createLane(PARALLEL_SILENT);

  async function timed(host: string): Promise<LookupAddress[]> {
    const begun = now();
    try {
      return await resolve(host);
    } finally {
      if (now() - begun > SILENT_MS) {
        if (slowUntil.size >= MAX_NAMES) slowUntil.clear();
        slowUntil.set(host, now() + SLOW_MS);
      }
    }
  }

  async function look(host: string): Promise<LookupAddress[]> {
    const isSlow = (slowUntil.get(host) ?? 0) > now();
    const run = !isSlow && (await answers(host)) ? lane : silentLane;
    try {
      return await run(() => timed(host));
    } catch (error) {
      if (failures.size >= MAX_NAMES) failures.clear();
      failures.set(host, { error, until: now() + FAILED_MS });
      throw error;
    }
  }

  return async (host) => {
    const failure = failures.get(host);
    if (failure && failure.until > now()) throw failure.error;
    failures.delete(host);
    const known = underWay.get(host);
    if (known) return known;
    const begun = look(host).finally(() => underWay.delete(host));
    underWay.set(host, begun);
    return begun;
  };
}
