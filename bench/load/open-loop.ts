// Sends requests at a fixed rate, whether or not the earlier ones were answered, and times each from the moment at which it
// was due: a server that stalls makes all requests late that came due during the stall (no coordinated omission).
import { setTimeout as pause } from 'node:timers/promises';

/** Calls `send` `count` times, one call each `everyMs`. Returns the milliseconds from the due time to the answer. */
export async function openLoop(
  send: () => Promise<unknown>,
  { everyMs, count }: { everyMs: number; count: number },
): Promise<number[]> {
  const begin = performance.now();
  const sent: Promise<number>[] = [];
  for (let number = 0; number < count; number += 1) {
    const due = begin + number * everyMs;
    const wait = due - performance.now();
    if (wait > 0) await pause(wait);
    sent.push(send().then(() => performance.now() - due));
    // A failure rejects the result below; it must not end the process before.
    sent.at(-1)?.catch(() => {});
  }
  return Promise.all(sent);
}
