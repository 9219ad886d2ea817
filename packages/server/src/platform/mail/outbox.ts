// Sends mails from the table `outbox`, by a worker in every instance. The transaction that causes a mail adds its row
// with `insert into outbox (kind, payload)`; the payload must not contain a secret.
// It must not hold a transaction or connection while a mail is composed or sent, nor store a secret.
import { setTimeout as wait } from 'node:timers/promises';
import type { Pool } from 'pg';
import {
  claimStatement,
  deleteStatement,
  healStatement,
  type OutboxRow,
  outcome,
  type Statement,
} from './outbox-rows.ts';
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
  /** Checks for due mails now. Call it after the commit of a transaction that added one. */
  wake(): void;
  /**
   * Takes no more mails and waits for those being sent, at most `timeoutMs`. The rest is sent after the next start.
   * Further calls return the first call's promise.
   */
  stop(timeoutMs?: number): Promise<void>;
  /** Sends due mails without `start`, until none is due. Returns how many mails were sent. */
  drain(): Promise<number>;
  /** Returns how the attempts of this process ended. */
  stats(): { sent: number; retried: number; givenUp: number };
};

type WorkerDeps = {
  pool: Pool;
  transport: MailTransport;
  log: Log;
  /**
   * Composes the mail of one row, at each attempt anew, so that one-time tokens are created here and never stored.
   * Null: nothing is to be sent any more, and the row is deleted. A rejection counts as a failed attempt.
   */
  compose: (kind: string, payload: unknown) => Promise<Mail | null>;
  pollMs?: number;
  /** Number of mails that are sent at once. */
  batch?: number;
  leaseSeconds?: number;
  maxAttempts?: number;
};

// With the backoff: 26.9 h at most, 24.2 h on average. No mail is lost in an outage of a day.
const DEFAULT_MAX_ATTEMPTS = 115;

const DEFAULT_POLL_MS = 2_000; // finds mails of stopped instances, and retries that became due
const DEFAULT_LEASE_SECONDS = 90;
const SETTLE_MS = 20_000; // part of the lease that is reserved for recording the outcome
const settlePausesMs = [1_000, 2_000, 4_000, 8_000];
const DEFAULT_STOP_TIMEOUT_MS = 8_000; // supervisors kill after 10 s (Docker) to 90 s (systemd)
const MAX_REASON_LENGTH = 500;

/** Returns one line for operators. Servers quote what they refuse, so it omits links, emails and possible tokens. */
export function describeFailure(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : 'not an Error';
  return text
    .slice(0, 4 * MAX_REASON_LENGTH)
    .replace(/\p{C}+/gu, ' ')
    .replace(/[a-z]+:\/\/\S+/gi, '[link]')
    .replace(/[^\s<>]+@[^\s<>]+/g, '[address]')
    .replace(/[\w+/=-]{24,}/g, '[...]')
    .slice(0, MAX_REASON_LENGTH);
}

/**
 * Creates a worker. It sends every mail at least once. A mail is sent twice only if the process dies or loses the
 * database between the mail server's "250" and the update of `sent_at`. The Message-ID is the row's id, so that
 * receivers can drop the duplicate.
 */
export function createOutboxWorker(deps: WorkerDeps): OutboxWorker {
  const { pool, transport, log, compose, pollMs = DEFAULT_POLL_MS, batch = MAX_SMTP_CONNECTIONS } = deps;
  const { leaseSeconds = DEFAULT_LEASE_SECONDS, maxAttempts = DEFAULT_MAX_ATTEMPTS } = deps;
  const composeMs = leaseSeconds * 1_000 - SEND_TIMEOUT_MS - SETTLE_MS;
  if (composeMs <= 0) throw new RangeError(`a lease of ${leaseSeconds} s is too short to send a mail`);

  const sending = new Set<Promise<void>>();
  let poll: NodeJS.Timeout | undefined;
  let round: Promise<void> | undefined;
  let moreMayBeDue = false;
  let unreachable = false;
  const attempts = { sent: 0, retried: 0, givenUp: 0 };
  let stopped: Promise<void> | undefined;

  async function claim(count: number): Promise<OutboxRow[]> {
    return (await pool.query<OutboxRow>(claimStatement(count, leaseSeconds))).rows;
  }

  /** Records how an attempt ended, with retries: a lost outcome would send the mail twice. Never rejects. */
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
      attempts.givenUp += 1;
      log.error(about, 'mail given up');
      await settle(row, outcome.failed(row, reason));
    } else {
      attempts.retried += 1;
      log.warn(about, 'mail not sent; it will be retried');
      await settle(row, outcome.retry(row, reason));
    }
  }

  /** Returns whether a mail was sent. Never rejects. */
  async function deliver(row: OutboxRow, claimedAt: number): Promise<boolean> {
    try {
      // Happens only if the process died during each attempt.
      if (row.attempts > maxAttempts) throw new Error('the earlier attempts did not finish');
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
    attempts.sent += 1;
    await settle(row, outcome.sent(row));
    return true;
  }

  function launch(row: OutboxRow, claimedAt: number): void {
    const delivery = deliver(row, claimedAt).then(() => {
      sending.delete(delivery);
      if (moreMayBeDue) pump();
    });
    sending.add(delivery);
  }

  async function claimUntilFull(): Promise<void> {
    try {
      do {
        moreMayBeDue = false;
        const claimedAt = performance.now();
        const free = batch - sending.size;
        const rows = await claim(free);
        if (rows.length === free) moreMayBeDue = true;
        for (const row of rows) launch(row, claimedAt);
      } while (moreMayBeDue && poll && sending.size < batch);
      if (unreachable) log.info({}, 'the outbox can be read again');
      unreachable = false;
    } catch (error) {
      if (!unreachable) log.error({ err: error }, 'the outbox cannot be read; mails wait');
      unreachable = true;
    } finally {
      round = undefined; // in the same tick as the last check of moreMayBeDue, so that no wake is lost
    }
  }

  function pump(): void {
    moreMayBeDue = true;
    if (poll && sending.size < batch) round ??= claimUntilFull();
  }

  async function waitForMails(timeoutMs: number): Promise<void> {
    const bound = new AbortController();
    const late = wait(timeoutMs, true, { signal: bound.signal }).catch(() => false);
    const ended = (async () => {
      await round;
      await Promise.all(sending);
      return false;
    })();
    if (await Promise.race([late, ended]))
      log.warn({ underWay: sending.size }, 'mails were still being sent at shutdown');
    bound.abort();
  }

  return {
    start() {
      stopped = undefined;
      poll ??= setInterval(pump, pollMs).unref();
      pump();
    },
    wake: pump,
    stop(timeoutMs = DEFAULT_STOP_TIMEOUT_MS) {
      clearInterval(poll);
      poll = undefined;
      stopped ??= waitForMails(timeoutMs);
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
    stats: () => ({ ...attempts }),
  };
}

/** Makes mails due that were postponed too far because the clock was ahead. Returns how many. */
export async function healOutbox(pool: Pool): Promise<number> {
  return (await pool.query(healStatement())).rowCount ?? 0;
}

/**
 * Deletes mails that were sent or given up more than `olderThanDays` ago. Returns how many. Each statement deletes at
 * most `batchSize`. At most `maxBatches` statements run; the rest is left to the next call.
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
