// What the client uses of its host. Tests replace parts of it.
import { sleep } from './waiting.ts';

export type Environment = {
  fetch: typeof globalThis.fetch;
  /** Milliseconds since 1970. */
  now(): number;
  /** At least 0, less than 1. */
  random(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Shared by the tabs of an origin; null where there is none, as in servers. */
  storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | null;
  /** Web Locks; null where there are none, as on pages that were not loaded over HTTPS. */
  locks: Pick<LockManager, 'request' | 'query'> | null;
  /** Null where there is no BroadcastChannel. */
  openChannel: ((name: string) => BroadcastChannel) | null;
};

export function hostEnvironment(): Environment {
  return {
    // Reads the global at each call, so that instrumentation that replaces it later is used.
    fetch: (input, init) => globalThis.fetch(input, init),
    now: Date.now,
    random: Math.random,
    sleep,
    storage: localStorageOrNull(),
    locks: globalThis.navigator?.locks ?? null,
    openChannel: typeof BroadcastChannel === 'undefined' ? null : (name) => new BroadcastChannel(name),
  };
}

/** Browsers throw when a setting of the user forbids storage. */
function localStorageOrNull(): Storage | null {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null;
  }
}

/** Returns 128 random bits. Unlike `crypto.randomUUID`, it works on pages that were not loaded over HTTPS. */
export const randomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
