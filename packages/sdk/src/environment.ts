// What the client uses of its host. Tests replace parts of it.
import { sleep } from './calls/waiting.ts';

// These types are written out, because programs have no types of browsers.

/** The part of Web Locks that tabs need. */
type Locks = {
  request<T>(name: string, task: () => Promise<T>): Promise<T>;
  request<T>(name: string, options: { mode: 'shared' }, task: () => Promise<T>): Promise<T>;
  query(): Promise<{ held?: { name?: string }[] }>;
};

/** A BroadcastChannel that is listened to. */
export type Channel = { postMessage(message: unknown): void; close(): void };

/** The part of Storage that is used. */
export type Store = {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
};

export type Environment = {
  fetch: typeof globalThis.fetch;
  /** Milliseconds since 1970. */
  now(): number;
  /** At least 0, less than 1. */
  random(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Shared by the tabs of an origin; null where there is none, as in servers. */
  storage: Store | null;
  /** Of this tab alone, and kept when it loads another page; null where there is none. */
  tabStorage: Store | null;
  /** Web Locks; null where there are none, as on pages that were not loaded over HTTPS. */
  locks: Locks | null;
  /** Null where there is no BroadcastChannel. */
  openChannel: ((name: string, onMessage: (message: unknown) => void) => Channel) | null;
};

/** `hasTabs`: whether to look for what tabs share. Some hosts print a warning when a program does. */
export function hostEnvironment(hasTabs: boolean): Environment {
  return {
    // Reads the global at each call, so that instrumentation that replaces it later is used.
    fetch: (input, init) => globalThis.fetch(input, init),
    now: Date.now,
    random: Math.random,
    sleep,
    storage: hasTabs ? storageOrNull('localStorage') : null,
    tabStorage: hasTabs ? storageOrNull('sessionStorage') : null,
    locks: globalThis.navigator?.locks ?? null,
    openChannel: typeof BroadcastChannel === 'undefined' ? null : openChannel,
  };
}

export function openChannel(name: string, onMessage: (message: unknown) => void): Channel {
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }) => onMessage(data);
  return channel;
}

/** Returns null where storage is missing, forbidden by the user, or full. */
function storageOrNull(name: 'localStorage' | 'sessionStorage'): Storage | null {
  try {
    const storage = globalThis[name];
    storage.setItem('castellan:probe', '');
    storage.removeItem('castellan:probe');
    return storage;
  } catch {
    return null;
  }
}

/** Returns 128 random bits. Unlike `crypto.randomUUID`, it works on pages that were not loaded over HTTPS. */
export const randomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

/** Returns the address of the page; undefined where there is none, as in servers. */
export function pageAddress(): URL | undefined {
  const location: unknown = Reflect.get(globalThis, 'location');
  return location instanceof Object && 'href' in location ? new URL(String(location.href)) : undefined;
}
