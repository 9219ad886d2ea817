// Logs outages of something that this service depends on, without a line for each failure.

/**
 * Calls `begin` at the first failure and `end` at the first success after it, at most once in `everyMs`: something that
 * fails every other time does not fill the log. A failure within `everyMs` is passed over, so an outage that begins then
 * is told by a later failure. `now` returns milliseconds.
 */
export function createOutageLog<E>(
  { begin, end }: { begin(error: E): void; end(): void },
  everyMs: number,
  now: () => number = () => performance.now(),
): { failed(error: E): void; succeeded(): void } {
  let nextAt = Number.NEGATIVE_INFINITY;
  let isTold = false;
  return {
    failed(error) {
      if (isTold || now() < nextAt) return;
      isTold = true;
      nextAt = now() + everyMs;
      begin(error);
    },
    succeeded() {
      if (isTold) end();
      isTold = false;
    },
  };
}
