// HTTP of the API keys of a service account.
import {
  ApiKeyParams,
  ApiKeysEnvelope,
  CreateApiKeyBody,
  EndApiKeyQuery,
  EndedApiKeyEnvelope,
  type NewApiKey,
  NewApiKeyEnvelope,
  RotateApiKeyBody,
  ServiceAccountParams,
} from '@castellan/contract/service-accounts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { creationOfSecret } from '../../platform/http/plugins/idempotency.ts';
import type { App } from '../../platform/http/server/server.ts';
import { newRecord, recordNamed } from '../authz/access-fields.ts';
import { callerOf } from '../authz/caller.ts';
import { createKey, endKey, getKey, listKeys, rotateKey } from './keys.ts';
import type { ServiceAccountDeps } from './record.ts';

const issueErrors = [
  'service_account_not_found',
  'permission_not_found',
  'privilege_escalation',
  'too_many_keys',
] as const;

const creationOfKey = (request: FastifyRequest, reply: FastifyReply, message: string) =>
  creationOfSecret(request, reply, {
    bodyOf: (data: NewApiKey) => ({ data, message }),
    bare: ({ key, ...stored }) => stored,
  });

export function keyRoutes(app: App, deps: ServiceAccountDeps): void {
  app.route({
    method: 'GET',
    url: '/:service_account_id/keys',
    config: { access: 'service_account.read', errors: ['service_account_not_found'] },
    schema: {
      summary: 'List the API keys of a service account',
      description: 'Newest first. Keys that ended are listed for 30 days, the latest 100 of them.',
      params: ServiceAccountParams,
      response: { 200: ApiKeysEnvelope },
    },
    handler: async (request) => ({
      data: await listKeys(deps, request.params.service_account_id),
      message: 'API keys, newest first.',
    }),
  });

  issueRoutes(app, deps);

  app.route({
    method: 'DELETE',
    url: '/:service_account_id/keys/:key_id',
    config: {
      access: 'service_account.update',
      errors: ['service_account_not_found', 'api_key_not_found', 'privilege_escalation'],
    },
    schema: {
      summary: 'Revoke an API key',
      description:
        'The key and its access tokens are refused from the next request on. Keys that were made with it stay, and the ' +
        'response counts them; `with=descendants` revokes them too, also for a key that has ended.',
      params: ApiKeyParams,
      querystring: EndApiKeyQuery,
      response: { 200: EndedApiKeyEnvelope },
    },
    handler: async (request) => {
      const { service_account_id: accountId, key_id: keyId } = request.params;
      const { key, wasLive } = await endKey(deps, callerOf(request), {
        accountId: accountId.toLowerCase(),
        keyId,
        withDescendants: request.query.with === 'descendants',
      });
      return { data: key, message: wasLive ? 'API key revoked.' : 'The API key had ended before.' };
    },
  });
}

function issueRoutes(app: App, deps: ServiceAccountDeps): void {
  app.route({
    method: 'POST',
    url: '/:service_account_id/keys',
    config: {
      access: 'service_account.update',
      idempotent: true,
      errors: [...issueErrors],
      statedOf: { kind: 'api_key', present: newRecord({ revoked_at: null }) },
    },
    schema: {
      summary: 'Create an API key',
      description:
        'The response shows the key, and nothing shows it again. The caller needs every permission that the key carries. Unless the caller is a superuser, the key is narrowed to what it carries now. A key that is made with a key ends with that one at the latest.',
      params: ServiceAccountParams,
      body: CreateApiKeyBody,
      response: { 201: NewApiKeyEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creationOfKey(request, reply, 'API key created. Store it now.');
      const { service_account_id } = request.params;
      const { body } = request;
      return answer(await createKey(deps, callerOf(request), service_account_id, { body, settle }));
    },
  });

  app.route({
    method: 'POST',
    url: '/:service_account_id/keys/:key_id/rotate',
    config: {
      access: 'service_account.update',
      idempotent: true,
      errors: [...issueErrors, 'api_key_not_found', 'key_ended'],
      statedOf: {
        kind: 'api_key',
        present: recordNamed('key_id', async (id, { service_account_id }) => ({
          record: await getKey(deps, String(service_account_id), id),
        })),
      },
    },
    schema: {
      summary: 'Replace an API key',
      description:
        'The new key has the name, the permissions and, unless `expires_at` says otherwise, the lifetime of the old one. The old key ends after the overlap, or earlier if it expires before, and the keys that were made with it end with it. The narrowing and the end of a new key are limited as at its creation.',
      params: ApiKeyParams,
      body: RotateApiKeyBody,
      response: { 201: NewApiKeyEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creationOfKey(request, reply, 'API key replaced. Store the new one now.');
      const { service_account_id: accountId, key_id: keyId } = request.params;
      const { body } = request;
      return answer(await rotateKey(deps, callerOf(request), { accountId, keyId }, { body, settle }));
    },
  });
}
