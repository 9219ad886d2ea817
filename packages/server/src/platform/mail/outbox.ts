// Mails as rows of the transactions that cause them, sent afterwards by a worker in every instance.
// It must hold no transaction or connection while a mail is written or sent, and store no secret.
import { setTimeout as wait } from 'node:timers/promises';
import type { Pool } from 'pg';
import { claimStatement, deleteStatement, type OutboxRow, outcome, type Statement } from './outbox-rows.ts';
import {
  MAX_SMTP_CONNECTIONS,
  type Mail,
  MailRefusedError,
  type MailTransport,
  SEND_TIMEOUT_MS,
} from './transport.ts';

type Log = Record<'info' | 'warn' | 'error', (obj: object, msg: string) => void>;

export type OutboxWorker = {
  start(): void;
  /** Looks for due mails now: call it after the commit of a transaction that enqueued one. */
  wake(): void;
  /**
   * Takes no more mails and waits for those under way, at most `timeoutMs`. What remains is sent after a start. Called
   * again it waits for the end of the first wait only.
   */
  stop(timeoutMs?: number): Promise<void>;
  /** Sends what is due, without `start`, until nothing is; answers how many mails were sent. */
  drain(): Promise<number>;
};

type WorkerDeps = {
  pool: Pool;
  transport: MailTransport;
  log: Log;
  /**
   * Writes the mail of one row, anew for each attempt, so that one-time tokens are made here and never stored.
   * Null: there is nothing to send any more, and the row goes. A rejection counts as a failed attempt.
   */
  compose: (kind: string, payload: unknown) => Promise<Mail | null>;
  pollMs?: number;
  /** Mails under way at once. */
  batch?: number;
  leaseSeconds?: number;
  maxAttempts?: number;
};

// With the back-off: 26.9 h at the longest, 24.2 h on average. An outage of a day loses no mail.
const defaultMaxAttempts = 115;

const defaultPollMs = 2_000; // finds what other instances left over, and retries that became due
const defaultLeaseSeconds = 90;
const settleMs = 20_000; // what is left of a lease, at least, to write down how an attempt ended
const settlePausesMs = [1_000, 2_000, 4_000, 8_000];
const defaultStopTimeoutMs = 8_000; // supervisors kill after 10 s (Docker) to 90 s (systemd)
const maxReasonLength = 500;

export const enqueueMailSql = 'insert into outbox (kind, payload) values ($1, $2::jsonb)';

/** The insert as one statement, for a transaction that is not a `pg` client. The payload must hold no secret. */
export const enqueueMailStatement = (kind: string, payload: object): Statement => ({
  name: 'outbox_enqueue',
  text: enqueueMailSql,
  values: [kind, JSON.stringify(payload)],
});

/** Adds a mail to the caller's transaction: it is sent if and only if that commits. Then `wake` the worker. */
export async function enqueueMail(
  tx: { query(config: Statement): Promise<unknown> },
  kind: string,
  payload: object,
): Promise<void> {
  await tx.query(enqueueMailStatement(kind, payload));
}

/** One line for operators. Servers quote what they refuse, so links, addresses and whatever may be a token go out. */
export function describeFailure(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : 'not an Error';
  return text
    .slice(0, 4 * maxReasonLength)
    .replace(/\p{C}+/gu, ' ')
    .replace(/[a-z]+:\/\/\S+/gi, '[link]')
    .replace(/[^\s<>]+@[^\s<>]+/g, '[address]')
    .replace(/[\w+/=-]{24,}/g, '[...]')
    .slice(0, maxReasonLength);
}

/**
 * Every mail goes out at least once, and once only unless the process dies or loses the database between the
 * server's "250" and the row's `sent_at`. The Message-ID is the row's id, so that receivers can drop the double.
 */
export function createOutboxWorker(deps: WorkerDeps): OutboxWorker {
  const { pool, transport, log, compose, pollMs = defaultPollMs, batch = MAX_SMTP_CONNECTIONS } = deps;
  const { leaseSeconds = defaultLeaseSeconds, maxAttempts = defaultMaxAttempts } = deps;
  const composeMs = leaseSeconds * 1_000 - SEND_TIMEOUT_MS - settleMs;
  if (composeMs <= 0) throw new RangeError(`a lease of ${leaseSeconds} s is too short to send a mail`);

  const underWay = new Set<Promise<void>>();
  let poll: NodeJS.Timeout | undefined;
  let round: Promise<void> | undefined;
  let moreMayBeDue = false;
  let unreachable = false;
  let stopped: Promise<void> | undefined;

  async function claim(count: number): Promise<OutboxRow[]> {
    return (await pool.query<OutboxRow>(claimStatement(count, leaseSeconds))).rows;
  }

  /** Writes down how an attempt ended; an outcome that is lost would send the mail twice, so it is worth retries. */
  async function settle(row: OutboxRow, statement: Statement): Promise<void> {
    for (const pauseMs of [...settlePausesMs, null]) {
      try {
        await pool.query(statement);
        return;
      } catch (error) {
        if (pauseMs === null)
          log.error({ err: error, outboxId: row.id }, 'could not record the outcome of a mail');
        else await wait(pauseMs);
      }
    }
  }

  async function settleFailure(row: OutboxRow, error: unknown): Promise<void> {
    const reason = describeFailure(error);
    const about = { outboxId: row.id, kind: row.kind, attempts: row.attempts, reason };
    if (error instanceof MailRefusedError || row.attempts >= maxAttempts) {
      log.error(about, 'mail given up');
      await settle(row, outcome.failed(row, reason));
    } else {
      log.warn(about, 'mail not sent, it will be tried again');
      await settle(row, outcome.retry(row, reason));
    }
  }

  /** Answers whether a mail was sent. Never rejects. */
  async function deliver(row: OutboxRow, claimedAt: number): Promise<boolean> {
    try {
      // Only a process that dies at each attempt comes here.
      if (row.attempts > maxAttempts) throw new Error('the attempts before did not come to an end');
      const mail = await compose(row.kind, row.payload);
      if (mail === null) {
        await settle(row, outcome.dropped(row));
        return false;
      }
      if (performance.now() - claimedAt > composeMs)
        throw new Error('writing the mail took longer than its lease allows');
      await transport.send(mail, { messageId: row.id });
    } catch (error) {
      await settleFailure(row, error);
      return false;
    }
    await settle(row, outcome.sent(row));
    return true;
  }

  function launch(row: OutboxRow, claimedAt: number): void {
    const delivery = deliver(row, claimedAt).then(() => {
      underWay.delete(delivery);
      if (moreMayBeDue) pump();
    });
    underWay.add(delivery);
  }

  async function claimUntilFull(): Promise<void> {
    try {
      do {
        moreMayBeDue = false;
        const claimedAt = performance.now();
        const free = batch - underWay.size;
        const rows = await claim(free);
        if (rows.length === free) moreMayBeDue = true;
        for (const row of rows) launch(row, claimedAt);
      } while (moreMayBeDue && poll && underWay.size < batch);
      if (unreachable) log.info({}, 'the outbox is reachable again');
      unreachable = false;
    } catch (error) {
      if (!unreachable) log.error({ err: error }, 'the outbox is not reachable; mails wait');
      unreachable = true;
    } finally {
      round = undefined; // in the same step as the last look at moreMayBeDue, so that no wake falls in between
    }
  }

  function pump(): void {
    moreMayBeDue = true;
    if (poll && underWay.size < batch) round ??= claimUntilFull();
  }

  async function settleDown(timeoutMs: number): Promise<void> {
    const bound = new AbortController();
    const late = wait(timeoutMs, true, { signal: bound.signal }).catch(() => false);
    const ended = (async () => {
      await round;
      await Promise.all(underWay);
      return false;
    })();
    if (await Promise.race([late, ended]))
      log.warn({ underWay: underWay.size }, 'mails still under way at the stop');
    bound.abort();
  }

  return {
    start() {
      stopped = undefined;
      poll ??= setInterval(pump, pollMs).unref();
      pump();
    },
    wake: pump,
    stop(timeoutMs = defaultStopTimeoutMs) {
      clearInterval(poll);
      poll = undefined;
      stopped ??= settleDown(timeoutMs);
      return stopped;
    },
    async drain() {
      for (let sent = 0; ; ) {
        const claimedAt = performance.now();
        const rows = await claim(batch);
        if (rows.length === 0) return sent;
        const results = await Promise.all(rows.map((row) => deliver(row, claimedAt)));
        sent += results.filter(Boolean).length;
      }
    },
  };
}

/**
 * Removes mails that were sent or given up more than `olderThanDays` ago and answers how many; none that waits.
 * Each statement removes at most `batchSize`, at most `maxBatches` run, the rest waits for the next call.
 */
export async function deleteOldOutbox(
  pool: Pool,
  olderThanDays: number,
  { batchSize = 1_000, maxBatches = 100 }: { batchSize?: number; maxBatches?: number } = {},
): Promise<number> {
  let deleted = 0;
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const { rowCount } = await pool.query(deleteStatement(olderThanDays, batchSize));
    deleted += rowCount ?? 0;
    if ((rowCount ?? 0) < batchSize) break;
  }
  return deleted;
}
