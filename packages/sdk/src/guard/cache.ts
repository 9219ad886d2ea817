/** A moment on both clocks: `performance` may stand still while the machine sleeps, and `Date` can be set back. */
export type Moment = { readonly steady: number; readonly date: number };

export const momentNow = (): Moment => ({ steady: performance.now(), date: Date.now() });

/** Returns how long before another a moment was, in ms, by the clock that says more. */
export const ageAt = ({ steady, date }: Moment, now: Moment): number =>
  Math.max(now.steady - steady, now.date - date);

/** Returns how long ago a moment was. */
export const ageOf = (moment: Moment): number => ageAt(moment, momentNow());

/** Answers that may be used again for a time, at most `size` of them; the least recently used one goes first. */
export type Cache<Value> = {
  get(key: string): Value | undefined;
  /** `askedAt` is when the question was sent: an answer is never newer than its question. */
  set(key: string, value: Value, askedAt: Moment): void;
};

export function createCache<Value>(size: number, maxStaleMs: number): Cache<Value> {
  const entries = new Map<string, { value: Value; askedAt: Moment }>();
  return {
    get(key) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      entries.delete(key);
      if (ageOf(entry.askedAt) >= maxStaleMs) return undefined;
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, askedAt) {
      if (maxStaleMs <= 0 || size <= 0) return;
      entries.delete(key);
      entries.set(key, { value, askedAt });
      for (const oldest of entries.keys()) {
        if (entries.size <= size) break;
        entries.delete(oldest);
      }
    },
  };
}
