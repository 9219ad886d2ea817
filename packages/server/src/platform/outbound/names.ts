// Resolves names for outbound requests, a few at a time: Node resolves in its thread pool, where passwords are hashed, too, and no
// signal ends a look-up. It must not judge addresses.
import type { LookupAddress } from 'node:dns';
import { performance } from 'node:perf_hooks';

export type Resolve = (host: string) => Promise<LookupAddress[]>;

/** Look-ups at once. The thread pool has four threads by default. */
const PARALLEL = 2;
/** How long a failure is kept. */
const FAILED_MS = 60_000;
const MAX_FAILURES = 1_000;

/** Creates a `Resolve` whose callers share the look-up of a name, and its failure for a minute. `now` is monotonic, in milliseconds. */
export function createNames(resolve: Resolve, now = () => performance.now()): Resolve {
  const underWay = new Map<string, Promise<LookupAddress[]>>();
  const failures = new Map<string, { error: unknown; until: number }>();
  const waiting: (() => void)[] = [];
  let running = 0;

  async function look(host: string): Promise<LookupAddress[]> {
    if (running === PARALLEL) await new Promise<void>((begin) => waiting.push(begin));
    else running += 1;
    try {
      return await resolve(host);
    } catch (error) {
      if (failures.size >= MAX_FAILURES) failures.clear();
      failures.set(host, { error, until: now() + FAILED_MS });
      throw error;
    } finally {
      // The next one takes the turn over.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
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
