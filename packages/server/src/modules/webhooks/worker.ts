// Delivers events to webhooks, by a worker in every instance, and pauses those that do not answer.
import { sql } from 'kysely';
import { createBatchedLookup } from '../../platform/db/batched.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { createTargetWorker, type TargetWorker } from '../../platform/delivery/targets.ts';
import type { Logger } from '../../platform/logging/log.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { type AuditLog, recordChange } from '../audit/service.ts';
import { workOffReplays } from './deliveries/replays.ts';
import { actionsOf } from './fields.ts';
import { type SendDeps, sendEvent } from './sending/attempts.ts';
import { eventOf, messageId } from './sending/message.ts';
import { findMessages, type MessageRow, type Wanted } from './sending/message-rows.ts';
import { findWebhook, pauseTarget, type WebhookRow } from './store.ts';

export type WebhookWorkerDeps = SendDeps & {
  db: Db;
  log: Logger;
  auditLog: AuditLog;
  settings: SendDeps['settings'] & { webhookHours: number };
  /** Queues a mail to each person who should know that a webhook is paused. */
  notify(tx: Tx, webhook: PausedWebhook): Promise<void>;
  /** Called after the commit of a pause. */
  wakeMails(): void;
};

export type PausedWebhook = Pick<WebhookRow, 'id' | 'name' | 'created_by_id'> & {
  reason: 'failing' | 'gone';
};

/** Connections that read messages at once. */
const READS = 2;
/** A round of the worker goes on after this. */
const REPLAYS_BUDGET_MS = 250;

export function createWebhookWorker(deps: WebhookWorkerDeps): TargetWorker {
  const { db, log } = deps;
  const find = createBatchedLookup<Wanted, MessageRow>(READS, (wanted) => findMessages(db, wanted));
  let isResolved = false;
  return createTargetWorker(
    db,
    {
      kind: 'webhook',
      hours: deps.settings.webhookHours,
      async send(webhookId, one) {
        const row = await find({ webhookId, entryId: one.sourceId, deliveryId: one.id });
        try {
          const event = row ? eventOf(row, one) : null;
          if (!row || event === null) return { status: null, cause: 'removed', ms: 0, isLast: true };
          return await sendEvent(deps, row, messageId(webhookId, one.sourceId), event);
        } catch (error) {
          log.error({ err: error, webhook_id: webhookId, delivery_id: one.id }, 'an event could not be sent');
          return { status: null, cause: 'internal', ms: 0 };
        }
      },
      pause: (id, reason) => pauseWebhook(deps, id, reason),
      async prepare() {
        if (!isResolved) await resolvePatterns(db);
        isResolved = true;
        await workOffReplays(db, REPLAYS_BUDGET_MS);
      },
    },
    log,
  );
}

/** Writes which actions the patterns of webhooks match in this release. An instance of another release has done it for its own. */
async function resolvePatterns(db: Db): Promise<void> {
  const { rows } = await sql<Pick<WebhookRow, 'id' | 'events' | 'results'>>`
    select id, events, results from webhooks`.execute(db);
  for (const row of rows) {
    const actions = actionsOf(row);
    await sql`
      update webhooks set actions = ${actions}::text[]
      where id = ${row.id} and events = ${row.events}::text[] and results = ${row.results} and actions <> ${actions}::text[]`.execute(
      db,
    );
  }
}

/** Pauses a webhook that does not answer, and tells its creator and the superusers. */
async function pauseWebhook(
  { db, auditLog, notify, wakeMails }: WebhookWorkerDeps,
  id: string,
  reason: PausedWebhook['reason'],
): Promise<void> {
  const isPaused = await inTransaction(db, async (tx) => {
    if (!(await pauseTarget(tx, id, reason))) return false;
    const webhook = await findWebhook(tx, id);
    if (!webhook) return false;
    const { name, failures, waiting, created_by_id } = webhook;
    await recordChange(tx, auditLog, null, {
      action: 'webhook_paused',
      actorId: null,
      resourceType: 'webhook',
      resourceId: id,
      resourceName: name,
      details: { reason, failures, waiting },
    });
    await notify(tx, { id, name, created_by_id, reason });
    return true;
  });
  if (isPaused) wakeMails();
}
