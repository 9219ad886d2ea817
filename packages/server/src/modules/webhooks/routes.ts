// HTTP of /api/v1/webhooks: the records and their secrets. What was delivered is in deliveries/routes.ts.
import {
  CreateWebhookBody,
  CreateWebhookSecretBody,
  type NewWebhook,
  NewWebhookEnvelope,
  type NewWebhookSecret,
  NewWebhookSecretEnvelope,
  TestWebhookBody,
  UpdateWebhookBody,
  WebhookEnvelope,
  WebhookListEnvelope,
  WebhookListQuery,
  WebhookParams,
  WebhookTestEnvelope,
} from '@castellan/contract/webhooks';
import { creationOfSecret } from '../../platform/http/plugins/idempotency.ts';
import { sendEtag, type Versioned } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { newRecord, recordNamed } from '../authz/access-fields.ts';
import { callerOf } from '../authz/caller.ts';
import { deliveryRoutes } from './deliveries/routes.ts';
import type { WebhookDeps } from './record.ts';
import { testWebhook } from './sending/sample.ts';
import {
  createSecret,
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  updateWebhook,
} from './service.ts';

export function webhookRoutes(app: App, deps: WebhookDeps): void {
  readRoutes(app, deps);
  changeRoutes(app, deps);
  secretAndTestRoutes(app, deps);
  deliveryRoutes(app, deps);
}

function readRoutes(app: App, deps: WebhookDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'webhook.read' },
    schema: {
      summary: 'List webhooks',
      querystring: WebhookListQuery,
      response: { 200: WebhookListEnvelope },
    },
    handler: async (request) => ({
      ...(await listWebhooks(deps, request.query)),
      message: 'Webhooks, by name.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/:webhook_id',
    config: { access: 'webhook.read', errors: ['webhook_not_found'] },
    schema: {
      summary: 'Read a webhook',
      params: WebhookParams,
      response: { 200: WebhookEnvelope },
    },
    handler: async (request, reply) => {
      const { record, version } = await getWebhook(deps, request.params.webhook_id);
      sendEtag(reply, version);
      return { data: record, message: 'The webhook.' };
    },
  });
}

function changeRoutes(app: App, deps: WebhookDeps): void {
  app.route({
    method: 'POST',
    url: '',
    config: {
      access: 'webhook.create',
      idempotent: true,
      errors: ['privilege_escalation', 'too_many_webhooks', 'invalid_webhook_url', 'unknown_event'],
      statedOf: { kind: 'webhook', present: newRecord({}) },
    },
    schema: {
      summary: 'Create a webhook',
      description:
        'Needs `audit_log.read`, too: a webhook reads the audit log from now on. The response shows the secret that signs, and nothing shows it again. Events that are recorded from then on are sent.',
      body: CreateWebhookBody,
      response: { 201: NewWebhookEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creationOfSecret(request, reply, {
        bodyOf: ({ record }: Versioned<NewWebhook>) => ({
          data: record,
          message: 'Webhook created. Store its secret now.',
        }),
        versionOf: ({ version }) => version,
        bare: ({ record: { secret, ...stored }, version }) => ({ record: stored, version }),
      });
      return answer(await createWebhook(deps, callerOf(request), request.body, settle));
    },
  });

  app.route({
    method: 'PUT',
    url: '/:webhook_id',
    config: {
      access: 'webhook.update',
      errors: [
        'webhook_not_found',
        'privilege_escalation',
        'precondition_failed',
        'invalid_webhook_url',
        'unknown_event',
      ],
      statedOf: {
        kind: 'webhook',
        present: recordNamed('webhook_id', (id) => getWebhook(deps, id)),
      },
    },
    schema: {
      summary: 'Change, pause or resume a webhook',
      description:
        'Needs `audit_log.read`, too, unless it only changes the name or pauses. A change of the address or of `personal` counts for what already waits; one of `events`, `resource_types` and `results` for what is recorded from then on.',
      params: WebhookParams,
      body: UpdateWebhookBody,
      response: { 200: WebhookEnvelope },
    },
    handler: async (request, reply) => {
      const { body, params } = request;
      const { record, version } = await updateWebhook(deps, callerOf(request), params.webhook_id, body);
      sendEtag(reply, version);
      return { data: record, message: 'Webhook changed.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:webhook_id',
    config: { access: 'webhook.delete', errors: ['webhook_not_found', 'precondition_failed'] },
    schema: {
      summary: 'Delete a webhook',
      description: 'What waits for it is not sent.',
      params: WebhookParams,
      response: { 200: WebhookEnvelope },
    },
    handler: async (request) => ({
      data: await deleteWebhook(deps, callerOf(request), request.params.webhook_id),
      message: 'Webhook deleted.',
    }),
  });
}

function secretAndTestRoutes(app: App, deps: WebhookDeps): void {
  app.route({
    method: 'POST',
    url: '/:webhook_id/secrets',
    config: {
      access: 'webhook.update',
      idempotent: true,
      errors: ['webhook_not_found', 'too_many_secrets'],
      statedOf: { kind: 'webhook_secret', present: newRecord({}) },
    },
    schema: {
      summary: 'Create a secret of a webhook',
      description:
        'The response shows the secret, and nothing shows it again. The present ones sign besides it until the overlap ends.',
      params: WebhookParams,
      body: CreateWebhookSecretBody,
      response: { 201: NewWebhookSecretEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creationOfSecret(request, reply, {
        bodyOf: (data: NewWebhookSecret) => ({ data, message: 'Secret created. Store it now.' }),
        bare: ({ secret, ...stored }) => stored,
      });
      const { body, params } = request;
      return answer(await createSecret(deps, callerOf(request), params.webhook_id, { body, settle }));
    },
  });

  app.route({
    method: 'POST',
    url: '/:webhook_id/test',
    config: { access: 'webhook.update', errors: ['webhook_not_found', 'unknown_event'] },
    schema: {
      summary: 'Send a sample to a webhook',
      description:
        'Sends one event with `test: true`, once, and waits for the answer, for at most 10 seconds. A paused webhook gets it, too.',
      params: WebhookParams,
      body: TestWebhookBody,
      response: { 200: WebhookTestEnvelope },
    },
    handler: async (request) => ({
      data: await testWebhook(deps, callerOf(request), request.params.webhook_id, request.body),
      message: 'What the endpoint answered.',
    }),
  });
}
