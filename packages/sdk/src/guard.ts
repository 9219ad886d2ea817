import { readBaseUrl } from './calls/call.ts';
import { type Guard, guardOver } from './guard/core.ts';
import type { GuardError } from './guard/errors.ts';
import { createHttpBackend } from './guard/http-backend.ts';
import { createLive, type LiveOptions, type LiveSettings } from './guard/live/live.ts';
import type { HeaderCarrier } from './guard/middleware.ts';

export type { Guard } from './guard/core.ts';
export { GuardError, type GuardErrorCode } from './guard/errors.ts';
export type { LiveOptions, LiveState } from './guard/live/live.ts';
export type { HeaderCarrier, Middleware } from './guard/middleware.ts';
export type { Requirement } from './guard/requirement.ts';
export type { Check, Identity, Subject } from './guard/subject.ts';

export type GuardOptions = {
  /** URL of Castellan, with the path that it is mounted below: `https://id.example.com`. */
  baseUrl: string;
  /** An API key of a service account with the role `Service` (`token.introspect` and `access.check`). */
  apiKey: string;
  /**
   * The identifier of your API as an API resource of Castellan. Access tokens that applications got for it count, too: `require` then
   * wants the permission in their scope. Default: they are `invalid_token`.
   */
  audience?: string;
  /** Limit for one exchange with Castellan, in ms; a check of an access token may need two. Default: 2,000. */
  timeoutMs?: number;
  /**
   * How old an answer may be when it is used, in ms. Until then a revoked token or permission still counts. Each process has
   * its own cache. Default: 0, every check asks.
   */
  maxStaleMs?: number;
  /**
   * Follows the changes that Castellan tells, and keeps answers until one concerns them: `true`, or what to do when the feed is silent.
   * Needs a process that lives on, and a service account with `access.watch`, which the role `Service` of a new installation has. Call
   * `close` when the process stops. Default: not.
   */
  live?: true | LiveOptions;
  /**
   * How many callers, and how many decisions, are kept at most. A live guard keeps up to twice as many, about 2 KB each. Default: 10,000.
   */
  cacheSize?: number;
  /** How far the clocks of this machine and of Castellan may differ, in ms. Default: 60,000. */
  clockToleranceMs?: number;
  /**
   * Returns the address of the client, by whose network unknown API keys and tokens of applications are limited; undefined for no limit. Default: `ip` of
   * Fastify and Express, else the address of the connection of Node.js. Set it behind a proxy, and where requests are those of
   * Fetch.
   */
  addressOf?: (request: HeaderCarrier) => string | undefined;
  /** Is told why Castellan gave no trustworthy answer, to be logged. */
  onUnavailable?: (error: GuardError) => void;
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch;
};

/** Returns a guard that asks Castellan. Throws a TypeError for options that cannot work. */
export function createGuard(options: GuardOptions): Guard {
  const { timeoutMs = 2_000, maxStaleMs = 0, cacheSize = 10_000, clockToleranceMs = 60_000 } = options;
  for (const [name, value] of Object.entries({ timeoutMs, maxStaleMs, cacheSize, clockToleranceMs }))
    if (!Number.isFinite(value) || value < 0) throw new TypeError(`${name} must be a number of at least 0.`);
  const { audience } = options;
  if (audience !== undefined && (typeof audience !== 'string' || audience === ''))
    throw new TypeError('audience must be the identifier of an API resource.');
  const sharesWork = mayShareWork();
  const access = {
    baseUrl: readBaseUrl(options.baseUrl),
    apiKey: checkedKey(options.apiKey),
    fetch: options.fetch ?? ((...args: Parameters<typeof fetch>) => fetch(...args)),
  };
  const settings = options.live && readLive(options, sharesWork);
  const live =
    settings && createLive(access, { ...settings, cacheSize, onUnavailable: options.onUnavailable });
  const backend = createHttpBackend({
    ...access,
    audience,
    timeoutMs,
    maxStaleMs,
    cacheSize,
    clockToleranceMs,
    sharesWork,
    live,
  });
  return guardOver(backend, options, live);
}

function readLive(
  { live, maxStaleMs }: Pick<GuardOptions, 'live' | 'maxStaleMs'>,
  sharesWork: boolean,
): LiveSettings {
  const { maxSilenceMs = 3_000, onSilence = 'ask' } = live === true || !live ? {} : live;
  if (!Number.isFinite(maxSilenceMs) || maxSilenceMs < 1_500)
    throw new TypeError(
      'live.maxSilenceMs must be a number of at least 1,500: the feed has a message every second.',
    );
  if (onSilence !== 'ask' && onSilence !== 'refuse')
    throw new TypeError('live.onSilence must be "ask" or "refuse".');
  if (maxStaleMs !== undefined)
    throw new TypeError(
      'live and maxStaleMs exclude each other: a live guard keeps answers until they change.',
    );
  if (!sharesWork)
    throw new TypeError(
      'live needs a connection that outlasts a request, which there is not on Cloudflare Workers.',
    );
  return { maxSilenceMs, onSilence };
}

/** On Cloudflare Workers a request that waits for the input or output of another one hangs. */
function mayShareWork(): boolean {
  const navigator: unknown = Reflect.get(globalThis, 'navigator');
  return !(navigator instanceof Object && Reflect.get(navigator, 'userAgent') === 'Cloudflare-Workers');
}

function checkedKey(key: string): string {
  if (typeof key !== 'string' || !/^castellan_[\w-]+$/.test(key))
    throw new TypeError('apiKey must be an API key of a service account: castellan_…');
  return key;
}
