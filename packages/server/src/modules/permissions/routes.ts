// HTTP of /api/v1/permissions.
import { PageQueryWith } from '@castellan/contract/common';
import {
  CreatePermissionBody,
  type Permission,
  PermissionEnvelope,
  PermissionListEnvelope,
  PermissionListQuery,
  PermissionParams,
} from '@castellan/contract/permission-records';
import Type from 'typebox';
import { creation } from '../../platform/http/plugins/idempotency.ts';
import { sendEtag } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { callerOf } from '../authz/caller.ts';
import { type ListDeps, unlessUnchanged } from '../authz/unchanged-lists.ts';
import {
  authenticationVersion,
  createPermission,
  deletePermission,
  getPermission,
  listPermissions,
  type PermissionDeps,
} from './service.ts';

export function permissionRoutes(app: App, deps: PermissionDeps & ListDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'permission.read' },
    schema: {
      summary: 'List permissions',
      querystring: PageQueryWith(PermissionListQuery),
      response: { 200: PermissionListEnvelope, 304: Type.Null() },
    },
    handler: (request, reply) =>
      unlessUnchanged(deps, { request, reply }, async () => ({
        ...(await listPermissions(deps, request.query)),
        message: 'Permissions, sorted by name.',
      })),
  });

  app.route({
    method: 'GET',
    url: '/:permission_id',
    config: { access: 'permission.read', errors: ['permission_not_found'] },
    schema: { summary: 'Read a permission', params: PermissionParams, response: { 200: PermissionEnvelope } },
    handler: async (request, reply) => {
      const data = await getPermission(deps, request.params.permission_id);
      if (data.authentication) sendEtag(reply, authenticationVersion(data));
      return { data, message: 'The permission.' };
    },
  });

  app.route({
    method: 'POST',
    url: '',
    config: {
      access: 'permission.create',
      idempotent: true,
      errors: ['permission_group_not_found', 'name_taken'],
      statedOf: { kind: 'permission' },
    },
    schema: {
      summary: 'Create a permission',
      body: CreatePermissionBody,
      response: { 201: PermissionEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creation(
        request,
        reply,
        (data: Permission) => ({ data, message: 'Permission created.' }),
        () => null,
      );
      return answer(await createPermission(deps, callerOf(request), request.body, settle));
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:permission_id',
    config: { access: 'permission.delete', errors: ['permission_not_found', 'permission_in_use'] },
    schema: {
      summary: 'Delete a permission',
      params: PermissionParams,
      response: { 200: PermissionEnvelope },
    },
    handler: async (request) => ({
      data: await deletePermission(deps, callerOf(request), request.params.permission_id),
      message: 'Permission deleted.',
    }),
  });
}
