// Reloads the signing keys every few seconds, so that every instance knows about created and revoked keys.
// It runs one read at a time, so that an older result never replaces a newer one.
import type { Logger } from '../../platform/logging/log.ts';
import { KEY_RELOAD_SECONDS, type KeyRing } from './key-ring.ts';

/** Starts the timer, which does not keep the process alive. Logs a failure once, until a read succeeds again. */
export function reloadKeys(deps: { keyRing: KeyRing; log: Logger }): { stop(): void } {
  let reading = false;
  let failing = false;
  let stopped = false;
  const read = async (): Promise<void> => {
    if (reading) return;
    reading = true;
    try {
      await deps.keyRing.load();
      failing = false;
    } catch (error) {
      if (!failing && !stopped) deps.log.warn({ err: error }, 'signing keys could not be reloaded');
      failing = true;
    } finally {
      reading = false;
    }
  };
  const timer = setInterval(() => void read(), KEY_RELOAD_SECONDS * 1_000).unref();
  return {
    stop() {
      stopped = true;
      clearInterval(timer);
    },
  };
}
