// Sends a sample to a webhook, once, so that people see at once what it answers.
// It must not hold a connection or a lock while the endpoint answers.
import { renderEvent } from '@castellan/contract/event-messages';
import { isEventType } from '@castellan/contract/events';
import type { TestWebhookBody, WebhookTest } from '@castellan/contract/webhooks';
import { AppError } from '../../../platform/errors.ts';
import { newId } from '../../../platform/ids.ts';
import { recordEvent } from '../../audit/service.ts';
import { actorOf, type Caller } from '../../authz/caller.ts';
import { change } from '../../authz/change.ts';
import { sampleEntry } from '../../events/sample.ts';
import { actionsOf } from '../fields.ts';
import { requireWebhook, type WebhookDeps, webhookEntry } from '../record.ts';
import { refusal } from '../refusal.ts';
import { sendEvent } from './attempts.ts';
import { findEndpoint } from './message-rows.ts';

/** Sends a sample. Throws 404, 403, `unknown_event` (422). What the endpoint answers is no error. */
export async function testWebhook(
  deps: WebhookDeps,
  caller: Caller,
  id: string,
  { type: given }: TestWebhookBody,
): Promise<WebhookTest> {
  if (given !== undefined && !isEventType(given))
    throw refusal('type', 'unknown_event', 'is no type of event', 'unknown_event');
  const webhook = await change(deps, caller, async (locking) => {
    const required = await requireWebhook(locking, id);
    return required.entitled.unchanged(required.webhook);
  });
  const type = given ?? actionsOf(webhook)[0] ?? 'user_created';
  const row = await findEndpoint(deps.db, id);
  if (!row) throw new AppError('webhook_not_found');
  const event = renderEvent(
    { ...sampleEntry(type), id: newId(), timestamp: new Date().toISOString() },
    {
      sequence: 0,
      replay: false,
      personal: webhook.personal,
      test: true,
    },
  );
  const { status, cause, ms } = await sendEvent(deps, row, `msg_test_${newId().replaceAll('-', '')}`, event);
  const { principal, client } = caller;
  await recordEvent(deps, client, {
    ...webhookEntry('webhook_tested', webhook, { details: { type, status, cause } }),
    ...actorOf(principal),
  });
  return { status, cause, ms: Math.round(ms) };
}
