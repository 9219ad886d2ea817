// What an instance knows of the providers, and how much it asks them at once. It must not query the database.
import { performance } from 'node:perf_hooks';
import type { Configuration, CustomFetch } from 'openid-client';
import type { Clock } from '../../../platform/clock.ts';
import { createGate, type Gate } from '../../../platform/limits/gate.ts';
import type { Logger } from '../../../platform/logging/log.ts';
import { type AskingSettings, createAsk, type ProviderAddresses, type TokenAnswers } from './asking.ts';
import type { UpstreamError, UpstreamProvider } from './assertion.ts';
import { upstreamErrorOf } from './failures.ts';
import { type MetadataDeps, readConfiguration } from './metadata.ts';

/** How long metadata counts before it is read again. */
const FRESH_MS = 10 * 60_000;
/** How long it counts while the provider does not answer. */
const KEPT_MS = 24 * 3_600_000;
/** Between two reads that failed, and between two reads for a key that is unknown. */
const PAUSE_MS = 10_000;
/** Providers that are remembered. Beyond it, the one that was read the longest time ago is forgotten. */
const MAX_PROVIDERS = 1_000;

// A provider that hangs keeps each exchange for some seconds. Neither holds a database connection.
const EXCHANGES_RUNNING = 16;
const EXCHANGES_WAITING = 64;
const EXCHANGE_WAIT_MS = 10_000;

type Known = {
  version: number;
  configuration: Configuration | null;
  /** When `configuration` was read. */
  readAt: number;
  failure: UpstreamError | null;
  failedAt: number;
  /** When it was read for a key that was unknown. */
  renewedAt: number;
  running: Promise<void> | null;
};

export type Upstreams = {
  /** Limits what waits for one provider: the key is its id. */
  gate: Gate;
  ask: CustomFetch;
  openSecret: MetadataDeps['openSecret'];
  answers: TokenAnswers;
  /**
   * Returns the configuration, read again if it is older than ten minutes. While the provider does not answer, it returns what it read
   * in the last 24 hours. Rejects with UpstreamError.
   */
  configurationOf(provider: UpstreamProvider): Promise<Configuration>;
  /** As `configurationOf`, but asks nobody while there is a configuration of the last 24 hours. */
  knownConfigurationOf(provider: UpstreamProvider): Promise<Configuration>;
  /** Returns a newer configuration than the one that lacked a key; null if there is none, or it was read in the last ten seconds. */
  newerThan(used: Configuration, provider: UpstreamProvider): Promise<Configuration | null>;
  /** Reads the configuration now. Rejects with UpstreamError. */
  read(provider: UpstreamProvider): Promise<Configuration>;
};

export type UpstreamsParts = {
  settings: AskingSettings;
  clock: Clock;
  log: Logger;
  openSecret: MetadataDeps['openSecret'];
  /** For tests. */
  addresses?: ProviderAddresses;
  /** Monotonic, in milliseconds. For tests. */
  now?: () => number;
};

export function createUpstreams(parts: UpstreamsParts): Upstreams {
  const { settings, clock, log, openSecret, addresses = new Map(), now = () => performance.now() } = parts;
  const answers: TokenAnswers = new Map();
  const ask = createAsk(settings, addresses, answers);
  const all = new Map<string, Known>();

  function knownOf({ id, version }: UpstreamProvider): Known {
    const found = all.get(id);
    if (found?.version === version) return found;
    const never = Number.NEGATIVE_INFINITY;
    const known: Known = {
      version,
      configuration: null,
      readAt: never,
      failure: null,
      failedAt: never,
      renewedAt: never,
      running: null,
    };
    all.delete(id);
    all.set(id, known);
    const [oldest] = all.keys();
    if (all.size > MAX_PROVIDERS && oldest !== undefined) all.delete(oldest);
    return known;
  }

  /** Reads, or waits for who reads already. It never rejects. */
  function refresh(known: Known, provider: UpstreamProvider): Promise<void> {
    known.running ??= readConfiguration({ settings, clock, ask, openSecret }, provider)
      .then(
        (configuration) => {
          known.configuration = configuration;
          known.readAt = now();
          known.failure = null;
        },
        (error: unknown) => {
          known.failure = upstreamErrorOf(error);
          known.failedAt = now();
          log.warn(
            { provider: provider.slug, code: known.failure.code },
            'the metadata of an identity provider cannot be read: what was read before counts for a day',
          );
        },
      )
      .finally(() => {
        known.running = null;
      });
    return known.running;
  }

  const copyIn = ({ configuration, readAt }: Known): Configuration | null =>
    now() - readAt < KEPT_MS ? configuration : null;

  async function configurationOf(provider: UpstreamProvider): Promise<Configuration> {
    const known = knownOf(provider);
    if (known.configuration && now() - known.readAt < FRESH_MS) return known.configuration;
    if (now() - known.failedAt >= PAUSE_MS) await refresh(known, provider);
    const copy = copyIn(known);
    if (copy) return copy;
    throw known.failure ?? upstreamErrorOf(null);
  }

  return {
    gate: createGate({
      running: EXCHANGES_RUNNING,
      waiting: EXCHANGES_WAITING,
      maxWaitMs: EXCHANGE_WAIT_MS,
    }),
    ask,
    openSecret,
    answers,
    configurationOf,
    knownConfigurationOf: async (provider) => copyIn(knownOf(provider)) ?? configurationOf(provider),
    async newerThan(used, provider) {
      const known = knownOf(provider);
      if (known.configuration === used) {
        if (!known.running && now() - known.renewedAt < PAUSE_MS) return null;
        known.renewedAt = now();
        await refresh(known, provider);
      }
      return known.configuration === used ? null : known.configuration;
    },
    async read(provider) {
      const known = knownOf(provider);
      await refresh(known, provider);
      if (known.failure) throw known.failure;
      return configurationOf(provider);
    },
  };
}
