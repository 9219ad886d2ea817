// Sends mails from the table `outbox`, by a worker in every instance. The transaction that causes a mail adds its row
// with `insert into outbox (kind, payload)`; the payload must not contain a secret.
// It must not hold a transaction or connection while a mail is composed or sent, nor store a secret.
import type { Pool } from 'pg';
import { createDeliveryWorker, type DeliveryWorker, SETTLE_MS } from '../delivery/worker.ts';
import type { Mail } from './message.ts';
import {
  claimStatement,
  deleteStatement,
  healStatement,
  maxDelaySeconds,
  type OutboxRow,
  outcome,
  type Statement,
} from './outbox-rows.ts';
import { MAX_SMTP_CONNECTIONS, MailRefusedError, type MailTransport, SEND_TIMEOUT_MS } from './transport.ts';

type Log = Record<'info' | 'warn' | 'error', (obj: object, msg: string) => void>;

type WorkerDeps = {
  pool: Pool;
  transport: MailTransport;
  log: Log;
  /**
   * Composes the mail of one row, at each attempt anew, so that one-time tokens are created here and never stored.
   * Null: there is nothing left to send, and the row is deleted. A rejection counts as a failed attempt. `attempt`
   * counts from 1.
   */
  compose: (kind: string, payload: unknown, attempt: number) => Promise<Mail | null>;
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
// 5 s, doubled up to 15 min. Not shortened, n > 9 attempts span 1,275 s + (n - 9) x 900 s.
const backoff = { firstMs: 5_000, maxMs: maxDelaySeconds * 1_000 };
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
export function createOutboxWorker(deps: WorkerDeps): DeliveryWorker {
  const { pool, transport, log, compose, pollMs = DEFAULT_POLL_MS, batch = MAX_SMTP_CONNECTIONS } = deps;
  const { leaseSeconds = DEFAULT_LEASE_SECONDS, maxAttempts = DEFAULT_MAX_ATTEMPTS } = deps;
  const composeMs = leaseSeconds * 1_000 - SEND_TIMEOUT_MS - SETTLE_MS;
  if (composeMs <= 0) throw new RangeError(`a lease of ${leaseSeconds} s is too short to send a mail`);

  const isFinal = (row: OutboxRow, error: unknown): boolean =>
    error instanceof MailRefusedError || row.attempts >= maxAttempts;
  const about = ({ id, kind, attempts }: OutboxRow, reason: string) => ({
    outboxId: id,
    kind,
    attempts,
    reason,
  });

  async function record(statement: Statement): Promise<void> {
    await pool.query(statement);
  }

  return createDeliveryWorker<OutboxRow>({
    parallel: batch,
    async claim(free) {
      const { rows } = await pool.query<OutboxRow>(claimStatement(free, leaseSeconds));
      return { work: rows, nextMs: rows.length === free ? 0 : pollMs };
    },
    async send(row, claimedAt) {
      // Happens only if the process died during each attempt.
      if (row.attempts > maxAttempts) throw new Error('the earlier attempts did not finish');
      const mail = await compose(row.kind, row.payload, row.attempts);
      if (mail === null) return 'obsolete';
      if (performance.now() - claimedAt > composeMs)
        throw new Error('writing the mail took longer than its lease allows');
      await transport.send(mail, { messageId: row.id });
      return 'sent';
    },
    backoff,
    failed(row, error) {
      const reason = describeFailure(error);
      if (isFinal(row, error)) log.error(about(row, reason), 'mail given up');
      else log.warn(about(row, reason), 'mail not sent; it will be retried');
    },
    settle: {
      sent: (row) => record(outcome.sent(row)),
      obsolete: (row) => record(outcome.dropped(row)),
      retry: (row, error, afterMs) => record(outcome.retry(row, describeFailure(error), afterMs / 1_000)),
    },
    deadLetter: {
      isDue: isFinal,
      settle: (row, error) => record(outcome.failed(row, describeFailure(error))),
    },
    unreachableMs: pollMs,
    tell: {
      unreachable: (error) => log.error({ err: error }, 'the outbox cannot be read; mails wait'),
      reachable: () => log.info({}, 'the outbox can be read again'),
      unsettled: (row, error) =>
        log.error({ err: error, outboxId: row.id }, 'could not record the outcome of a mail'),
      cutOff: (underWay) => log.warn({ underWay }, 'mails were still being sent at shutdown'),
    },
  });
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
