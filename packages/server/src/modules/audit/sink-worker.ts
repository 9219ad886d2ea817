// Sends queued audit entries to the sink, from one instance at a time, in order, each at least once.
// It must not drop an entry that the sink refuses, nor hold a connection or more than a batch while it waits.
import { randomUUID } from 'node:crypto';
import { type AuditLogEntry, failureActions } from '@castellan/contract/audit';
import { type Claimed, createDeliveryWorker } from '../../platform/delivery/worker.ts';
import type { Logger } from '../../platform/logging/log.ts';
import { createOutageLog } from '../../platform/logging/outage-log.ts';
import type { Db } from '../../schema/database.ts';
import { shownEntry } from './presentation.ts';
import { deleteQueued, endLease, findQueued, LEASE_SECONDS, takeLease } from './sink-store.ts';
import { createHeadSender } from './sinks/head-sender.ts';
import { type Sink, SinkError, type SinkHead, type SinkRecord } from './sinks/sink.ts';

export type SinkWorker = {
  start(): void;
  /** Sends a signed head of the log from this instance, also while another one sends the entries. */
  tellHead(head: SinkHead): void;
  /** Takes no more entries, waits for those being sent, at most `timeoutMs`, and leaves the rest to another instance. */
  stop(timeoutMs?: number): Promise<void>;
  /** Returns the entries that the sink accepted from this instance, and its attempts that failed. */
  stats(): { sent: number; failures: number };
};

type Batch = {
  positions: readonly string[];
  /** Without those that were deleted. */
  entries: readonly AuditLogEntry[];
  attempts: number;
};

// Entries of one batch: about 200 kB.
const MAX_BATCH = 200;
const POLL_MS = 1_000;
/** Another instance has the lease. */
const STAND_BY_MS = 5_000;
const backoff = { firstMs: 1_000, maxMs: 300_000 };
/** A sink that refuses every other batch gets two lines of the log in this time. */
const LOG_EVERY_MS = 60_000;
/** The lease is renewed so often, also while the sink is failing, so that instances do not take turns to ask it. */
const MAX_PAUSE_MS = (LEASE_SECONDS * 1_000) / 3;

const failures: ReadonlySet<string> = new Set(failureActions);

export function createSinkWorker({ db, log, sink }: { db: Db; log: Logger; sink: Sink }): SinkWorker {
  const sender = randomUUID();
  let sent = 0;
  let failuresInARow = 0;
  let pausedUntil = 0;
  let renewAt = 0;
  let batchSize = MAX_BATCH;
  let mayBeSending = false;
  const heads = createHeadSender({ sink, log });
  const outages = createOutageLog<unknown>(
    {
      begin: (err) => log.warn({ err }, 'the audit sink did not accept entries; they wait in the database'),
      end: () => log.info({}, 'the audit sink accepts entries again'),
    },
    LOG_EVERY_MS,
  );

  /** Returns one batch, if this instance has the lease and the sink is not to be left alone. */
  async function claim(): Promise<Claimed<Batch>> {
    if (performance.now() >= renewAt) {
      if (!(await takeLease(db, sender))) return { work: [], nextMs: STAND_BY_MS };
      renewAt = performance.now() + MAX_PAUSE_MS;
    }
    const pauseMs = pausedUntil - performance.now();
    if (pauseMs > 0) return { work: [], nextMs: Math.min(pauseMs, MAX_PAUSE_MS) };
    const queued = await findQueued(db, batchSize);
    if (queued.length === 0) return { work: [], nextMs: POLL_MS };
    const batch = {
      positions: queued.map(({ position }) => position),
      entries: queued.flatMap(({ entry }) => (entry ? [shownEntry(entry)] : [])),
      attempts: failuresInARow + 1,
    };
    return { work: [batch], nextMs: queued.length < batchSize ? POLL_MS : 0 };
  }

  function postpone(error: unknown, afterMs: number): void {
    failuresInARow += 1;
    const isTooLarge = error instanceof SinkError && error.isTooLarge && batchSize > 1;
    if (isTooLarge) {
      batchSize = Math.ceil(batchSize / 2);
      worker.wake();
    } else {
      const asked = error instanceof SinkError ? error.retryAfterMs : undefined;
      pausedUntil = performance.now() + Math.max(asked ?? 0, afterMs);
    }
  }

  const settled = ({ positions }: Batch): Promise<void> => deleteQueued(db, positions);
  const worker = createDeliveryWorker<Batch>({
    // In order: one batch after the other.
    parallel: 1,
    claim: () =>
      claim().catch((error: unknown) => {
        renewAt = 0;
        throw error;
      }),
    async send({ entries }) {
      if (entries.length === 0) return 'obsolete';
      await sink.send(entries.map(recordOf));
      outages.succeeded();
      failuresInARow = 0;
      sent += entries.length;
      batchSize = Math.min(MAX_BATCH, batchSize * 2);
      return 'sent';
    },
    failed: (_, error) => outages.failed(error),
    backoff,
    settle: {
      sent: settled,
      obsolete: settled,
      // For as long as the sink refuses them.
      retry: async (_, error, afterMs) => postpone(error, afterMs),
    },
    unreachableMs: STAND_BY_MS,
    tell: {
      unreachable: (error) => log.warn({ err: error }, 'the queue of the audit sink cannot be read'),
      reachable: () => log.info({}, 'the queue of the audit sink can be read again'),
      unsettled: (_, error) => log.warn({ err: error }, 'the queue of the audit sink cannot be written'),
      cutOff: () => {
        mayBeSending = true;
      },
    },
  });

  return {
    start() {
      worker.start();
      heads.start();
    },
    tellHead: (head) => heads.offer(head),
    async stop(timeoutMs) {
      await Promise.all([worker.stop(timeoutMs), heads.stop(timeoutMs)]);
      // Another instance would send again what is still under way.
      if (!mayBeSending) await endLease(db, sender).catch(() => undefined);
    },
    stats: () => ({ sent, failures: worker.stats().retried }),
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
