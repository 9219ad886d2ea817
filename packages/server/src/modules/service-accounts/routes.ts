// HTTP of /api/v1/service-accounts. Their API keys are in key-routes.ts.
import { DryRunQuery, OrPreview } from '@castellan/contract/access-changes';
import {
  CreateServiceAccountBody,
  type ServiceAccount,
  ServiceAccountEnvelope,
  ServiceAccountListEnvelope,
  ServiceAccountListQuery,
  ServiceAccountParams,
  UpdateServiceAccountBody,
} from '@castellan/contract/service-accounts';
import { creation } from '../../platform/http/plugins/idempotency.ts';
import { sendEtag, type Versioned } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { newRecord, recordNamed } from '../authz/access-fields.ts';
import { callerOf } from '../authz/caller.ts';
import { keyRoutes } from './key-routes.ts';
import type { ServiceAccountDeps } from './record.ts';
import {
  createServiceAccount,
  deleteServiceAccount,
  getServiceAccount,
  listServiceAccounts,
  previewServiceAccountDeletion,
  previewServiceAccountUpdate,
  updateServiceAccount,
} from './service.ts';

export function serviceAccountRoutes(app: App, deps: ServiceAccountDeps): void {
  readRoutes(app, deps);
  changeRoutes(app, deps);
  keyRoutes(app, deps);
}

function readRoutes(app: App, deps: ServiceAccountDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'service_account.read' },
    schema: {
      summary: 'List service accounts',
      querystring: ServiceAccountListQuery,
      response: { 200: ServiceAccountListEnvelope },
    },
    handler: async (request) => ({
      ...(await listServiceAccounts(deps, request.query)),
      message: 'Service accounts, sorted by name.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/:service_account_id',
    config: { access: 'service_account.read', errors: ['service_account_not_found'] },
    schema: {
      summary: 'Read a service account',
      params: ServiceAccountParams,
      response: { 200: ServiceAccountEnvelope },
    },
    handler: async (request, reply) => {
      const { record, version } = await getServiceAccount(deps, request.params.service_account_id);
      sendEtag(reply, version);
      return { data: record, message: 'The service account.' };
    },
  });
}

function changeRoutes(app: App, deps: ServiceAccountDeps): void {
  app.route({
    method: 'POST',
    url: '',
    config: {
      access: 'service_account.create',
      idempotent: true,
      errors: ['role_not_found', 'privilege_escalation', 'name_taken', 'external_id_taken'],
      statedOf: { kind: 'service_account', present: newRecord({ permissions: [] }) },
    },
    schema: {
      summary: 'Create a service account',
      description: 'Create an API key for it with `POST /service-accounts/{service_account_id}/keys`.',
      body: CreateServiceAccountBody,
      response: { 201: ServiceAccountEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creation(
        request,
        reply,
        ({ record }: Versioned<ServiceAccount>) => ({ data: record, message: 'Service account created.' }),
        ({ version }) => version,
      );
      return answer(await createServiceAccount(deps, callerOf(request), request.body, settle));
    },
  });

  app.route({
    method: 'PUT',
    url: '/:service_account_id',
    config: {
      access: 'service_account.update',
      errors: [
        'service_account_not_found',
        'role_not_found',
        'privilege_escalation',
        'name_taken',
        'external_id_taken',
        'precondition_failed',
      ],
      statedOf: {
        kind: 'service_account',
        present: recordNamed('service_account_id', (id) => getServiceAccount(deps, id)),
      },
    },
    schema: {
      summary: 'Change a service account',
      description:
        'With `is_active` false, its keys are refused from the next request on, and its access tokens end for good.',
      params: ServiceAccountParams,
      querystring: DryRunQuery,
      body: UpdateServiceAccountBody,
      response: { 200: OrPreview(ServiceAccountEnvelope) },
    },
    handler: async (request, reply) => {
      const { service_account_id: id } = request.params;
      if (request.query.dry_run)
        return previewServiceAccountUpdate(deps, callerOf(request), id, request.body);
      const { record, version } = await updateServiceAccount(deps, callerOf(request), id, request.body);
      sendEtag(reply, version);
      return { data: record, message: 'Service account updated.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:service_account_id',
    config: {
      access: 'service_account.delete',
      errors: ['service_account_not_found', 'self_delete', 'privilege_escalation', 'precondition_failed'],
    },
    schema: {
      summary: 'Delete a service account',
      description: 'Its API keys and access tokens end at once.',
      params: ServiceAccountParams,
      querystring: DryRunQuery,
      response: { 200: OrPreview(ServiceAccountEnvelope) },
    },
    handler: async (request) => {
      const { service_account_id: id } = request.params;
      if (request.query.dry_run) return previewServiceAccountDeletion(deps, callerOf(request), id);
      const account = await deleteServiceAccount(deps, callerOf(request), id);
      return { data: account, message: 'Service account deleted.' };
    },
  });
}
