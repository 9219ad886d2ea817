// Ends a request for a passkey before its challenge does, which the service accepts for ten minutes.
const RENEW_MS = 8 * 60_000;

/** The reason of a signal that aborts only because another challenge is needed. */
export const STALE = new Error('The challenge is about to expire.');

/** Returns a signal that aborts with the caller's, or with `STALE` after eight minutes, as soon as the page is visible. */
export function renewalSignal(signal: AbortSignal | undefined): { signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const startedAt = Date.now();
  const forward = (): void => controller.abort(signal?.reason);
  const check = (): void => {
    if (document.visibilityState === 'visible' && Date.now() - startedAt >= RENEW_MS) controller.abort(STALE);
  };
  const timer = setTimeout(check, RENEW_MS);
  // Timers stand still while the computer sleeps.
  document.addEventListener('visibilitychange', check);
  signal?.addEventListener('abort', forward, { once: true });
  if (signal?.aborted) forward();
  return {
    signal: controller.signal,
    stop() {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', check);
      signal?.removeEventListener('abort', forward);
    },
  };
}
