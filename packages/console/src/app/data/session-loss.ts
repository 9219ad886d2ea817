// Lets requests wait while the person signs in again over the page, so that nothing they did is lost.
import { CastellanError } from '@castellan/sdk';

type Waiting = { resume: () => void; giveUp: () => void };

let isLost = false;
const waiting = new Set<Waiting>();
const listeners = new Set<() => void>();

const tell = (): void => {
  for (const listener of [...listeners]) listener();
};

export const sessionLoss = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
  isLost: (): boolean => isLost,
  begin(): void {
    isLost = true;
    tell();
  },
  /** The same person has signed in again: requests that wait are sent once more. */
  end(): void {
    isLost = false;
    for (const { resume } of waiting) resume();
    waiting.clear();
    tell();
  },
};

const isSessionLoss = (error: unknown): boolean =>
  error instanceof CastellanError &&
  error.status === 401 &&
  /^(token_|refresh_token_invalid)/.test(error.code);

/** Runs the request. If the session has ended, waits until the person has signed in again and repeats it. */
export async function acrossSessions<T>(request: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await request();
  } catch (error) {
    if (!isSessionLoss(error) || !isLost) throw error;
    await new Promise<void>((resolve, reject) => {
      const one: Waiting = { resume: resolve, giveUp: () => reject(signal?.reason) };
      waiting.add(one);
      signal?.addEventListener('abort', () => {
        waiting.delete(one);
        one.giveUp();
      });
    });
    return await request();
  }
}
