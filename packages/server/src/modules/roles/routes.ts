// HTTP of /api/v1/roles.
import { PageQueryWith } from '@castellan/contract/common';
import {
  AllRolesEnvelope,
  CreateRoleBody,
  OptionalPermissionIdsBody,
  PermissionIdsBody,
  PermissionIdsQuery,
  RoleEnvelope,
  RoleListEnvelope,
  RoleListQuery,
  RoleParams,
  RolePermissionParams,
  RolePermissionsEnvelope,
  UpdateRoleBody,
} from '@castellan/contract/roles';
import Type from 'typebox';
import { AppError } from '../../platform/errors.ts';
import { readIfMatch, sendEtag } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server.ts';
import { actorOf } from '../authz/guard.ts';
import {
  changePermissions,
  createRole,
  deleteRole,
  getRole,
  listAllRoles,
  listRoles,
  type RoleDeps,
  updateRole,
} from './service.ts';

const idsOf = (body: { permission_ids?: string[] } | string[] | null): string[] =>
  Array.isArray(body) ? body : (body?.permission_ids ?? []);

export function roleRoutes(app: App, deps: RoleDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'role.read' },
    schema: {
      summary: 'List roles',
      querystring: PageQueryWith(RoleListQuery.properties),
      response: { 200: RoleListEnvelope },
    },
    handler: async (request) => ({ ...(await listRoles(deps, request.query)), message: 'Roles, by name.' }),
  });

  app.route({
    method: 'GET',
    url: '/list',
    config: { access: 'role.read' },
    schema: { summary: 'List all roles', response: { 200: AllRolesEnvelope } },
    handler: async () => ({ data: await listAllRoles(deps), message: 'All roles, by name.' }),
  });

  app.route({
    method: 'GET',
    url: '/:role_id',
    config: { access: 'role.read', errors: ['role_not_found'] },
    schema: { summary: 'Read a role', params: RoleParams, response: { 200: RoleEnvelope } },
    handler: async (request, reply) => {
      const { record, version } = await getRole(deps, request.params.role_id);
      sendEtag(reply, version);
      return { data: record, message: 'The role.' };
    },
  });

  app.route({
    method: 'POST',
    url: '',
    config: {
      access: 'role.create',
      idempotent: true,
      errors: ['name_taken', 'permission_not_found', 'role_group_not_found', 'privilege_escalation'],
    },
    schema: { summary: 'Create a role', body: CreateRoleBody, response: { 201: RoleEnvelope } },
    handler: async (request, reply) => {
      const { record, version } = await createRole(deps, request.client, actorOf(request), request.body);
      sendEtag(reply, version);
      reply.code(201);
      return { data: record, message: 'Role created.' };
    },
  });

  app.route({
    method: 'PUT',
    url: '/:role_id',
    config: {
      access: 'role.update',
      errors: [
        'role_not_found',
        'name_taken',
        'permission_not_found',
        'role_group_not_found',
        'privilege_escalation',
        'system_role',
        'circular_dependency',
        'conflict',
        'precondition_failed',
      ],
    },
    schema: {
      summary: 'Change a role',
      params: RoleParams,
      body: UpdateRoleBody,
      response: { 200: RoleEnvelope },
    },
    handler: async (request, reply) => {
      const { role_id } = request.params;
      const { record, version } = await updateRole(
        deps,
        request.client,
        actorOf(request),
        role_id,
        request.body,
        readIfMatch(request),
      );
      sendEtag(reply, version);
      return { data: record, message: 'Role updated.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:role_id',
    config: {
      access: 'role.delete',
      errors: ['role_not_found', 'role_in_use', 'system_role', 'precondition_failed'],
    },
    schema: { summary: 'Delete a role', params: RoleParams, response: { 204: Type.Null() } },
    handler: async (request, reply) => {
      await deleteRole(deps, request.client, actorOf(request), request.params.role_id, readIfMatch(request));
      reply.code(204);
      return null;
    },
  });

  const permissionErrors = [
    'role_not_found',
    'permission_not_found',
    'system_role',
    'precondition_failed',
  ] as const;

  app.route({
    method: 'POST',
    url: '/:role_id/permissions',
    config: { access: 'role.update', errors: [...permissionErrors, 'privilege_escalation'] },
    schema: {
      summary: 'Replace all permissions of a role',
      params: RoleParams,
      body: PermissionIdsBody,
      response: { 200: RolePermissionsEnvelope },
    },
    handler: async (request, reply) => {
      const change = { replace: idsOf(request.body) };
      const { record, version } = await changePermissions(
        deps,
        request.client,
        actorOf(request),
        request.params.role_id,
        change,
        readIfMatch(request),
      );
      sendEtag(reply, version);
      return { data: record, message: 'Permissions replaced.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:role_id/permissions',
    config: { access: 'role.update', errors: [...permissionErrors, 'validation_failed'] },
    schema: {
      summary: 'Take permissions from a role',
      description: 'Ids stand in the query, in the body, or in both: then they are united.',
      params: RoleParams,
      querystring: PermissionIdsQuery,
      body: OptionalPermissionIdsBody,
      response: { 200: RolePermissionsEnvelope },
    },
    handler: async (request, reply) => {
      const remove = [...idsOf(request.body), ...(request.query.permission_ids ?? [])];
      if (remove.length === 0)
        throw new AppError('validation_failed', {
          detail: 'permission_ids is required, in the query or in the body.',
          errors: [{ field: 'permission_ids', code: 'required', message: 'is required' }],
        });
      const { record, version } = await changePermissions(
        deps,
        request.client,
        actorOf(request),
        request.params.role_id,
        { remove },
        readIfMatch(request),
      );
      sendEtag(reply, version);
      return { data: record, message: 'Permissions removed.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:role_id/permissions/:permission_id',
    config: { access: 'role.update', errors: [...permissionErrors] },
    schema: {
      summary: 'Take one permission from a role',
      params: RolePermissionParams,
      response: { 200: RolePermissionsEnvelope },
    },
    handler: async (request, reply) => {
      const change = { remove: [request.params.permission_id] };
      const { record, version } = await changePermissions(
        deps,
        request.client,
        actorOf(request),
        request.params.role_id,
        change,
        readIfMatch(request),
      );
      sendEtag(reply, version);
      return { data: record, message: 'Permission removed.' };
    },
  });
}
