// The readers of this process: their places, their beats, and whether they may still read.
// It must not read the log of changes.
import type { ErrorCode } from '@castellan/contract/errors';
import type { FeedChange } from '@castellan/contract/feed';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import type { Logger } from '../../platform/logging/log.ts';
import { looksLikeApiKey } from '../../platform/security/api-key.ts';
import { peekClaims } from '../../platform/security/jwt.ts';
import type { ApiKeys, ClientRow } from '../api-keys/service.ts';
import { servicePrincipal } from '../authz/caller.ts';
import { mayDo } from '../authz/effective.ts';
import type { GraphSource } from '../authz/graph/graph.ts';
import { everywhere } from '../authz/scope.ts';
import type { Hub } from './hub.ts';
import { BEAT_MS } from './messages.ts';
import type { FeedStream } from './stream.ts';

type ReaderDeps = {
  log: Logger;
  apiKeys: ApiKeys;
  graphSource: GraphSource;
  /** Returns why an access token that does not count is refused. */
  refusalOf(token: string): ErrorCode;
  settings: { feedStreams: number; feedStreamsPerCaller: number };
};

type Credential = {
  accountId: string;
  /** `jti` of an access token; undefined for an API key. */
  tokenId: string | undefined;
  text: string;
  streams: Set<FeedStream>;
  isChecking: boolean;
  /** Something changed during a check. */
  isDue: boolean;
  checkedAt: number;
};

export type Readers = {
  /** Takes a place. Throws `overloaded` (503), or `rate_limited` (429) if the account has too many. */
  enter(accountId: string): () => void;
  /** Keeps a stream going until it closes. */
  add(stream: FeedStream, reader: { principal: { id: string }; credential: string }): void;
  /** Resolves at the next change, and when the signal aborts. False: nothing more comes, because the service stops. */
  changed(signal: AbortSignal): Promise<boolean>;
  /** Throws what a new request would: 401 if the credential has ended, `permission_denied` (403) without the permission. */
  authorize(reader: { principal: { id: string }; credential: string; client: Client }): Promise<void>;
  count(): number;
  close(): void;
};

/** Not all streams beat at once. */
const SLOTS = 10;
/** Nothing tells that a credential has expired, so it is checked once a minute. */
const CHECK_MS = 60_000;
/** A stream ends after 10 to 15 minutes, so that readers spread over new instances. */
const LIFE_MS = 600_000;
const MORE_LIFE_MS = 300_000;
const MAX_RETRY_MS = 1_000;
const RETRY_AFTER_SECONDS = 5;

export function createReaders(deps: ReaderDeps, hub: Hub): Readers {
  const { settings, log } = deps;
  const slots = Array.from({ length: SLOTS }, () => new Map<FeedStream, { endsAt: number }>());
  const credentials = new Map<string, Credential>();
  const places = new Map<string, number>();
  const waiting = new Set<() => void>();
  let taken = 0;
  let added = 0;
  let turn = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const streams = function* (): Generator<FeedStream> {
    for (const slot of slots) yield* slot.keys();
  };
  const resume = (): void => {
    for (const one of waiting) one();
  };

  hub.listen({
    changed(changes) {
      for (const credential of credentials.values())
        if (changes.some((change) => concerns(change, credential))) void check(credential);
      for (const stream of streams()) stream.advance();
      resume();
    },
    reset(reason) {
      for (const credential of credentials.values()) void check(credential);
      for (const stream of streams()) stream.restart(reason);
      resume();
    },
    live() {
      for (const stream of streams()) stream.beat();
    },
  });

  /** Cuts off the streams of a credential that no longer may read. If the database does not answer, the next check does. */
  async function check(credential: Credential): Promise<void> {
    credential.isDue = true;
    if (credential.isChecking) return;
    credential.isChecking = true;
    try {
      while (credential.isDue) {
        credential.isDue = false;
        credential.checkedAt = performance.now();
        if (await mayRead(deps, credential)) continue;
        for (const stream of [...credential.streams]) stream.destroy();
      }
    } catch (error) {
      log.warn({ err: error }, 'readers of the change feed could not be authorized again');
      credential.checkedAt = performance.now() - CHECK_MS + BEAT_MS;
    } finally {
      credential.isChecking = false;
    }
  }

  function tick(): void {
    const now = performance.now();
    turn = (turn + 1) % SLOTS;
    for (const [stream, { endsAt }] of slots[turn] ?? []) {
      if (stream.isStalled) stream.destroy();
      else if (now >= endsAt) stream.finish(retryMs());
      else stream.beat();
    }
    if (turn !== 0) return;
    for (const credential of credentials.values())
      if (now - credential.checkedAt >= CHECK_MS) void check(credential);
  }

  function credentialOf(text: string, accountId: string): Credential {
    const known = credentials.get(text);
    if (known) return known;
    const credential = {
      accountId,
      tokenId: looksLikeApiKey(text) ? undefined : peekClaims(text)?.jti,
      text,
      streams: new Set<FeedStream>(),
      isChecking: false,
      isDue: false,
      checkedAt: performance.now(),
    };
    credentials.set(text, credential);
    return credential;
  }

  return {
    enter(accountId) {
      const ofAccount = places.get(accountId) ?? 0;
      if (ofAccount >= settings.feedStreamsPerCaller)
        throw new AppError('rate_limited', {
          detail: 'This service account has too many readers of the change feed. Close one, or wait.',
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        });
      if (taken >= settings.feedStreams || isClosed)
        throw new AppError('overloaded', { retryAfterSeconds: RETRY_AFTER_SECONDS });
      taken += 1;
      places.set(accountId, ofAccount + 1);
      return () => {
        taken -= 1;
        const left = (places.get(accountId) ?? 1) - 1;
        if (left === 0) places.delete(accountId);
        else places.set(accountId, left);
      };
    },
    add(stream, { principal, credential: text }) {
      const slot = slots[added % SLOTS];
      added += 1;
      slot?.set(stream, { endsAt: performance.now() + LIFE_MS + Math.random() * MORE_LIFE_MS });
      const credential = credentialOf(text, principal.id);
      credential.streams.add(stream);
      timer ??= setInterval(tick, BEAT_MS / SLOTS).unref();
      stream.once('close', () => {
        slot?.delete(stream);
        credential.streams.delete(stream);
        if (credential.streams.size === 0) credentials.delete(text);
        if (credentials.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      });
      // What changed between the authorization of the request and here was not told to this stream.
      if (isClosed) stream.finish(retryMs());
      else void check(credential);
    },
    changed: (signal) =>
      new Promise((resolve) => {
        const end = (): void => {
          waiting.delete(end);
          signal.removeEventListener('abort', end);
          resolve(!isClosed);
        };
        waiting.add(end);
        signal.addEventListener('abort', end, { once: true });
        if (signal.aborted || isClosed) end();
      }),
    async authorize({ principal, credential: text, client }) {
      const row = looksLikeApiKey(text)
        ? await deps.apiKeys.byKey(text, client)
        : await deps.apiKeys.byToken(principal.id, text);
      if (!row) throw new AppError(deps.refusalOf(text));
      if (!(await isReader(deps, row)))
        throw new AppError('permission_denied', { requiredPermission: ACCESS });
    },
    count: () => slots.reduce((sum, slot) => sum + slot.size, 0),
    close() {
      isClosed = true;
      for (const stream of streams()) stream.finish(retryMs());
      resume();
    },
  };
}

/** So that the readers of an instance do not all come back at once. */
const retryMs = (): number => Math.floor(Math.random() * MAX_RETRY_MS);

const ACCESS = 'access.watch';

/** A signing key ends the tokens that it signed, of whichever account. */
const concerns = ({ type, id }: FeedChange, { accountId, tokenId }: Credential): boolean =>
  type === 'graph' ||
  type === 'everything' ||
  type === 'signing_key' ||
  (type === 'service_account' && id === accountId) ||
  (type === 'token' && id === tokenId);

async function mayRead(
  deps: Pick<ReaderDeps, 'apiKeys' | 'graphSource'>,
  { text, accountId }: Credential,
): Promise<boolean> {
  const { apiKeys } = deps;
  const row = await (looksLikeApiKey(text) ? apiKeys.find(text) : apiKeys.byToken(accountId, text));
  return row !== undefined && isReader(deps, row);
}

async function isReader({ graphSource }: Pick<ReaderDeps, 'graphSource'>, row: ClientRow): Promise<boolean> {
  const graph = await graphSource.at(row.authz_stamp);
  return mayDo(graph, everywhere(servicePrincipal(row).subject), ACCESS);
}
