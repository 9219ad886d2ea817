// Sends queued audit entries to the sink, from one instance at a time, in order, each at least once.
// It must not drop an entry that the sink refuses, nor hold a connection or more than a batch while it waits.
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type AuditLogEntry, failureActions } from '@castellan/contract/audit';
import type { Logger } from '../../platform/logging/log.ts';
import { createOutageLog } from '../../platform/logging/outage-log.ts';
import type { Db } from '../../schema/database.ts';
import { shownEntry } from './presentation.ts';
import { deleteQueued, endLease, findQueued, LEASE_SECONDS, takeLease } from './sink-store.ts';
import { type Sink, SinkError, type SinkRecord } from './sinks/sink.ts';

export type SinkWorker = {
  start(): void;
  /** Takes no more entries, waits for those being sent, at most `timeoutMs`, and leaves the rest to another instance. */
  stop(timeoutMs?: number): Promise<void>;
  /** Returns the entries that the sink accepted from this instance, and its attempts that failed. */
  stats(): { sent: number; failures: number };
};

// Entries of one batch: about 200 kB.
const MAX_BATCH = 200;
const POLL_MS = 1_000;
/** Another instance has the lease. */
const STAND_BY_MS = 5_000;
// Backoff: 1 s, doubled up to 5 min, each shortened by up to a fifth.
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 300_000;
/** A sink that refuses every other batch gets two lines of the log in this time. */
const LOG_EVERY_MS = 60_000;
/** The lease is renewed so often, also while the sink is failing, so that instances do not take turns to ask it. */
const MAX_PAUSE_MS = (LEASE_SECONDS * 1_000) / 3;
// Longer than an attempt may take is not needed: an entry that is sent twice has the same id.
const STOP_TIMEOUT_MS = 8_000;

const failures: ReadonlySet<string> = new Set(failureActions);

export function createSinkWorker({ db, log, sink }: { db: Db; log: Logger; sink: Sink }): SinkWorker {
  const sender = randomUUID();
  const stats = { sent: 0, failures: 0 };
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let failuresInARow = 0;
  let pausedUntil = 0;
  let renewAt = 0;
  let batchSize = MAX_BATCH;
  let isUnreachable = false;
  const outages = createOutageLog<unknown>(
    {
      begin: (err) => log.warn({ err }, 'the audit sink did not accept entries; they wait in the database'),
      end: () => log.info({}, 'the audit sink accepts entries again'),
    },
    LOG_EVERY_MS,
  );

  /** Sends one batch. Returns the milliseconds until the next. */
  async function round(): Promise<number> {
    if (performance.now() >= renewAt) {
      if (!(await takeLease(db, sender))) return STAND_BY_MS;
      renewAt = performance.now() + MAX_PAUSE_MS;
    }
    const pauseMs = pausedUntil - performance.now();
    if (pauseMs > 0) return Math.min(pauseMs, MAX_PAUSE_MS);
    const queued = await findQueued(db, batchSize);
    if (queued.length === 0) return POLL_MS;
    const entries = queued.flatMap(({ entry }) => (entry ? [shownEntry(entry)] : []));
    if (entries.length > 0 && !(await offer(entries))) return 0;
    await deleteQueued(
      db,
      queued.map(({ position }) => position),
    );
    return queued.length < batchSize ? POLL_MS : 0;
  }

  /** Returns whether the sink has the entries. */
  async function offer(entries: readonly AuditLogEntry[]): Promise<boolean> {
    try {
      await sink.send(entries.map(recordOf));
    } catch (error) {
      postpone(error);
      return false;
    }
    outages.succeeded();
    failuresInARow = 0;
    stats.sent += entries.length;
    batchSize = Math.min(MAX_BATCH, batchSize * 2);
    return true;
  }

  function postpone(error: unknown): void {
    stats.failures += 1;
    outages.failed(error);
    failuresInARow += 1;
    const isTooLarge = error instanceof SinkError && error.isTooLarge && batchSize > 1;
    if (isTooLarge) batchSize = Math.ceil(batchSize / 2);
    const backoffMs = Math.min(FIRST_RETRY_MS * 2 ** (failuresInARow - 1), MAX_RETRY_MS);
    const asked = error instanceof SinkError ? error.retryAfterMs : undefined;
    pausedUntil =
      performance.now() + (isTooLarge ? 0 : Math.max(asked ?? 0, backoffMs * (0.8 + 0.2 * Math.random())));
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      let pauseMs = MAX_PAUSE_MS;
      try {
        pauseMs = await round();
        isUnreachable = false;
      } catch (error) {
        if (!isUnreachable) log.warn({ err: error }, 'the queue of the audit sink cannot be read');
        isUnreachable = true;
        renewAt = 0;
        pauseMs = STAND_BY_MS;
      }
      await wait(pauseMs, undefined, { ref: false, signal: stopping.signal }).catch(() => undefined);
    }
    await endLease(db, sender).catch(() => undefined);
  }

  return {
    start() {
      running ??= run();
    },
    async stop(timeoutMs = STOP_TIMEOUT_MS) {
      stopping.abort();
      await Promise.race([running, wait(timeoutMs, undefined, { ref: false })]);
    },
    stats: () => ({ ...stats }),
  };
}

function recordOf(entry: AuditLogEntry): SinkRecord {
  const { id, action, actor_id, resource_type, resource_id, details } = entry;
  const address = 'address' in details && typeof details.address === 'string' ? details.address : null;
  const facts = { id, action, actor_id, resource_type, resource_id, address };
  return {
    id,
    time: entry.timestamp,
    name: action,
    isFailure: failures.has(action),
    facts: Object.fromEntries(Object.entries(facts).filter((fact): fact is [string, string] => !!fact[1])),
    content: entry,
  };
}
