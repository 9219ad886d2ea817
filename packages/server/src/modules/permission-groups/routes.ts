// HTTP of /api/v1/permission-groups.
import { ListEnvelope, PageQuery } from '@castellan/contract/common';
import { DataEnvelope } from '@castellan/contract/envelope';
import {
  CreatePermissionGroupBody,
  PermissionGroup,
  PermissionGroupParams,
  UpdatePermissionGroupBody,
} from '@castellan/contract/permission-records';
import Type from 'typebox';
import { readIfMatch, sendEtag } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server.ts';
import { actorOf } from '../authz/guard.ts';
import {
  createPermissionGroup,
  deletePermissionGroup,
  getPermissionGroup,
  listPermissionGroups,
  type PermissionGroupDeps,
  updatePermissionGroup,
} from './service.ts';

const PermissionGroupEnvelope = DataEnvelope(PermissionGroup);

export function permissionGroupRoutes(app: App, deps: PermissionGroupDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'permission_group.read' },
    schema: {
      summary: 'List permission groups',
      description: 'Pages over root groups; each carries everything below it.',
      querystring: PageQuery,
      response: { 200: ListEnvelope(PermissionGroup) },
    },
    handler: async (request) => ({
      ...(await listPermissionGroups(deps, request.query)),
      message: 'Permission groups, by name.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/:group_id',
    config: { access: 'permission_group.read', errors: ['permission_group_not_found'] },
    schema: {
      summary: 'Read a permission group',
      params: PermissionGroupParams,
      response: { 200: PermissionGroupEnvelope },
    },
    handler: async (request, reply) => {
      const { record, version } = await getPermissionGroup(deps, request.params.group_id);
      sendEtag(reply, version);
      return { data: record, message: 'The permission group.' };
    },
  });

  const placeErrors = [
    'permission_group_not_found',
    'name_taken',
    'hierarchy_too_deep',
    'circular_dependency',
  ] as const;

  app.route({
    method: 'POST',
    url: '',
    config: { access: 'permission_group.create', idempotent: true, errors: [...placeErrors] },
    schema: {
      summary: 'Create a permission group',
      body: CreatePermissionGroupBody,
      response: { 201: PermissionGroupEnvelope },
    },
    handler: async (request, reply) => {
      const { record, version } = await createPermissionGroup(
        deps,
        request.client,
        actorOf(request),
        request.body,
      );
      sendEtag(reply, version);
      reply.code(201);
      return { data: record, message: 'Permission group created.' };
    },
  });

  app.route({
    method: 'PUT',
    url: '/:group_id',
    config: {
      access: 'permission_group.update',
      errors: [...placeErrors, 'privilege_escalation', 'conflict', 'precondition_failed'],
    },
    schema: {
      summary: 'Change a permission group',
      description: 'Renaming a group renames its permissions; who does it must hold them.',
      params: PermissionGroupParams,
      body: UpdatePermissionGroupBody,
      response: { 200: PermissionGroupEnvelope },
    },
    handler: async (request, reply) => {
      const { group_id } = request.params;
      const { record, version } = await updatePermissionGroup(
        deps,
        request.client,
        actorOf(request),
        group_id,
        request.body,
        readIfMatch(request),
      );
      sendEtag(reply, version);
      return { data: record, message: 'Permission group updated.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:group_id',
    config: {
      access: 'permission_group.delete',
      errors: ['permission_group_not_found', 'group_in_use', 'precondition_failed'],
    },
    schema: {
      summary: 'Delete a permission group',
      params: PermissionGroupParams,
      response: { 204: Type.Null() },
    },
    handler: async (request, reply) => {
      await deletePermissionGroup(
        deps,
        request.client,
        actorOf(request),
        request.params.group_id,
        readIfMatch(request),
      );
      reply.code(204);
      return null;
    },
  });
}
