// Runs one request of the browser for a passkey at a time: browsers refuse a second one.
import { CastellanError } from '../errors.ts';
import { WebAuthnAbortService } from './webauthn.ts';

/** Browsers that have just ended a request may refuse the next one once (github.com/MasterKale/SimpleWebAuthn, issue 281). */
const AT_ONCE_MS = 500;

let latest: { ended: Promise<unknown> } | null = null;

/**
 * Ends the request that is under way, then runs this one. Rejects with the reason of the signal, or with `passkey_cancelled`,
 * `passkey_unsupported` or `passkey_taken`.
 */
export function runAlone<T>(run: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const before = latest;
  WebAuthnAbortService.cancelCeremony();
  const own = { ended: Promise.resolve<unknown>(undefined) };
  const isLatest = (): boolean => latest === own;
  latest = own;
  const result = start();
  own.ended = result.catch(() => {});
  return result;

  async function start(): Promise<T> {
    await before?.ended;
    signal?.throwIfAborted();
    if (!isLatest()) throw cancelled();
    const stop = (): void => {
      if (isLatest()) WebAuthnAbortService.cancelCeremony();
    };
    signal?.addEventListener('abort', stop, { once: true });
    try {
      return await (before ? runAgain(run, isLatest) : run());
    } catch (error) {
      signal?.throwIfAborted();
      throw failureOf(error);
    } finally {
      signal?.removeEventListener('abort', stop);
      if (isLatest()) latest = null;
    }
  }
}

/** Runs the request, once more if the browser refuses it at once. */
async function runAgain<T>(run: () => Promise<T>, isWanted: () => boolean): Promise<T> {
  const startedAt = Date.now();
  try {
    return await run();
  } catch (error) {
    if (nameOf(error) !== 'NotAllowedError' || Date.now() - startedAt > AT_ONCE_MS || !isWanted())
      throw error;
    return run();
  }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '');

const cancelled = (cause?: unknown): CastellanError =>
  new CastellanError('passkey_cancelled', 'Nothing happened. Try again, or choose another way.', { cause });

export const unsupported = (cause?: unknown): CastellanError =>
  new CastellanError('passkey_unsupported', 'This browser has no passkeys, or none for this page.', {
    cause,
  });

function failureOf(error: unknown): unknown {
  const name = nameOf(error);
  if (name === 'NotAllowedError' || name === 'AbortError') return cancelled(error);
  if (name === 'SecurityError' || name === 'NotSupportedError') return unsupported(error);
  if (name === 'InvalidStateError')
    return new CastellanError('passkey_taken', 'This passkey is registered already.', { cause: error });
  return error;
}
