// HTTP of /api/v1/role-groups: lists and single groups. Other operations are in member-routes.ts.
import { PageQuery } from '@castellan/contract/common';
import {
  CreateRoleGroupBody,
  type RoleGroup,
  RoleGroupEnvelope,
  RoleGroupListEnvelope,
  RoleGroupParams,
  RoleGroupQuery,
  UpdateRoleGroupBody,
} from '@castellan/contract/role-groups';
import Type from 'typebox';
import { serializedParts } from '../../platform/http/answers/kept-text.ts';
import { creation } from '../../platform/http/plugins/idempotency.ts';
import { sendEtag, type Versioned } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { newRecord, recordNamed } from '../authz/access-fields.ts';
import { callerOf } from '../authz/caller.ts';
import { type ListDeps, sendPartsUnlessUnchanged } from '../authz/unchanged-lists.ts';
import type { GroupDeps } from '../group-trees/service.ts';
import { getRoleGroup, readRoleGroup, roleGroups } from './service.ts';

const placeErrors = [
  'role_group_not_found',
  'name_taken',
  'hierarchy_too_deep',
  'circular_dependency',
] as const;

export function roleGroupRoutes(app: App, deps: GroupDeps & ListDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'role_group.read' },
    schema: {
      summary: 'List role groups',
      description: 'Paginates over root groups. Each group includes its descendants.',
      querystring: PageQuery,
      response: { 200: RoleGroupListEnvelope, 304: Type.Null() },
    },
    handler: (request, reply) =>
      sendPartsUnlessUnchanged(deps, { request, reply }, null, async () =>
        serializedParts(reply, {
          ...(await roleGroups.list(deps, request.query)),
          message: 'Role groups, sorted by name.',
        }),
      ),
  });

  app.route({
    method: 'GET',
    url: '/:group_id',
    config: { access: 'role_group.read', errors: ['role_group_not_found'] },
    schema: {
      summary: 'Read a role group with its descendants',
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
    config: {
      access: 'role_group.create',
      idempotent: true,
      errors: [...placeErrors],
      statedOf: { kind: 'role_group', present: newRecord({ roles: [] }) },
    },
    schema: {
      summary: 'Create a role group',
      body: CreateRoleGroupBody,
      response: { 201: RoleGroupEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creation(
        request,
        reply,
        ({ record }: Versioned<RoleGroup>) => ({ data: record, message: 'Role group created.' }),
        ({ version }) => version,
      );
      return answer(await roleGroups.create(deps, callerOf(request), readRoleGroup(request.body), settle));
    },
  });

  app.route({
    method: 'PUT',
    url: '/:group_id',
    config: {
      access: 'role_group.update',
      errors: [...placeErrors, 'precondition_failed'],
      statedOf: {
        kind: 'role_group',
        present: recordNamed('group_id', (id) => roleGroups.read(deps.db, id)),
      },
    },
    schema: {
      summary: 'Change or move a role group',
      params: RoleGroupParams,
      body: UpdateRoleGroupBody,
      response: { 200: RoleGroupEnvelope },
    },
    handler: async (request, reply) => {
      const { group_id } = request.params;
      const input = readRoleGroup(request.body);
      const { record, version } = await roleGroups.update(deps, callerOf(request), group_id, input);
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
      await roleGroups.remove(deps, callerOf(request), request.params.group_id);
      reply.code(204);
      return null;
    },
  });
}
