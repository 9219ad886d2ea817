// HTTP of /api/v1/role-groups: bulk operations, and the roles of a group.
import {
  BulkCreateRoleGroupsBody,
  BulkDeleteRoleGroupsBody,
  CloneRoleGroupBody,
  DeletedCountEnvelope,
  type RoleGroup,
  RoleGroupEnvelope,
  RoleGroupParams,
  RoleGroupsEnvelope,
  RoleIdsBody,
  SyncEnvelope,
} from '@castellan/contract/role-groups';
import { AppError } from '../../platform/errors.ts';
import { bulkBody } from '../../platform/http/bodies/body-limits.ts';
import { creation } from '../../platform/http/plugins/idempotency.ts';
import { sendEtag, type Versioned } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { newRecord, recordNamed, type StatedOf } from '../authz/access-fields.ts';
import { callerOf } from '../authz/caller.ts';
import type { GroupDeps } from '../group-trees/service.ts';
import { createRoleGroups, deleteRoleGroups } from './bulk.ts';
import { roleGroups } from './record.ts';
import { changeGroupRoles, cloneRoleGroup, syncRoles } from './roles-of-group.ts';

export function roleGroupMemberRoutes(app: App, deps: GroupDeps): void {
  const statedOfGroup: StatedOf = {
    kind: 'role_group',
    present: recordNamed('group_id', (id) => roleGroups.read(deps.db, id)),
  };

  app.route({
    method: 'POST',
    url: '/bulk',
    config: {
      access: 'role_group.create',
      body: bulkBody,
      idempotent: true,
      errors: ['role_group_not_found', 'name_taken', 'hierarchy_too_deep'],
      statedOf: { kind: 'role_group', present: newRecord({ roles: [] }) },
    },
    schema: {
      summary: 'Create several role groups, all or none',
      description: 'An item can be a child of an earlier item of the request: name that item in `parent`.',
      body: BulkCreateRoleGroupsBody,
      response: { 201: RoleGroupsEnvelope },
    },
    handler: async (request, reply) => {
      const items = Array.isArray(request.body) ? request.body : request.body.groups;
      const { settle, answer } = creation(
        request,
        reply,
        (data: RoleGroup[]) => ({ data, message: `${data.length} role groups created.` }),
        () => null,
      );
      return answer(await createRoleGroups(deps, callerOf(request), items, settle));
    },
  });

  app.route({
    method: 'DELETE',
    url: '/bulk',
    config: {
      access: 'role_group.delete',
      errors: ['role_group_not_found', 'group_in_use'],
      statedOf: { kind: 'role_group' },
    },
    schema: {
      summary: 'Delete several role groups, all or none',
      body: BulkDeleteRoleGroupsBody,
      response: { 200: DeletedCountEnvelope },
    },
    handler: async (request) => {
      const ids = Array.isArray(request.body) ? request.body : request.body.group_ids;
      const deleted = await deleteRoleGroups(deps, callerOf(request), ids);
      return { data: { deleted }, message: `${deleted} role groups deleted.` };
    },
  });

  const roleIdsOf = (body: RoleIdsBody): string[] => {
    const ids = Array.isArray(body) ? body : body.role_ids;
    if (ids) return ids;
    throw new AppError('validation_failed', {
      detail: 'role_ids is required.',
      errors: [{ field: 'role_ids', code: 'required', message: 'is required' }],
    });
  };
  const linkErrors = ['role_group_not_found', 'role_not_found', 'precondition_failed'] as const;

  app.route({
    method: 'POST',
    url: '/:group_id/roles',
    config: {
      access: 'role_group.update',
      errors: [...linkErrors, 'circular_dependency'],
      statedOf: statedOfGroup,
    },
    schema: {
      summary: 'Add roles to a role group',
      params: RoleGroupParams,
      body: RoleIdsBody,
      response: { 200: RoleGroupEnvelope },
    },
    handler: async (request, reply) => {
      const change = { add: roleIdsOf(request.body) };
      const { record, version } = await changeGroupRoles(
        deps,
        callerOf(request),
        request.params.group_id,
        change,
      );
      sendEtag(reply, version);
      return { data: record, message: 'Roles added.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:group_id/roles',
    config: { access: 'role_group.update', errors: [...linkErrors], statedOf: statedOfGroup },
    schema: {
      summary: 'Remove roles from a role group',
      params: RoleGroupParams,
      body: RoleIdsBody,
      response: { 200: RoleGroupEnvelope },
    },
    handler: async (request, reply) => {
      const change = { remove: roleIdsOf(request.body) };
      const { record, version } = await changeGroupRoles(
        deps,
        callerOf(request),
        request.params.group_id,
        change,
      );
      sendEtag(reply, version);
      return { data: record, message: 'Roles removed.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/:group_id/clone',
    config: {
      access: 'role_group.create',
      idempotent: true,
      errors: ['role_group_not_found', 'name_taken'],
      // The clone has the roles of the original.
      statedOf: statedOfGroup,
    },
    schema: {
      summary: 'Clone a role group with its roles',
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
      const { settle, answer } = creation(
        request,
        reply,
        ({ record }: Versioned<RoleGroup>) => ({ data: record, message: 'Role group cloned.' }),
        ({ version }) => version,
      );
      const { group_id } = request.params;
      const wanted = { originalId: group_id, name: newName };
      return answer(await cloneRoleGroup(deps, callerOf(request), wanted, settle));
    },
  });

  app.route({
    method: 'POST',
    url: '/sync-roles',
    config: { access: 'role_group.update', statedOf: { kind: 'role_group' } },
    schema: { summary: "Repair links from each role's role_group_id", response: { 200: SyncEnvelope } },
    handler: async (request) => {
      const data = await syncRoles(deps, callerOf(request));
      return { data, message: `${data.created} links created, ${data.skipped} already existed.` };
    },
  });
}
