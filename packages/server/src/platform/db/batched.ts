// Joins single lookups of one tick into a few statements. It caches nothing: every lookup reaches the database.

/** Returns the results by the position of their keys; undefined where nothing was found. */
export type RunBatch<K, V> = (keys: readonly K[]) => Promise<readonly (V | undefined)[]>;

type Waiting<K, V> = {
  key: K;
  resolve: (found: V | undefined) => void;
  reject: (error: unknown) => void;
};

// Maximum lookups in one statement, and maximum statements in progress: enough to keep the server busy, and few enough
// that the lookups of the next ticks are batched while those run (measured: bench/README.md).
const MAX_BATCH = 256;
const MAX_IN_FLIGHT = 3;
// With this many lookups, a statement may begin before the tick ends. Then PostgreSQL works while the process reads the other
// requests, and fewer requests wait at a time for the garbage collector to copy (bench/README.md).
const EARLY_BATCH = 16;

/**
 * Returns a lookup whose calls in one tick share calls of `run`; up to 15 usually share one. It rejects with the error that
 * `run` throws. `connections`: how many connections `run` may use.
 */
export function createBatchedLookup<K, V>(
  connections: number,
  run: RunBatch<K, V>,
): (key: K) => Promise<V | undefined> {
  // A batch that waits for a connection cannot accept more lookups, so batches wait here.
  const mostInFlight = Math.min(MAX_IN_FLIGHT, connections);
  let waiting: Waiting<K, V>[] = [];
  let inFlight = 0;
  let scheduled = false;

  async function runOne(batch: Waiting<K, V>[]): Promise<void> {
    try {
      const found = await run(batch.map((one) => one.key));
      for (const [index, one] of batch.entries()) one.resolve(found[index]);
    } catch (error) {
      for (const one of batch) one.reject(error);
    } finally {
      inFlight -= 1;
      flush();
    }
  }

  function flush(): void {
    while (waiting.length > 0 && inFlight < mostInFlight) {
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      inFlight += 1;
      void runOne(batch);
    }
  }

  function endTick(): void {
    scheduled = false;
    flush();
  }

  return (key) => {
    const { promise, resolve, reject } = Promise.withResolvers<V | undefined>();
    waiting.push({ key, resolve, reject });
    if (waiting.length >= EARLY_BATCH) flush();
    else if (!scheduled) {
      scheduled = true;
      setImmediate(endTick);
    }
    return promise;
  };
}

/** Returns rows in the order of the keys. `ordinal` counts from 1, as `with ordinality` does. */
export function inOrder<R>(
  rows: readonly (R & { ordinal: string })[],
  count: number,
): (Omit<R, 'ordinal'> | undefined)[] {
  const found = new Map(rows.map(({ ordinal, ...row }) => [Number(ordinal), row]));
  return Array.from({ length: count }, (_, index) => found.get(index + 1));
}
