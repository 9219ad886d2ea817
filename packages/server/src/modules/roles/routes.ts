// HTTP of /api/v1/roles.
import { AccessPreviewEnvelope, DryRunQuery, OrPreview } from '@castellan/contract/access-changes';
import { PageQueryWith } from '@castellan/contract/common';
import {
  AllRolesEnvelope,
  AllRolesQuery,
  CreateRoleBody,
  OptionalPermissionIdsBody,
  PermissionIdsBody,
  PermissionIdsQuery,
  type Role,
  RoleEnvelope,
  RoleListEnvelope,
  RoleListQuery,
  RoleParams,
  RolePermissionParams,
  RolePermissionsEnvelope,
  RoleSummariesEnvelope,
  RoleSummariesQuery,
  UpdateRoleBody,
} from '@castellan/contract/roles';
import Type from 'typebox';
import { AppError } from '../../platform/errors.ts';
import { creation } from '../../platform/http/plugins/idempotency.ts';
import { sendEtag, type Versioned } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { newRecord, recordNamed, type StatedOf } from '../authz/access-fields.ts';
import { callerOf } from '../authz/caller.ts';
import { type ListDeps, sendPartsUnlessUnchanged, unlessUnchanged } from '../authz/unchanged-lists.ts';
import {
  changePermissions,
  countAllHolders,
  createRole,
  deleteRole,
  getRole,
  listRoles,
  previewPermissions,
  previewRoleCreation,
  previewRoleDeletion,
  previewRoleUpdate,
  type RoleDeps,
  summarizeRoles,
  updateRole,
  writeAllRoles,
} from './service.ts';

const idsOf = (body: { permission_ids?: string[] } | string[] | null): string[] | undefined =>
  Array.isArray(body) ? body : body?.permission_ids;

const permissionIdsMissing = (where = ''): AppError =>
  new AppError('validation_failed', {
    detail: `permission_ids is required${where}.`,
    errors: [{ field: 'permission_ids', code: 'required', message: 'is required' }],
  });

type CountedList = { data: readonly { id: string; holders?: number }[]; pagination?: { total: number } };
/** What a list of roles shows besides roles, permissions and groups. Roles of other pages count in the total. */
const holdersIn = ({ data, pagination }: CountedList) => [
  pagination?.total,
  data.map(({ id, holders }) => [id, holders]),
];

export function roleRoutes(app: App, deps: RoleDeps & ListDeps): void {
  const statedOfRole: StatedOf = { kind: 'role', present: recordNamed('role_id', (id) => getRole(deps, id)) };

  app.route({
    method: 'GET',
    url: '',
    config: { access: 'role.read' },
    schema: {
      summary: 'List roles',
      querystring: PageQueryWith(RoleListQuery.properties),
      response: { 200: RoleListEnvelope, 304: Type.Null() },
    },
    handler: async (request, reply) => {
      const read = async () => ({
        ...(await listRoles(deps, request.query)),
        message: 'Roles, sorted by name.',
      });
      const { include, holders } = request.query;
      return unlessUnchanged(deps, { request, reply }, read, (include ?? holders) && holdersIn);
    },
  });

  app.route({
    method: 'GET',
    url: '/list',
    config: { access: 'role.read' },
    schema: {
      summary: 'List all roles',
      description:
        'Each role contains its permissions: megabytes, if there are thousands of roles. The summaries are many times smaller.',
      querystring: AllRolesQuery,
      response: { 200: AllRolesEnvelope, 304: Type.Null() },
    },
    handler: async (request, reply) => {
      const holders = request.query.include ? await countAllHolders(deps) : null;
      const shown = holders && [...holders];
      await sendPartsUnlessUnchanged(deps, { request, reply }, shown, () => writeAllRoles(deps, holders));
    },
  });

  app.route({
    method: 'GET',
    url: '/summaries',
    config: { access: 'role.read' },
    schema: {
      summary: 'List summaries of roles',
      operationId: 'listRoleSummaries',
      description: 'Like the list of roles, with the number of their permissions instead of the records.',
      querystring: PageQueryWith(RoleSummariesQuery.properties),
      response: { 200: RoleSummariesEnvelope, 304: Type.Null() },
    },
    handler: async (request, reply) => {
      const read = async () => ({
        ...(await summarizeRoles(deps, request.query)),
        message: 'Summaries of roles, sorted by name.',
      });
      const { include, holders } = request.query;
      const showsHolders = holders !== undefined || include?.includes('holders');
      return unlessUnchanged(deps, { request, reply }, read, showsHolders ? holdersIn : undefined);
    },
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
      statedOf: { kind: 'role', present: newRecord({ is_system: false }) },
    },
    schema: {
      summary: 'Create a role',
      querystring: DryRunQuery,
      body: CreateRoleBody,
      response: { 200: AccessPreviewEnvelope, 201: RoleEnvelope },
    },
    handler: async (request, reply) => {
      if (request.query.dry_run) return previewRoleCreation(deps, callerOf(request), request.body);
      const { settle, answer } = creation(
        request,
        reply,
        ({ record }: Versioned<Role>) => ({ data: record, message: 'Role created.' }),
        ({ version }) => version,
      );
      return answer(await createRole(deps, callerOf(request), request.body, settle));
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
      statedOf: statedOfRole,
    },
    schema: {
      summary: 'Change a role',
      params: RoleParams,
      querystring: DryRunQuery,
      body: UpdateRoleBody,
      response: { 200: OrPreview(RoleEnvelope) },
    },
    handler: async (request, reply) => {
      const { role_id } = request.params;
      if (request.query.dry_run) return previewRoleUpdate(deps, callerOf(request), role_id, request.body);
      const { record, version } = await updateRole(deps, callerOf(request), role_id, request.body);
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
    schema: {
      summary: 'Delete a role',
      params: RoleParams,
      querystring: DryRunQuery,
      response: { 200: AccessPreviewEnvelope, 204: Type.Null() },
    },
    handler: async (request, reply) => {
      const { role_id } = request.params;
      if (request.query.dry_run) return previewRoleDeletion(deps, callerOf(request), role_id);
      await deleteRole(deps, callerOf(request), role_id);
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
    config: {
      access: 'role.update',
      errors: [...permissionErrors, 'privilege_escalation'],
      statedOf: statedOfRole,
    },
    schema: {
      summary: 'Replace all permissions of a role',
      params: RoleParams,
      querystring: DryRunQuery,
      body: PermissionIdsBody,
      response: { 200: OrPreview(RolePermissionsEnvelope) },
    },
    handler: async (request, reply) => {
      const { role_id } = request.params;
      const replace = idsOf(request.body);
      if (!replace) throw permissionIdsMissing();
      const change = { replace };
      if (request.query.dry_run) return previewPermissions(deps, callerOf(request), role_id, change);
      const { record, version } = await changePermissions(deps, callerOf(request), role_id, change);
      sendEtag(reply, version);
      return { data: record, message: 'Permissions replaced.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:role_id/permissions',
    config: {
      access: 'role.update',
      errors: [...permissionErrors, 'validation_failed'],
      statedOf: statedOfRole,
    },
    schema: {
      summary: 'Remove permissions from a role',
      description: 'Send the ids in the query, in the body, or in both; ids from both are combined.',
      params: RoleParams,
      querystring: PermissionIdsQuery,
      body: OptionalPermissionIdsBody,
      response: { 200: OrPreview(RolePermissionsEnvelope) },
    },
    handler: async (request, reply) => {
      const { role_id } = request.params;
      const remove = [...(idsOf(request.body) ?? []), ...(request.query.permission_ids ?? [])];
      if (remove.length === 0) throw permissionIdsMissing(', in the query or in the body');
      if (request.query.dry_run) return previewPermissions(deps, callerOf(request), role_id, { remove });
      const { record, version } = await changePermissions(deps, callerOf(request), role_id, { remove });
      sendEtag(reply, version);
      return { data: record, message: 'Permissions removed.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:role_id/permissions/:permission_id',
    config: { access: 'role.update', errors: [...permissionErrors] },
    schema: {
      summary: 'Remove one permission from a role',
      params: RolePermissionParams,
      querystring: DryRunQuery,
      response: { 200: OrPreview(RolePermissionsEnvelope) },
    },
    handler: async (request, reply) => {
      const { role_id, permission_id } = request.params;
      const change = { remove: [permission_id] };
      if (request.query.dry_run) return previewPermissions(deps, callerOf(request), role_id, change);
      const { record, version } = await changePermissions(deps, callerOf(request), role_id, change);
      sendEtag(reply, version);
      return { data: record, message: 'Permission removed.' };
    },
  });
}
