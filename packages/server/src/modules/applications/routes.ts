// HTTP of /api/v1/applications. Their secrets are in secret-routes.ts, what people gave them in modules/application-grants.
import { ApplicationDryRunQuery, ApplicationPreviewEnvelope } from '@castellan/contract/application-grants';
import {
  ApplicationEnvelope,
  ApplicationListEnvelope,
  ApplicationListQuery,
  ApplicationParams,
  CreateApplicationBody,
  type NewApplication,
  NewApplicationEnvelope,
  UpdateApplicationBody,
} from '@castellan/contract/applications';
import Type from 'typebox';
import { creationOfSecret } from '../../platform/http/plugins/idempotency.ts';
import { sendEtag, type Versioned } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { newRecord, recordNamed } from '../authz/access-fields.ts';
import { callerOf } from '../authz/caller.ts';
import type { ApplicationDeps } from './record.ts';
import { secretRoutes } from './secret-routes.ts';
import {
  createApplication,
  deleteApplication,
  getApplication,
  listApplications,
  previewApplicationDeletion,
  previewApplicationUpdate,
  updateApplication,
} from './service.ts';

export function applicationRoutes(app: App, deps: ApplicationDeps): void {
  readRoutes(app, deps);
  changeRoutes(app, deps);
  secretRoutes(app, deps);
}

function readRoutes(app: App, deps: ApplicationDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'application.read' },
    schema: {
      summary: 'List applications',
      querystring: ApplicationListQuery,
      response: { 200: ApplicationListEnvelope },
    },
    handler: async (request) => ({
      ...(await listApplications(deps, request.query)),
      message: 'Applications, sorted by name.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/:application_id',
    config: { access: 'application.read', errors: ['application_not_found'] },
    schema: {
      summary: 'Read an application',
      params: ApplicationParams,
      response: { 200: ApplicationEnvelope },
    },
    handler: async (request, reply) => {
      const { record, version } = await getApplication(deps, request.params.application_id);
      sendEtag(reply, version);
      return { data: record, message: 'The application.' };
    },
  });
}

function changeRoutes(app: App, deps: ApplicationDeps): void {
  app.route({
    method: 'POST',
    url: '',
    config: {
      access: 'application.create',
      idempotent: true,
      errors: ['permission_not_found', 'api_resource_not_found', 'privilege_escalation', 'name_taken'],
      statedOf: { kind: 'application', present: newRecord({}) },
    },
    schema: {
      summary: 'Create an application',
      description:
        'With `auth_method` `secret`, the response shows its first secret, and nothing shows it again. Setting `required_permission_id` needs that permission, and `resources` all permissions that they name.',
      body: CreateApplicationBody,
      response: { 201: NewApplicationEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creationOfSecret(request, reply, {
        bodyOf: ({ record }: Versioned<NewApplication>) => ({
          data: record,
          message: 'Application created.',
        }),
        versionOf: ({ version }) => version,
        bare: ({ record: { client_secret, ...record }, version }) => ({ record, version }),
      });
      return answer(await createApplication(deps, callerOf(request), request.body, settle));
    },
  });

  app.route({
    method: 'PUT',
    url: '/:application_id',
    config: {
      access: 'application.update',
      errors: [
        'field_not_allowed',
        'application_not_found',
        'permission_not_found',
        'api_resource_not_found',
        'privilege_escalation',
        'name_taken',
        'precondition_failed',
      ],
      statedOf: {
        kind: 'application',
        present: recordNamed('application_id', (id) => getApplication(deps, id)),
      },
    },
    schema: {
      summary: 'Change an application',
      description:
        'Setting, changing or clearing `required_permission_id` needs the permission that it names, before and after. Changing `resources`, or what the application receives tokens by (redirect addresses, origins, keys, authentication, grant types), needs all permissions that its tokens may carry. `is_active` false ends all access to it at once, also for when it is active again.',
      params: ApplicationParams,
      querystring: ApplicationDryRunQuery,
      body: UpdateApplicationBody,
      response: { 200: Type.Union([ApplicationEnvelope, ApplicationPreviewEnvelope]) },
    },
    handler: async (request, reply) => {
      const { application_id: id } = request.params;
      if (request.query.dry_run) return previewApplicationUpdate(deps, callerOf(request), id, request.body);
      const { record, version } = await updateApplication(deps, callerOf(request), id, request.body);
      sendEtag(reply, version);
      return { data: record, message: 'Application updated.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:application_id',
    config: {
      access: 'application.delete',
      errors: ['application_not_found', 'privilege_escalation', 'precondition_failed'],
    },
    schema: {
      summary: 'Delete an application',
      description: 'Its secrets go with it, and its tokens end at once.',
      params: ApplicationParams,
      querystring: ApplicationDryRunQuery,
      response: { 200: Type.Union([ApplicationEnvelope, ApplicationPreviewEnvelope]) },
    },
    handler: async (request) => {
      const { application_id: id } = request.params;
      if (request.query.dry_run) return previewApplicationDeletion(deps, callerOf(request), id);
      const application = await deleteApplication(deps, callerOf(request), id);
      return { data: application, message: 'Application deleted.' };
    },
  });
}
