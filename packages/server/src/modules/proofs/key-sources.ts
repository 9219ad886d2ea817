// Reads the public keys of applications from the addresses that their records name, and keeps them for a while.
// It must not read an address more often than every 30 seconds, whatever requests ask for.
import type { PublicKey } from '@castellan/contract/applications';
import type { Logger } from '../../platform/logging/log.ts';
import { askOutside, OutboundError, type OutboundSettings } from '../../platform/outbound/request.ts';
import { isObject } from '../../platform/unknown-values.ts';
import { cleanKey } from '../applications/key-set.ts';

const FRESH_MS = 10 * 60_000;
const PAUSE_MS = 30_000;
/** How long the keys of an address that does not answer count. */
const KEPT_MS = 24 * 3_600_000;
const MAX_BYTES = 256 * 1024;
/** As many as a record can have. */
const MAX_KEYS = 20;
/** Addresses whose keys are kept. Beyond it, the one that was read the longest time ago is forgotten. */
const MAX_ADDRESSES = 1_000;

type Source = {
  keys: PublicKey[];
  /** When `keys` were read. */
  readAt: number;
  triedAt: number;
  running: Promise<void> | null;
};

/**
 * Returns the keys at an address. If what is kept is older than ten minutes, or does not fit, it is read again first. An address that
 * does not answer leaves what is kept; empty if there is nothing. It never rejects.
 */
export type KeySources = (
  application: { id: string; jwks_url: string },
  fits: (keys: readonly PublicKey[]) => boolean,
) => Promise<readonly PublicKey[]>;

type Ask = typeof askOutside;

/** `now` is monotonic, in milliseconds. */
export function createKeySources(
  { log, settings }: { log: Logger; settings: OutboundSettings },
  { now = () => performance.now(), ask = askOutside }: { now?: () => number; ask?: Ask } = {},
): KeySources {
  const sources = new Map<string, Source>();

  async function read(source: Source, { id, jwks_url }: { id: string; jwks_url: string }): Promise<void> {
    try {
      source.keys = await readKeys(ask, settings, jwks_url);
      source.readAt = now();
    } catch (error) {
      const code = error instanceof OutboundError ? error.code : 'no_key_set';
      log.warn(
        { application_id: id, code },
        'the keys of an application cannot be read from its jwks_url: those of before count for a day',
      );
    }
  }

  return async (application, fits) => {
    const { jwks_url } = application;
    let source = sources.get(jwks_url);
    if (!source) {
      const never = Number.NEGATIVE_INFINITY;
      source = { keys: [], readAt: never, triedAt: never, running: null };
      sources.set(jwks_url, source);
    }
    if (now() - source.readAt < FRESH_MS && fits(source.keys)) return source.keys;
    if (!source.running && now() - source.triedAt >= PAUSE_MS) {
      const started = source;
      started.triedAt = now();
      started.running = read(started, application).finally(() => {
        started.running = null;
      });
      // Moved to the end, so that the first one is the oldest.
      sources.delete(jwks_url);
      sources.set(jwks_url, started);
      const [oldest] = sources.keys();
      if (sources.size > MAX_ADDRESSES && oldest !== undefined) sources.delete(oldest);
    }
    await source.running;
    return now() - source.readAt < KEPT_MS ? source.keys : [];
  };
}

async function readKeys(ask: Ask, settings: OutboundSettings, url: string): Promise<PublicKey[]> {
  const { status, body } = await ask(settings, {
    url,
    method: 'GET',
    headers: { accept: 'application/jwk-set+json, application/json' },
    plain: 'loopback',
    maxBytes: MAX_BYTES,
  });
  if (status !== 200) throw new OutboundError(`status_${status}`);
  const set: unknown = JSON.parse(body);
  if (!isObject(set) || !Array.isArray(set.keys)) throw new OutboundError('no_key_set');
  return set.keys.flatMap(usableKey).slice(0, MAX_KEYS);
}

/** Returns the key; nothing for one that an application could not register. Sets have keys for other purposes, too. */
function usableKey(given: unknown): PublicKey[] {
  if (!isObject(given)) return [];
  try {
    return [cleanKey(given, 'key')];
  } catch {
    return [];
  }
}
