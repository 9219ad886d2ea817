// Reads something again and again, so that every instance knows what others have changed.
// It runs one read at a time, so that an older result never replaces a newer one.
import type { Logger } from '../logging/log.ts';

/** Starts the timer, which does not keep the process alive. Logs a failure once, until a read succeeds again. */
export function repeatRead(
  log: Logger,
  { seconds, failure, read }: { seconds: number; failure: string; read: () => Promise<void> },
): { stop(): void } {
  let reading = false;
  let failing = false;
  let stopped = false;
  const readOnce = async (): Promise<void> => {
    if (reading) return;
    reading = true;
    try {
      await read();
      failing = false;
    } catch (error) {
      if (!failing && !stopped) log.warn({ err: error }, failure);
      failing = true;
    } finally {
      reading = false;
    }
  };
  const timer = setInterval(() => void readOnce(), seconds * 1_000).unref();
  return {
    stop() {
      stopped = true;
      clearInterval(timer);
    },
  };
}
