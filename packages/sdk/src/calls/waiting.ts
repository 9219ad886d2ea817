// Waits that end early: by an abort or by a timeout. Nothing here knows about HTTP.
import { CastellanError } from '../errors.ts';

/** Timers of browsers and Node.js take no longer delay. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Settles as the promise does, or rejects with the reason of the signal if that aborts first. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/**
 * Runs a task with a signal that aborts with the caller's or after `timeoutMs`. Rejects at that moment, even if the task
 * ignores its signal: with the caller's reason or with `timeout`. If the result is a stream, the caller's signal stays
 * connected to it.
 */
export async function withTimeout<T>(
  options: { timeoutMs: number; signal: AbortSignal | undefined; isStream: boolean },
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { timeoutMs, signal, isStream } = options;
  signal?.throwIfAborted();
  const controller = new AbortController();
  const forward = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', forward, { once: true });
  const expire = () =>
    controller.abort(new CastellanError('timeout', `The request was not complete within ${timeoutMs} ms.`));
  const timer = timeoutMs > MAX_TIMER_MS ? undefined : setTimeout(expire, timeoutMs);
  try {
    return await abortable(task(controller.signal), controller.signal);
  } finally {
    clearTimeout(timer);
    if (!isStream) signal?.removeEventListener('abort', forward);
  }
}

/** Resolves after this time, or rejects with the reason of the signal. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, MAX_TIMER_MS));
  });
  await abortable(elapsed, signal).finally(() => clearTimeout(timer));
}
