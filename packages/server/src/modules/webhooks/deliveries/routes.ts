// HTTP of what was delivered to webhooks, under /api/v1/webhooks.
import {
  ReplayWebhookBody,
  ResentDeliveryEnvelope,
  WebhookDeliveryDetailEnvelope,
  WebhookDeliveryPage,
  WebhookDeliveryParams,
  WebhookDeliveryQuery,
  WebhookParams,
  WebhookReplayEnvelope,
} from '@castellan/contract/webhooks';
import type { App } from '../../../platform/http/server/server.ts';
import { callerOf } from '../../authz/caller.ts';
import type { WebhookDeps } from '../record.ts';
import { replayWebhook } from './replays.ts';
import { getDelivery, listDeliveries, resendDelivery } from './service.ts';

export function deliveryRoutes(app: App, deps: WebhookDeps): void {
  app.route({
    method: 'GET',
    url: '/:webhook_id/deliveries',
    config: { access: 'webhook.read', errors: ['webhook_not_found'] },
    schema: {
      summary: 'List the deliveries of a webhook',
      description:
        'Newest first. Needs `audit_log.read`, too. Deliveries that arrived are kept for 7 days, those that were given up for 30.',
      params: WebhookParams,
      querystring: WebhookDeliveryQuery,
      response: { 200: WebhookDeliveryPage },
    },
    handler: async (request) =>
      listDeliveries(deps, callerOf(request), request.params.webhook_id, request.query),
  });

  app.route({
    method: 'GET',
    url: '/:webhook_id/deliveries/:delivery_id',
    config: { access: 'webhook.read', errors: ['webhook_not_found', 'delivery_not_found'] },
    schema: {
      summary: 'Read a delivery of a webhook',
      description: 'With the event, and with every attempt. Needs `audit_log.read`, too.',
      params: WebhookDeliveryParams,
      response: { 200: WebhookDeliveryDetailEnvelope },
    },
    handler: async (request) => {
      const { webhook_id, delivery_id } = request.params;
      return {
        data: await getDelivery(deps, callerOf(request), webhook_id, delivery_id),
        message: 'The delivery.',
      };
    },
  });

  app.route({
    method: 'POST',
    url: '/:webhook_id/deliveries/:delivery_id/resend',
    config: { access: 'webhook.update', errors: ['webhook_not_found', 'delivery_not_found'] },
    schema: {
      summary: 'Send a delivery of a webhook again',
      description:
        'Whether or not it arrived. It has the same `webhook-id`, so that a receiver that has it ignores it. `type` and `event_id` are shown to those who hold `audit_log.read`.',
      params: WebhookDeliveryParams,
      response: { 202: ResentDeliveryEnvelope },
    },
    handler: async (request, reply) => {
      const { webhook_id, delivery_id } = request.params;
      reply.code(202);
      return {
        data: await resendDelivery(deps, callerOf(request), webhook_id, delivery_id),
        message: 'The delivery waits to be sent.',
      };
    },
  });

  app.route({
    method: 'POST',
    url: '/:webhook_id/replay',
    config: {
      access: 'webhook.update',
      errors: ['webhook_not_found', 'replay_running', 'unknown_event'],
    },
    schema: {
      summary: 'Send past events to a webhook again',
      description:
        'Needs `audit_log.read`, too. Queues at most 1,000,000 events behind what waits, with `replay: true`. They have the same `webhook-id` as at the first time. With `count_only`, the response is 200 and nothing is queued.',
      params: WebhookParams,
      body: ReplayWebhookBody,
      response: { 200: WebhookReplayEnvelope, 202: WebhookReplayEnvelope },
    },
    handler: async (request, reply) => {
      const { count_only } = request.body;
      reply.code(count_only ? 200 : 202);
      return {
        data: await replayWebhook(deps, callerOf(request), request.params.webhook_id, request.body),
        message: count_only ? 'Nothing was queued.' : 'The events wait to be sent.',
      };
    },
  });
}
