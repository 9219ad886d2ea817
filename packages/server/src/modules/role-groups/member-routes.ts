// HTTP of /api/v1/role-groups: many groups at once, and the roles of a group.
import {
  BulkCreateRoleGroupsBody,
  BulkDeleteRoleGroupsBody,
  CloneRoleGroupBody,
  DeletedCountEnvelope,
  RoleGroupEnvelope,
  RoleGroupParams,
  RoleGroupsEnvelope,
  RoleIdsBody,
  SyncEnvelope,
} from '@castellan/contract/role-groups';
import { AppError } from '../../platform/errors.ts';
import { readIfMatch, sendEtag } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server.ts';
import { actorOf } from '../authz/guard.ts';
import { createRoleGroups, deleteRoleGroups } from './bulk.ts';
import { changeGroupRoles, cloneRoleGroup, syncRoles } from './roles-of-group.ts';
import type { RoleGroupDeps } from './service.ts';

export function roleGroupMemberRoutes(app: App, deps: RoleGroupDeps): void {
  app.route({
    method: 'POST',
    url: '/bulk',
    config: {
      access: 'role_group.create',
      idempotent: true,
      errors: ['role_group_not_found', 'name_taken', 'hierarchy_too_deep'],
    },
    schema: {
      summary: 'Create several role groups, all or none',
      description: 'An item may lie below an earlier one of the request: name it as `parent`.',
      body: BulkCreateRoleGroupsBody,
      response: { 201: RoleGroupsEnvelope },
    },
    handler: async (request, reply) => {
      const items = Array.isArray(request.body) ? request.body : request.body.groups;
      const data = await createRoleGroups(deps, request.client, actorOf(request), items);
      reply.code(201);
      return { data, message: `${data.length} role groups created.` };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/bulk',
    config: { access: 'role_group.delete', errors: ['role_group_not_found', 'group_in_use'] },
    schema: {
      summary: 'Delete several role groups, all or none',
      body: BulkDeleteRoleGroupsBody,
      response: { 200: DeletedCountEnvelope },
    },
    handler: async (request) => {
      const ids = Array.isArray(request.body) ? request.body : request.body.group_ids;
      const deleted = await deleteRoleGroups(deps, request.client, actorOf(request), ids);
      return { data: { deleted }, message: `${deleted} role groups deleted.` };
    },
  });

  const roleIdsOf = (body: { role_ids: string[] } | string[]): string[] =>
    Array.isArray(body) ? body : body.role_ids;
  const linkErrors = ['role_group_not_found', 'role_not_found', 'precondition_failed'] as const;

  app.route({
    method: 'POST',
    url: '/:group_id/roles',
    config: { access: 'role_group.update', errors: [...linkErrors, 'circular_dependency'] },
    schema: {
      summary: 'Add roles to a group',
      params: RoleGroupParams,
      body: RoleIdsBody,
      response: { 200: RoleGroupEnvelope },
    },
    handler: async (request, reply) => {
      const change = { add: roleIdsOf(request.body) };
      const { record, version } = await changeGroupRoles(
        deps,
        request.client,
        actorOf(request),
        request.params.group_id,
        change,
        readIfMatch(request),
      );
      sendEtag(reply, version);
      return { data: record, message: 'Roles added.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:group_id/roles',
    config: { access: 'role_group.update', errors: [...linkErrors] },
    schema: {
      summary: 'Take roles out of a group',
      params: RoleGroupParams,
      body: RoleIdsBody,
      response: { 200: RoleGroupEnvelope },
    },
    handler: async (request, reply) => {
      const change = { remove: roleIdsOf(request.body) };
      const { record, version } = await changeGroupRoles(
        deps,
        request.client,
        actorOf(request),
        request.params.group_id,
        change,
        readIfMatch(request),
      );
      sendEtag(reply, version);
      return { data: record, message: 'Roles removed.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/:group_id/clone',
    config: { access: 'role_group.create', idempotent: true, errors: ['role_group_not_found', 'name_taken'] },
    schema: {
      summary: 'Copy a group with its roles under a new name',
      params: RoleGroupParams,
      body: CloneRoleGroupBody,
      response: { 201: RoleGroupEnvelope },
    },
    handler: async (request, reply) => {
      const newName = request.body.name ?? request.body.new_name;
      if (newName === undefined)
        throw new AppError('validation_failed', {
          detail: 'name is required.',
          errors: [{ field: 'name', code: 'required', message: 'is required' }],
        });
      const { record, version } = await cloneRoleGroup(
        deps,
        request.client,
        actorOf(request),
        request.params.group_id,
        newName,
      );
      sendEtag(reply, version);
      reply.code(201);
      return { data: record, message: 'Role group cloned.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/sync-roles',
    config: { access: 'role_group.update' },
    schema: { summary: "Repair links from each role's role_group_id", response: { 200: SyncEnvelope } },
    handler: async (request) => {
      const data = await syncRoles(deps, request.client, actorOf(request));
      return { data, message: `${data.created} links created, ${data.skipped} were there.` };
    },
  });
}
