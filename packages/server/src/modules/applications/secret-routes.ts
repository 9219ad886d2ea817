// HTTP of the secrets of an application.
import {
  ApplicationParams,
  ApplicationSecretEnvelope,
  ApplicationSecretParams,
  ApplicationSecretsEnvelope,
  CreateApplicationSecretBody,
  type NewApplicationSecret,
  NewApplicationSecretEnvelope,
} from '@castellan/contract/applications';
import { creationOfSecret } from '../../platform/http/plugins/idempotency.ts';
import type { App } from '../../platform/http/server/server.ts';
import { newRecord } from '../authz/access-fields.ts';
import { callerOf } from '../authz/caller.ts';
import type { ApplicationDeps } from './record.ts';
import { createSecret, listSecrets, revokeSecret } from './secrets.ts';

export function secretRoutes(app: App, deps: ApplicationDeps): void {
  app.route({
    method: 'GET',
    url: '/:application_id/secrets',
    config: { access: 'application.read', errors: ['application_not_found'] },
    schema: {
      summary: 'List the secrets of an application',
      description: 'Newest first. A revoked secret is not listed.',
      params: ApplicationParams,
      response: { 200: ApplicationSecretsEnvelope },
    },
    handler: async (request) => ({
      data: await listSecrets(deps, request.params.application_id),
      message: 'Secrets, newest first.',
    }),
  });

  app.route({
    method: 'POST',
    url: '/:application_id/secrets',
    config: {
      access: 'application.update',
      idempotent: true,
      errors: ['application_not_found', 'privilege_escalation', 'too_many_secrets'],
      statedOf: { kind: 'application_secret', present: newRecord({}) },
    },
    schema: {
      summary: 'Create a secret of an application',
      description:
        'The response shows the secret, and nothing shows it again. To replace one, create another, configure it, and revoke the old one.',
      params: ApplicationParams,
      body: CreateApplicationSecretBody,
      response: { 201: NewApplicationSecretEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creationOfSecret(request, reply, {
        bodyOf: (data: NewApplicationSecret) => ({ data, message: 'Secret created. Store it now.' }),
        bare: ({ secret, ...stored }) => stored,
      });
      const { body, params } = request;
      return answer(await createSecret(deps, callerOf(request), params.application_id, { body, settle }));
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:application_id/secrets/:secret_id',
    config: {
      access: 'application.update',
      errors: ['application_not_found', 'application_secret_not_found'],
    },
    schema: {
      summary: 'Revoke a secret of an application',
      params: ApplicationSecretParams,
      response: { 200: ApplicationSecretEnvelope },
    },
    handler: async (request) => {
      const { application_id, secret_id } = request.params;
      const secret = await revokeSecret(deps, callerOf(request), application_id, secret_id);
      return { data: secret, message: 'Secret revoked.' };
    },
  });
}
