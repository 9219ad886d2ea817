/** Answers that may be used again for a time, at most `size` of them; the least recently used one goes first. */
export type Cache<Value> = {
  get(key: string): Value | undefined;
  /** `askedAt` is when the question was sent, on the clock `now`: an answer is never newer than its question. */
  set(key: string, value: Value, askedAt: number): void;
};

export function createCache<Value>(size: number, maxStaleMs: number, now: () => number): Cache<Value> {
  const entries = new Map<string, { value: Value; until: number }>();
  return {
    get(key) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      entries.delete(key);
      if (now() >= entry.until) return undefined;
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, askedAt) {
      if (maxStaleMs <= 0 || size <= 0) return;
      entries.delete(key);
      entries.set(key, { value, until: askedAt + maxStaleMs });
      for (const oldest of entries.keys()) {
        if (entries.size <= size) break;
        entries.delete(oldest);
      }
    },
  };
}
