// Queues past events again for a webhook: the request says which, and every instance works on what was asked for.
// It must not queue them in the request, which would take as long as there are many.
import type { ReplayWebhookBody, WebhookReplay } from '@castellan/contract/webhooks';
import { MAX_REPLAYED } from '@castellan/contract/webhooks';
import { inTransaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import { newId } from '../../../platform/ids.ts';
import { canonicalTime } from '../../../platform/times.ts';
import type { Db } from '../../../schema/database.ts';
import type { Caller } from '../../authz/caller.ts';
import { change } from '../../authz/change.ts';
import { sameAccess } from '../../authz/impact/impact.ts';
import { actionsOf, cleanPatterns } from '../fields.ts';
import { requireMayReadEvents, requireWebhook, type WebhookDeps, webhookEntry } from '../record.ts';
import { refusal } from '../refusal.ts';
import { findWebhook } from '../store.ts';
import {
  countReplayed,
  deleteReplay,
  insertReplay,
  isReplaying,
  lockReplay,
  queueEntries,
  requeueDead,
} from './replays-store.ts';

function readRange({ from, to }: ReplayWebhookBody): { from: string; to: string } {
  const range = {
    from: timeIn('from', from),
    to: to === undefined ? new Date().toISOString() : timeIn('to', to),
  };
  if (range.from > range.to)
    throw refusal('from', 'after_to', `must not be after ${to === undefined ? 'the present time' : 'to'}`);
  return range;
}

function timeIn(field: string, text: string): string {
  const time = canonicalTime(text);
  if (time === null) throw refusal(field, 'invalid_time', 'must be a time such as 2026-01-31T08:00:00Z');
  return time;
}

/**
 * Begins a replay, and returns how many deliveries it will queue, behind what waits. With `count_only`, begins none. Throws 404, 422 for a range that is empty or has
 * more than a million, 403, 409 while another one is not delivered.
 */
export async function replayWebhook(
  deps: WebhookDeps,
  caller: Caller,
  webhookId: string,
  body: ReplayWebhookBody,
): Promise<WebhookReplay> {
  requireMayReadEvents(caller);
  const range = readRange(body);
  const events = body.events === undefined ? undefined : cleanPatterns(body.events);
  const found = await findWebhook(deps.db, webhookId);
  if (!found) throw new AppError('webhook_not_found');
  const asked = new Set(actionsOf({ events: events ?? ['*'], results: 'all' }));
  const replay = {
    id: newId(),
    webhook_id: webhookId,
    actions: actionsOf(found).filter((action) => asked.has(action)),
    only_dead: body.only === 'dead',
    ...range,
  };
  // Before the transaction, because it may take seconds: a number that entries of the meantime do not change by much.
  const count = await countReplayed(deps.db, replay, MAX_REPLAYED + 1);
  if (count > MAX_REPLAYED)
    throw refusal('from', 'too_many', 'begins a range of more than 1,000,000 events; replay it in parts');
  if (body.count_only) return { replay_id: null, count };
  return change(deps, caller, async (locking) => {
    const { entitled, webhook } = await requireWebhook(locking, webhookId, ['audit_log.read']);
    if (await isReplaying(locking.tx, webhookId)) throw new AppError('replay_running');
    await insertReplay(entitled, replay);
    const entry = webhookEntry('webhook_replayed', webhook, {
      details: { replay_id: replay.id, ...range, events: events ?? null, only: body.only, count },
    });
    return entitled.done({ replay_id: replay.id, count }, sameAccess, entry);
  });
}

/** Queues events of replays for at most `budgetMs`. The next call continues, on whichever instance. */
export async function workOffReplays(db: Db, budgetMs: number): Promise<void> {
  const deadline = performance.now() + budgetMs;
  let isFound = true;
  while (isFound && performance.now() < deadline)
    isFound = await inTransaction(db, async (tx) => {
      const replay = await lockReplay(tx);
      if (!replay) return false;
      const isLeft = replay.only_dead ? await requeueDead(tx, replay.id) : await queueEntries(tx, replay.id);
      if (!isLeft) await deleteReplay(tx, replay.id);
      return true;
    });
}
