import { createCache, momentNow } from './cache.ts';
import { GuardError } from './errors.ts';

/** How long an unknown key is refused without another question. A key that is made during this time is accepted after it. */
const FORGET_MS = 3_000;
/** Unknown API keys and tokens of applications that one network may present in a minute, as unknown API keys at Castellan itself. */
const MOST_WRONG = 30;
const WINDOW_MS = 60_000;
/** How long a key that was right passes in spite of the limit. */
const TRUSTED_MS = 600_000;
/** How many unknown keys, right keys and networks are remembered: about 2 MB each. */
const SIZE = 10_000;

/** A network's unknown keys in one minute, those included that are being asked about. */
type Window = { keys: number };

/**
 * Keeps strangers from making a guard ask Castellan about made-up API keys without end: it remembers unknown keys for some seconds,
 * and limits them by the network of the client. Tokens of applications count as keys: a guard does not verify their signature.
 * Access tokens of sessions need neither: their signature is checked first, so nobody can make them up, and one that is not live
 * may become so, when its user has done what they must do first.
 */
export type UnknownKeys = {
  /**
   * Runs `ask` for an API key, unless the key was unknown a moment ago, and counts it if there is no answer. Throws `rate_limited`
   * without running it if the network has used up its unknown keys and the key was not right lately. Without an address there is
   * no limit.
   */
  limited<Answer>(
    key: string,
    address: string | undefined,
    ask: () => Promise<Answer | undefined>,
  ): Promise<Answer | undefined>;
};

export function createUnknownKeys(): UnknownKeys {
  const unknown = createCache<true>(SIZE, FORGET_MS);
  const right = createCache<true>(SIZE, TRUSTED_MS);
  const windows = createCache<Window>(SIZE, WINDOW_MS);

  function windowOf(network: string): Window {
    const known = windows.get(network);
    if (known) return known;
    const window = { keys: 0 };
    windows.set(network, window, momentNow());
    return window;
  }

  return {
    async limited(key, address, ask) {
      if (unknown.get(key)) return undefined;
      const window = address === undefined ? undefined : windowOf(networkOf(address));
      if (window && window.keys >= MOST_WRONG && !right.get(key))
        throw new GuardError(
          'rate_limited',
          'Too many unknown API keys or access tokens of applications came from this network.',
          {
            retryAfterSeconds: WINDOW_MS / 1_000,
          },
        );
      // Counted before the answer, so that keys which arrive together are limited too.
      if (window) window.keys += 1;
      let isWrong = false;
      try {
        const answer = await ask();
        isWrong = answer === undefined;
        (isWrong ? unknown : right).set(key, true, momentNow());
        return answer;
      } finally {
        if (window && !isWrong) window.keys -= 1;
      }
    },
  };
}

/** Returns the address itself of IPv4, also as a part of IPv6, and the first 64 bits of IPv6: a client has all the others. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address;
  const [before = '', after] = address.toLowerCase().split('::');
  const groups = before === '' ? [] : before.split(':');
  const rest = after ? after.split(':').length : 0;
  if (after !== undefined) while (groups.length + rest < 8) groups.push('0');
  const all = after ? [...groups, ...after.split(':')] : groups;
  return all
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}
