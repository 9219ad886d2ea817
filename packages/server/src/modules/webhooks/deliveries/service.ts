// Shows what was delivered to a webhook, and lets a delivery be sent again.
// It must not show anything of an answer but its status.
import type {
  ResentDelivery,
  WebhookDelivery,
  WebhookDeliveryDetail,
  WebhookDeliveryPage,
  WebhookDeliveryQuery,
} from '@castellan/contract/webhooks';
import { AppError } from '../../../platform/errors.ts';
import { readPeriod } from '../../../platform/times.ts';
import type { Caller } from '../../authz/caller.ts';
import { change } from '../../authz/change.ts';
import { sameAccess } from '../../authz/impact/impact.ts';
import { mayUse } from '../../authz/requirements/call.ts';
import { requireMayReadEvents, requireWebhook, type WebhookDeps, webhookEntry } from '../record.ts';
import { findMessage } from '../sending/message.ts';
import { hasWebhook } from '../store.ts';
import {
  type DeliveryRow,
  findAttempts,
  findDeliveries,
  findDelivery,
  lockDelivery,
  resendRow,
} from './store.ts';

const toDelivery = ({ created_at, next_at, settled_at, ...row }: DeliveryRow): WebhookDelivery => ({
  ...row,
  created_at: created_at.toISOString(),
  next_at: next_at?.toISOString() ?? null,
  settled_at: settled_at?.toISOString() ?? null,
});

/** Returns a page, newest first. Throws 403, 422 for wrong times, `webhook_not_found` (404). */
export async function listDeliveries(
  { db }: WebhookDeps,
  caller: Caller,
  webhookId: string,
  { state, type, size, cursor, ...period }: WebhookDeliveryQuery,
): Promise<WebhookDeliveryPage> {
  // Who may read webhooks knows which there are.
  if (!(await hasWebhook(db, webhookId))) throw new AppError('webhook_not_found');
  requireMayReadEvents(caller);
  const rows = await findDeliveries(db, webhookId, {
    state: state ?? null,
    type: type ?? null,
    ...readPeriod(period),
    before: cursor ?? null,
    limit: size + 1,
  });
  const page = rows.slice(0, size);
  const last = page.at(-1);
  return {
    data: page.map(toDelivery),
    next_cursor: last && rows.length > size ? last.id : null,
    message: 'Deliveries, newest first.',
  };
}

/** Returns a delivery with its attempts, and with the event as it would be sent now. Throws 403, 404. */
export async function getDelivery(
  deps: WebhookDeps,
  caller: Caller,
  webhookId: string,
  id: string,
): Promise<WebhookDeliveryDetail> {
  if (!(await hasWebhook(deps.db, webhookId))) throw new AppError('webhook_not_found');
  requireMayReadEvents(caller);
  const row = await findDelivery(deps.db, webhookId, id);
  if (!row) throw new AppError('delivery_not_found');
  const [attempts, event] = await Promise.all([
    findAttempts(deps.db, id),
    findMessage(deps.db, webhookId, { id, sourceId: row.event_id, isReplay: row.replay }),
  ]);
  return {
    ...toDelivery(row),
    payload: event === null ? null : { ...event },
    attempts: attempts.map(({ at, ...one }) => ({ at: at.toISOString(), ...one })),
  };
}

/** Queues a delivery again, in its place: it is the next one with its key. Throws 404, 403. */
export async function resendDelivery(
  deps: WebhookDeps,
  caller: Caller,
  webhookId: string,
  id: string,
): Promise<ResentDelivery> {
  return change(deps, caller, async (locking) => {
    const { entitled, webhook } = await requireWebhook(locking, webhookId);
    if (!(await lockDelivery(locking.tx, webhookId, id))) throw new AppError('delivery_not_found');
    await resendRow(entitled, id);
    const row = await findDelivery(locking.tx, webhookId, id);
    if (!row) throw new Error('a delivery that this transaction has locked is missing');
    const entry = webhookEntry('webhook_replayed', webhook, {
      details: { delivery_id: id, type: row.type, count: 1 },
    });
    const { event_id, type, ...outcome } = toDelivery(row);
    // Ids of deliveries can be counted up, so the answer must not tell what the audit log has.
    const event = mayUse(caller, 'audit_log.read') ? { event_id, type } : {};
    return entitled.done<ResentDelivery>({ ...outcome, ...event }, sameAccess, entry);
  });
}
