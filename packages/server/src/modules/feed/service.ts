// Serves the change feed to service accounts: as streams, and as pages with a long poll.
// It must not keep a stream open for a caller who may no longer read it.
import type { ErrorCode } from '@castellan/contract/errors';
import type { FeedChange, FeedPage, ResetReason } from '@castellan/contract/feed';
import { resetReasons } from '@castellan/contract/feed';
import type { Pool } from 'pg';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import type { Logger } from '../../platform/logging/log.ts';
import type { ApiKeys } from '../api-keys/service.ts';
import { type Audited, recordEvent } from '../audit/service.ts';
import { actorOf, type Caller, type ServicePrincipal } from '../authz/caller.ts';
import type { GraphSource } from '../authz/graph/graph.ts';
import { createBacklogs } from './backlogs.ts';
import { catchUp } from './catch-up.ts';
import { createHub, type Hub } from './hub.ts';
import { sinceArrival } from './messages.ts';
import { cursorOf, type Position } from './positions.ts';
import { createReaders } from './readers.ts';
import { type Entry, RING_BYTES } from './ring.ts';
import { FeedStream } from './stream.ts';

/** Characters. A reader whose cursor is older than what all readers may keep together begins anew. */
const MAX_BACKLOGS = 16 * RING_BYTES;

export type FeedDeps = Audited & {
  reservedPool: Pool;
  log: Logger;
  apiKeys: ApiKeys;
  graphSource: GraphSource;
  /** Returns why an access token that does not count is refused. */
  refusalOf(token: string): ErrorCode;
  settings: { feedStreams: number; feedStreamsPerCaller: number };
};

/** A request that reads the feed. */
export type Reading = {
  principal: ServicePrincipal;
  client: Client;
  /** The API key or access token that it sent. */
  credential: string;
  /** By `performance.now()`. */
  arrivedAt: number;
  after: Position | null;
};

export type Feed = {
  /** Opens a stream. Throws `overloaded`, or `rate_limited` if the caller has too many. */
  open(reading: Reading): Promise<FeedStream>;
  /** Returns changes after the position; waits for the first one. Throws as `open` does, and 401 or 403 for a reader who may no longer read. */
  read(reading: Reading, options: { limit: number; waitSeconds: number }): Promise<FeedPage>;
  /** Says good-bye to every stream, answers those that wait, and sends no further statement. */
  close(): void;
  stats(): FeedStats;
};

type FeedStats = {
  streams: number;
  lagSeconds: number | null;
  /** How often readers of this process had to forget everything. */
  resets: Readonly<Record<ResetReason, number>>;
};

/** Returns the service account that calls. Throws `service_account_required` (403) for people. */
export function serviceAccountOf({ principal }: Caller): ServicePrincipal {
  if (principal.type === 'service_account') return principal;
  throw new AppError('service_account_required');
}

export function createFeed(deps: FeedDeps): Feed {
  const { reservedPool: pool } = deps;
  const hub = createHub(pool, deps.log);
  const resets = Object.fromEntries(resetReasons.map((reason) => [reason, 0])) as Record<ResetReason, number>;
  const countReset = (reason: ResetReason): void => {
    resets[reason] += 1;
  };
  const readers = createReaders(deps, hub);
  const backlogs = createBacklogs(MAX_BACKLOGS);

  /** Takes one of the places, and records who reads. */
  async function enter(reading: Reading, isStream: boolean): Promise<() => void> {
    const leave = readers.enter(reading.principal.id);
    try {
      if (isStream || reading.after === null)
        await recordEvent(deps, reading.client, {
          action: 'feed_opened',
          ...actorOf(reading.principal),
          resourceType: 'service_account',
          resourceId: reading.principal.id,
          resourceName: reading.principal.name,
          details: { stream: isStream, resumed: reading.after !== null },
        });
      const release = await hub.hold();
      return () => {
        release();
        leave();
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  return {
    async open(reading) {
      const leave = await enter(reading, true);
      const share = backlogs.share();
      try {
        const caught = reading.after && (await catchUp(pool, hub, reading.after, share));
        const { refused = null } = caught ?? {};
        const backlog = caught?.refused === null ? caught.backlog : [];
        if (backlog.length === 0) share.end();
        const stream = new FeedStream(
          hub,
          { arrivedAt: reading.arrivedAt, from: reading.after, backlog, refused, onCaughtUp: share.end },
          countReset,
        );
        readers.add(stream, reading);
        return stream.once('close', () => {
          share.end();
          leave();
        });
      } catch (error) {
        share.end();
        leave();
        throw error;
      }
    },
    async read(reading, options) {
      const leave = await enter(reading, false);
      try {
        const page = await readPage(pool, hub, reading, { ...options, countReset, changed: readers.changed });
        if (options.waitSeconds > 0) await readers.authorize(reading);
        return page;
      } finally {
        leave();
      }
    },
    close() {
      readers.close();
      hub.stop();
    },
    stats: () => ({ streams: readers.count(), lagSeconds: hub.stats().lagSeconds, resets: { ...resets } }),
  };
}

type PageOptions = {
  limit: number;
  waitSeconds: number;
  countReset(reason: ResetReason): void;
  /** Resolves at the next change, and when the signal aborts. False: nothing more comes. */
  changed(signal: AbortSignal): Promise<boolean>;
};

async function readPage(
  pool: Pool,
  hub: Hub,
  { after, arrivedAt, client }: Reading,
  { limit, waitSeconds, countReset, changed }: PageOptions,
): Promise<FeedPage> {
  const page = (resumed: boolean, position: Position, entries: readonly Entry[]): FeedPage => {
    const more = resumed && !isHead(hub, position);
    return {
      resumed,
      live: hub.isLive,
      at: sinceArrival(more ? (entries.at(-1)?.completeAt ?? null) : hub.completeAt, arrivedAt),
      changes: JSON.parse(`[${entries.map(({ text }) => text).join(',')}]`) as FeedChange[],
      cursor: cursorOf(position),
      more,
    };
  };
  if (after === null) return page(false, hub.ring.head, []);
  const end = AbortSignal.any([client.gone, AbortSignal.timeout(waitSeconds * 1_000)]);
  for (let goesOn = waitSeconds > 0; ; goesOn = await changed(end)) {
    const caught = await catchUp(pool, hub, after, { most: limit });
    if (caught.refused) {
      countReset(caught.refused);
      return page(false, hub.ring.head, []);
    }
    const entries = [...caught.backlog];
    let count = entries.reduce((sum, entry) => sum + entry.count, 0);
    for (
      let next = caught.isJoined ? hub.ring.after(entries.at(-1) ?? after) : undefined;
      next && (entries.length === 0 || count + next.count <= limit);
      next = hub.ring.after(next)
    ) {
      entries.push(next);
      count += next.count;
    }
    if (entries.length > 0 || !goesOn || end.aborted) return page(true, entries.at(-1) ?? after, entries);
  }
}

const isHead = (hub: Hub, { seq, stamp }: Position): boolean =>
  hub.ring.head.seq === seq && hub.ring.head.stamp === stamp;
