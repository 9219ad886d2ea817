// Sends signed heads of the audit log to the sink, the latest only: a head covers what those before it do.
// It must not keep a head longer than the process, nor make the sealer wait.
import { createDeliveryWorker } from '../../../platform/delivery/worker.ts';
import type { Logger } from '../../../platform/logging/log.ts';
import { createOutageLog } from '../../../platform/logging/outage-log.ts';
import { type Sink, SinkError, type SinkHead } from './sink.ts';

export type HeadSender = {
  start(): void;
  stop(timeoutMs?: number): Promise<void>;
  /** Sends this head, also in place of one that the sink has not accepted yet. */
  offer(head: SinkHead): void;
};

const backoff = { firstMs: 1_000, maxMs: 300_000 };
const LOG_EVERY_MS = 60_000;
const IDLE_MS = 60_000;

export function createHeadSender({ sink, log }: { sink: Sink; log: Logger }): HeadSender {
  let waiting: SinkHead | null = null;
  let attempts = 0;
  let pausedUntil = 0;
  const outages = createOutageLog<unknown>(
    {
      begin: (err) => log.warn({ err }, 'the audit sink did not accept a head of the audit log'),
      end: () => log.info({}, 'the audit sink accepts heads of the audit log again'),
    },
    LOG_EVERY_MS,
  );
  const settled = async ({ head }: { head: SinkHead }): Promise<void> => {
    attempts = 0;
    if (waiting === head) waiting = null;
  };
  const worker = createDeliveryWorker<{ head: SinkHead; attempts: number }>({
    parallel: 1,
    claim: async () => {
      const pauseMs = pausedUntil - performance.now();
      if (waiting === null) return { work: [], nextMs: IDLE_MS };
      if (pauseMs > 0) return { work: [], nextMs: pauseMs };
      attempts += 1;
      return { work: [{ head: waiting, attempts }], nextMs: IDLE_MS };
    },
    async send({ head }) {
      await sink.sendHead(head);
      outages.succeeded();
      return 'sent';
    },
    failed: (_, error) => outages.failed(error),
    backoff,
    settle: {
      sent: settled,
      obsolete: settled,
      async retry(_, error, afterMs) {
        const asked = error instanceof SinkError ? error.retryAfterMs : undefined;
        pausedUntil = performance.now() + Math.max(asked ?? 0, afterMs);
        worker.wake();
      },
    },
    unreachableMs: IDLE_MS,
    // Claiming and settling are in memory, and what is cut off is in the database as the last head.
    tell: { unreachable() {}, reachable() {}, unsettled() {}, cutOff() {} },
  });
  return {
    start: () => worker.start(),
    stop: (timeoutMs) => worker.stop(timeoutMs),
    offer(head) {
      waiting = head;
      worker.wake();
    },
  };
}
