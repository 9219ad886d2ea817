// HTTP of /api/v1/identity-providers. What people do at a provider is in modules/provider-sign-in.
import {
  CreateIdentityProviderBody,
  DeleteIdentityProviderQuery,
  type IdentityProvider,
  IdentityProviderEnvelope,
  IdentityProviderListEnvelope,
  IdentityProviderListQuery,
  IdentityProviderParams,
  ProviderPreviewEnvelope,
  ProviderTestEnvelope,
  UpdateIdentityProviderBody,
  UpdateIdentityProviderQuery,
} from '@castellan/contract/identity-providers';
import Type from 'typebox';
import { creation } from '../../platform/http/plugins/idempotency.ts';
import { sendEtag, type Versioned } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { newRecord, recordNamed } from '../authz/access-fields.ts';
import { callerOf } from '../authz/caller.ts';
import type { ProviderDeps } from './record.ts';
import {
  createProvider,
  deleteProvider,
  getProvider,
  listProviders,
  previewProviderDeletion,
  previewProviderUpdate,
  testProvider,
  updateProvider,
} from './service.ts';

export function identityProviderRoutes(app: App, deps: ProviderDeps): void {
  readRoutes(app, deps);
  changeRoutes(app, deps);
}

function readRoutes(app: App, deps: ProviderDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'identity_provider.read' },
    schema: {
      summary: 'List identity providers',
      querystring: IdentityProviderListQuery,
      response: { 200: IdentityProviderListEnvelope },
    },
    handler: async (request) => ({
      ...(await listProviders(deps, request.query)),
      message: 'Identity providers, in the order of their buttons.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/:provider_id',
    config: { access: 'identity_provider.read', errors: ['identity_provider_not_found'] },
    schema: {
      summary: 'Read an identity provider',
      params: IdentityProviderParams,
      response: { 200: IdentityProviderEnvelope },
    },
    handler: async (request, reply) => {
      const { record, version } = await getProvider(deps, request.params.provider_id);
      sendEtag(reply, version);
      return { data: record, message: 'The identity provider.' };
    },
  });
}

function changeRoutes(app: App, deps: ProviderDeps): void {
  app.route({
    method: 'POST',
    url: '',
    config: {
      access: 'identity_provider.update',
      idempotent: true,
      errors: ['superuser_required', 'role_not_found', 'privilege_escalation', 'name_taken'],
      statedOf: { kind: 'identity_provider', present: newRecord({}) },
    },
    schema: {
      summary: 'Create an identity provider',
      description:
        'Needs a superuser: anyone who writes a provider can sign in as everybody who is connected to it. No response shows `client_secret` or `private_key`.',
      body: CreateIdentityProviderBody,
      response: { 201: IdentityProviderEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creation(
        request,
        reply,
        ({ record }: Versioned<IdentityProvider>) => ({
          data: record,
          message: 'Identity provider created.',
        }),
        ({ version }) => version,
      );
      return answer(await createProvider(deps, callerOf(request), request.body, settle));
    },
  });

  app.route({
    method: 'PUT',
    url: '/:provider_id',
    config: {
      access: 'identity_provider.update',
      errors: [
        'field_not_allowed',
        'identity_provider_not_found',
        'superuser_required',
        'role_not_found',
        'privilege_escalation',
        'precondition_failed',
      ],
      statedOf: {
        kind: 'identity_provider',
        present: recordNamed('provider_id', (id) => getProvider(deps, id)),
      },
    },
    schema: {
      summary: 'Change an identity provider',
      description:
        'Needs a superuser, unless it only sets `is_active` to false. Another `issuer` disconnects all accounts and ends the sessions that began there; it needs the secret anew. Sessions outlive `is_active` false, unless `end_sessions` is true.',
      params: IdentityProviderParams,
      querystring: UpdateIdentityProviderQuery,
      body: UpdateIdentityProviderBody,
      response: { 200: Type.Union([IdentityProviderEnvelope, ProviderPreviewEnvelope]) },
    },
    handler: async (request, reply) => {
      const { body, query } = request;
      const { provider_id: id } = request.params;
      if (query.dry_run) return previewProviderUpdate(deps, callerOf(request), id, body, query);
      const { record, version } = await updateProvider(deps, callerOf(request), id, body, query);
      sendEtag(reply, version);
      return { data: record, message: 'Identity provider changed.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/:provider_id/test',
    config: {
      access: 'identity_provider.update',
      errors: ['identity_provider_not_found', 'superuser_required'],
    },
    schema: {
      summary: 'Test an identity provider',
      description:
        'Needs a superuser. Reads the metadata and the key set of the provider now, and says what is wrong. It signs nobody in.',
      params: IdentityProviderParams,
      response: { 200: ProviderTestEnvelope },
    },
    handler: async (request) => ({
      data: await testProvider(deps, callerOf(request), request.params.provider_id),
      message: 'The checks of the identity provider.',
    }),
  });

  app.route({
    method: 'DELETE',
    url: '/:provider_id',
    config: {
      access: 'identity_provider.update',
      errors: ['identity_provider_not_found', 'superuser_required', 'provider_in_use', 'precondition_failed'],
    },
    schema: {
      summary: 'Delete an identity provider',
      description:
        'Needs a superuser. `force` disconnects the accounts that are connected to it and ends the sessions that began there.',
      params: IdentityProviderParams,
      querystring: DeleteIdentityProviderQuery,
      response: { 200: Type.Union([IdentityProviderEnvelope, ProviderPreviewEnvelope]) },
    },
    handler: async (request) => {
      const { query } = request;
      const { provider_id: id } = request.params;
      if (query.dry_run) return previewProviderDeletion(deps, callerOf(request), id, query);
      const provider = await deleteProvider(deps, callerOf(request), id, query);
      return { data: provider, message: 'Identity provider deleted.' };
    },
  });
}
