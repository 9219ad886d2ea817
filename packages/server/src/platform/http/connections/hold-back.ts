// Delays the response to a client that is over a limit, so that a client that retries in a loop runs slowly.
// It must not delay anyone else, nor hold more than a bounded number of responses at once.
import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '../client.ts';

const HOLD_MS = 1_000;
// A held response costs a timer and a few kilobytes. Beyond this number, refusals are sent at once.
const MAX_HELD = 500;

let held = 0;

/** Resolves after a second, or earlier if the client disconnects. */
export async function holdBack(client: Client): Promise<void> {
  if (held >= MAX_HELD) return;
  held += 1;
  try {
    await wait(HOLD_MS, undefined, { signal: client.gone, ref: false });
  } catch {
    // The client has disconnected.
  } finally {
    held -= 1;
  }
}
