// HTTP of /api/v1/user-attributes: the catalogue. The values of users are in modules/users/attributes.
import {
  CreateUserAttributeBody,
  DeleteUserAttributeQuery,
  UpdateUserAttributeBody,
  type UserAttribute,
  UserAttributeEnvelope,
  UserAttributeListEnvelope,
  UserAttributeListQuery,
  UserAttributeParams,
} from '@castellan/contract/user-attributes';
import { creation } from '../../platform/http/plugins/idempotency.ts';
import { sendEtag, type Versioned } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { newRecord, recordNamed } from '../authz/access-fields.ts';
import { callerOf } from '../authz/caller.ts';
import {
  createAttribute,
  deleteAttributeOf,
  getAttribute,
  listAttributes,
  type UserAttributeDeps,
  updateAttributeOf,
} from './service.ts';

export function userAttributeRoutes(app: App, deps: UserAttributeDeps): void {
  readRoutes(app, deps);
  changeRoutes(app, deps);
}

function readRoutes(app: App, deps: UserAttributeDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'user_attribute.read' },
    schema: {
      summary: 'List the attributes of users',
      querystring: UserAttributeListQuery,
      response: { 200: UserAttributeListEnvelope },
    },
    handler: async (request) => ({
      ...(await listAttributes(deps, request.query)),
      message: 'User attributes, sorted by name.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/:attribute_id',
    config: { access: 'user_attribute.read', errors: ['user_attribute_not_found'] },
    schema: {
      summary: 'Read an attribute of users',
      params: UserAttributeParams,
      response: { 200: UserAttributeEnvelope },
    },
    handler: async (request, reply) => {
      const { record, version } = await getAttribute(deps, request.params.attribute_id);
      sendEtag(reply, version);
      return { data: record, message: 'The user attribute.' };
    },
  });
}

function changeRoutes(app: App, deps: UserAttributeDeps): void {
  app.route({
    method: 'POST',
    url: '',
    config: {
      access: 'user_attribute.create',
      idempotent: true,
      errors: ['name_taken', 'too_many_user_attributes'],
      statedOf: { kind: 'user_attribute', present: newRecord({}) },
    },
    schema: {
      summary: 'Declare an attribute of users',
      description: 'Its name and its type never change. At most 100 can be declared.',
      body: CreateUserAttributeBody,
      response: { 201: UserAttributeEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creation(
        request,
        reply,
        ({ record }: Versioned<UserAttribute>) => ({ data: record, message: 'User attribute created.' }),
        ({ version }) => version,
      );
      return answer(await createAttribute(deps, callerOf(request), request.body, settle));
    },
  });

  app.route({
    method: 'PUT',
    url: '/:attribute_id',
    config: {
      access: 'user_attribute.update',
      errors: [
        'field_not_allowed',
        'user_attribute_not_found',
        'user_attribute_in_use',
        'precondition_failed',
      ],
      statedOf: {
        kind: 'user_attribute',
        present: recordNamed('attribute_id', (id) => getAttribute(deps, id)),
      },
    },
    schema: {
      summary: 'Change an attribute of users',
      description:
        'Refused if users have values that it would no longer allow. While `unique` changes, no values are written: about 20 seconds for a million users.',
      params: UserAttributeParams,
      body: UpdateUserAttributeBody,
      response: { 200: UserAttributeEnvelope },
    },
    handler: async (request, reply) => {
      const { attribute_id: id } = request.params;
      const { record, version } = await updateAttributeOf(deps, callerOf(request), id, request.body);
      sendEtag(reply, version);
      return { data: record, message: 'User attribute changed.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:attribute_id',
    config: {
      access: 'user_attribute.delete',
      errors: ['user_attribute_not_found', 'user_attribute_in_use', 'precondition_failed'],
    },
    schema: {
      summary: 'Delete an attribute of users',
      params: UserAttributeParams,
      querystring: DeleteUserAttributeQuery,
      response: { 200: UserAttributeEnvelope },
    },
    handler: async (request) => ({
      data: await deleteAttributeOf(deps, callerOf(request), {
        id: request.params.attribute_id,
        force: request.query.force === true,
      }),
      message: 'User attribute deleted.',
    }),
  });
}
