// HTTP of /api/v1/role-groups: reading, and single groups. The rest stands in member-routes.ts.
import { PageQuery } from '@castellan/contract/common';
import {
  CreateRoleGroupBody,
  RoleGroupEnvelope,
  RoleGroupListEnvelope,
  RoleGroupParams,
  RoleGroupQuery,
  UpdateRoleGroupBody,
} from '@castellan/contract/role-groups';
import Type from 'typebox';
import { readIfMatch, sendEtag } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server.ts';
import { actorOf } from '../authz/guard.ts';
import {
  createRoleGroup,
  deleteRoleGroup,
  getRoleGroup,
  listRoleGroups,
  type RoleGroupDeps,
  updateRoleGroup,
} from './service.ts';

const placeErrors = [
  'role_group_not_found',
  'name_taken',
  'hierarchy_too_deep',
  'circular_dependency',
] as const;

export function roleGroupRoutes(app: App, deps: RoleGroupDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'role_group.read' },
    schema: {
      summary: 'List role groups',
      description: 'Pages over root groups; each carries everything below it.',
      querystring: PageQuery,
      response: { 200: RoleGroupListEnvelope },
    },
    handler: async (request) => ({
      ...(await listRoleGroups(deps, request.query)),
      message: 'Role groups, by name.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/:group_id',
    config: { access: 'role_group.read', errors: ['role_group_not_found'] },
    schema: {
      summary: 'Read a role group with everything below it',
      params: RoleGroupParams,
      querystring: RoleGroupQuery,
      response: { 200: RoleGroupEnvelope },
    },
    handler: async (request, reply) => {
      const { record, version } = await getRoleGroup(
        deps,
        request.params.group_id,
        request.query.include_nested_roles ?? false,
      );
      sendEtag(reply, version);
      return { data: record, message: 'The role group.' };
    },
  });

  app.route({
    method: 'POST',
    url: '',
    config: { access: 'role_group.create', idempotent: true, errors: [...placeErrors] },
    schema: {
      summary: 'Create a role group',
      body: CreateRoleGroupBody,
      response: { 201: RoleGroupEnvelope },
    },
    handler: async (request, reply) => {
      const { record, version } = await createRoleGroup(deps, request.client, actorOf(request), request.body);
      sendEtag(reply, version);
      reply.code(201);
      return { data: record, message: 'Role group created.' };
    },
  });

  app.route({
    method: 'PUT',
    url: '/:group_id',
    config: { access: 'role_group.update', errors: [...placeErrors, 'precondition_failed'] },
    schema: {
      summary: 'Change or move a role group',
      params: RoleGroupParams,
      body: UpdateRoleGroupBody,
      response: { 200: RoleGroupEnvelope },
    },
    handler: async (request, reply) => {
      const { group_id } = request.params;
      const { record, version } = await updateRoleGroup(
        deps,
        request.client,
        actorOf(request),
        group_id,
        request.body,
        readIfMatch(request),
      );
      sendEtag(reply, version);
      return { data: record, message: 'Role group updated.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:group_id',
    config: {
      access: 'role_group.delete',
      errors: ['role_group_not_found', 'group_in_use', 'precondition_failed'],
    },
    schema: { summary: 'Delete a role group', params: RoleGroupParams, response: { 204: Type.Null() } },
    handler: async (request, reply) => {
      await deleteRoleGroup(
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
