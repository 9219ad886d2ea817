// HTTP of /api/v1/api-resources.
import {
  type ApiResource,
  ApiResourceEnvelope,
  ApiResourceListEnvelope,
  ApiResourceListQuery,
  ApiResourceParams,
  CreateApiResourceBody,
  UpdateApiResourceBody,
} from '@castellan/contract/api-resources';
import { creation } from '../../platform/http/plugins/idempotency.ts';
import { sendEtag, type Versioned } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { newRecord, recordNamed } from '../authz/access-fields.ts';
import { callerOf } from '../authz/caller.ts';
import {
  type ApiResourceDeps,
  createApiResource,
  deleteApiResource,
  getApiResource,
  listApiResources,
  updateApiResource,
} from './service.ts';

export function apiResourceRoutes(app: App, deps: ApiResourceDeps): void {
  readRoutes(app, deps);
  changeRoutes(app, deps);
}

function readRoutes(app: App, deps: ApiResourceDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'api_resource.read' },
    schema: {
      summary: 'List API resources',
      querystring: ApiResourceListQuery,
      response: { 200: ApiResourceListEnvelope },
    },
    handler: async (request) => ({
      ...(await listApiResources(deps, request.query)),
      message: 'API resources, sorted by name.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/:api_resource_id',
    config: { access: 'api_resource.read', errors: ['api_resource_not_found'] },
    schema: {
      summary: 'Read an API resource',
      params: ApiResourceParams,
      response: { 200: ApiResourceEnvelope },
    },
    handler: async (request, reply) => {
      const { record, version } = await getApiResource(deps, request.params.api_resource_id);
      sendEtag(reply, version);
      return { data: record, message: 'The API resource.' };
    },
  });
}

function changeRoutes(app: App, deps: ApiResourceDeps): void {
  app.route({
    method: 'POST',
    url: '',
    config: {
      access: 'api_resource.create',
      idempotent: true,
      errors: ['permission_group_not_found', 'name_taken'],
      statedOf: { kind: 'api_resource', present: newRecord({}) },
    },
    schema: {
      summary: 'Create an API resource',
      description:
        'Your API that access tokens of applications are made for. It gives no application anything by itself.',
      body: CreateApiResourceBody,
      response: { 201: ApiResourceEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creation(
        request,
        reply,
        ({ record }: Versioned<ApiResource>) => ({ data: record, message: 'API resource created.' }),
        ({ version }) => version,
      );
      return answer(await createApiResource(deps, callerOf(request), request.body, settle));
    },
  });

  app.route({
    method: 'PUT',
    url: '/:api_resource_id',
    config: {
      access: 'api_resource.update',
      errors: [
        'field_not_allowed',
        'api_resource_not_found',
        'permission_group_not_found',
        'name_taken',
        'precondition_failed',
      ],
      statedOf: {
        kind: 'api_resource',
        present: recordNamed('api_resource_id', (id) => getApiResource(deps, id)),
      },
    },
    schema: {
      summary: 'Change an API resource',
      description:
        'A permission of a further group widens no application by itself. Tokens of a former identifier end at once.',
      params: ApiResourceParams,
      body: UpdateApiResourceBody,
      response: { 200: ApiResourceEnvelope },
    },
    handler: async (request, reply) => {
      const { api_resource_id: id } = request.params;
      const { record, version } = await updateApiResource(deps, callerOf(request), id, request.body);
      sendEtag(reply, version);
      return { data: record, message: 'API resource changed.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:api_resource_id',
    config: {
      access: 'api_resource.delete',
      errors: ['api_resource_not_found', 'api_resource_in_use', 'precondition_failed'],
    },
    schema: {
      summary: 'Delete an API resource',
      params: ApiResourceParams,
      response: { 200: ApiResourceEnvelope },
    },
    handler: async (request) => {
      const { api_resource_id: id } = request.params;
      const resource = await deleteApiResource(deps, callerOf(request), id);
      return { data: resource, message: 'API resource deleted.' };
    },
  });
}
