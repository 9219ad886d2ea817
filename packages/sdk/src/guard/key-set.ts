import { sleep } from '../calls/waiting.ts';
import { ageOf, type Moment, momentNow } from './cache.ts';
import { GuardError } from './errors.ts';
import { isRecord, isText, type Json } from './json.ts';

/** How long a copy of the key set is used. */
const KEEP_MS = 60_000;
/** The shortest time between two requests for the key set because of unknown keys. */
const UNKNOWN_KEY_PAUSE_MS = 2_000;

/** How many tokens with unknown keys may wait for the next copy. */
const MOST_WAITING = 100;

/** A `CryptoKey`, which programs without the types of browsers cannot name. */
type VerificationKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;
type Copy = { keys: Map<string, VerificationKey>; at: Moment };

export type KeySet = {
  /** Returns the key, or undefined if the current key set lacks it. Throws `unavailable` if the key set cannot be read. */
  find(kid: string): Promise<VerificationKey | undefined>;
};

/**
 * Reads the key set when it is needed and replaces it whole. A token with an unknown key waits for the next copy, which is
 * read 2 s after the latest one at the earliest: after a rotation, a valid token must not look like a forged one. Only 100
 * tokens wait, so that forged ones cannot fill the memory; the key of a further one counts as unknown. If
 * `sharesWork` is false, callers share only copies that are complete.
 */
export function createKeySet(load: () => Promise<Json>, sharesWork: boolean): KeySet {
  let copy: Copy | undefined;
  let loading: Promise<Copy> | undefined;
  let waiting: Promise<unknown> | undefined;
  let waitingTokens = 0;

  async function read(): Promise<Copy> {
    const fresh = await readKeys(load, momentNow());
    if (!copy || fresh.at.steady >= copy.at.steady) copy = fresh;
    return fresh;
  }

  function refreshed(): Promise<Copy> {
    if (!sharesWork) return read();
    loading ??= read().finally(() => {
      loading = undefined;
    });
    return loading;
  }

  /** Resolves when the key set may be read again because of an unknown key. */
  function pause(since: Moment): Promise<unknown> {
    const left = Math.max(0, UNKNOWN_KEY_PAUSE_MS - ageOf(since));
    if (!sharesWork) return sleep(left);
    waiting ??= sleep(left).finally(() => {
      waiting = undefined;
    });
    return waiting;
  }

  return {
    async find(kid) {
      const isFresh = copy !== undefined && ageOf(copy.at) < KEEP_MS;
      const current = isFresh && copy ? copy : await refreshed();
      const key = current.keys.get(kid);
      // A copy that was read for this token is as new as it gets.
      if (key || !isFresh) return key;
      if (waitingTokens >= MOST_WAITING) return undefined;
      waitingTokens += 1;
      try {
        await pause(current.at);
        const next = copy && copy !== current ? copy : await refreshed();
        return next.keys.get(kid);
      } finally {
        waitingTokens -= 1;
      }
    },
  };
}

async function readKeys(load: () => Promise<Json>, at: Moment): Promise<Copy> {
  const { keys } = await load();
  if (!Array.isArray(keys)) throw new GuardError('unavailable', 'The key set has no list of keys.');
  const imported = new Map<string, VerificationKey>();
  for (const key of keys) {
    // Castellan signs with Ed25519 only. A key of another kind is no key for access tokens.
    if (!isRecord(key) || key.kty !== 'OKP' || key.crv !== 'Ed25519' || !isText(key.kid) || !isText(key.x))
      continue;
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.x };
    imported.set(key.kid, await crypto.subtle.importKey('jwk', jwk, { name: 'Ed25519' }, false, ['verify']));
  }
  return { keys: imported, at };
}
