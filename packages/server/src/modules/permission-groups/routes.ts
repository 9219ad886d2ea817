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
import { serializedParts } from '../../platform/http/answers/kept-text.ts';
import { creation } from '../../platform/http/plugins/idempotency.ts';
import { sendEtag, type Versioned } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { newRecord, recordNamed } from '../authz/access-fields.ts';
import { callerOf } from '../authz/caller.ts';
import { type ListDeps, sendPartsUnlessUnchanged } from '../authz/unchanged-lists.ts';
import type { GroupDeps } from '../group-trees/service.ts';
import { permissionGroups, readPermissionGroup } from './service.ts';

const PermissionGroupEnvelope = DataEnvelope(PermissionGroup);

export function permissionGroupRoutes(app: App, deps: GroupDeps & ListDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'permission_group.read' },
    schema: {
      summary: 'List permission groups',
      description: 'Paginates over root groups. Each group includes its descendants.',
      querystring: PageQuery,
      response: { 200: ListEnvelope(PermissionGroup), 304: Type.Null() },
    },
    handler: (request, reply) =>
      sendPartsUnlessUnchanged(deps, { request, reply }, null, async () =>
        serializedParts(reply, {
          ...(await permissionGroups.list(deps, request.query)),
          message: 'Permission groups, sorted by name.',
        }),
      ),
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
      const { record, version } = await permissionGroups.read(deps.db, request.params.group_id);
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
    config: {
      access: 'permission_group.create',
      idempotent: true,
      errors: [...placeErrors],
      statedOf: { kind: 'permission_group', present: newRecord({ permissions: [] }) },
    },
    schema: {
      summary: 'Create a permission group',
      body: CreatePermissionGroupBody,
      response: { 201: PermissionGroupEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creation(
        request,
        reply,
        ({ record }: Versioned<PermissionGroup>) => ({ data: record, message: 'Permission group created.' }),
        ({ version }) => version,
      );
      const input = readPermissionGroup(request.body);
      return answer(await permissionGroups.create(deps, callerOf(request), input, settle));
    },
  });

  app.route({
    method: 'PUT',
    url: '/:group_id',
    config: {
      access: 'permission_group.update',
      errors: [...placeErrors, 'privilege_escalation', 'conflict', 'precondition_failed'],
      statedOf: {
        kind: 'permission_group',
        present: recordNamed('group_id', (id) => permissionGroups.read(deps.db, id)),
      },
    },
    schema: {
      summary: 'Change a permission group',
      description: 'Renaming a group renames its permissions and requires all of them.',
      params: PermissionGroupParams,
      body: UpdatePermissionGroupBody,
      response: { 200: PermissionGroupEnvelope },
    },
    handler: async (request, reply) => {
      const { group_id } = request.params;
      const input = readPermissionGroup(request.body);
      const { record, version } = await permissionGroups.update(deps, callerOf(request), group_id, input);
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
      await permissionGroups.remove(deps, callerOf(request), request.params.group_id);
      reply.code(204);
      return null;
    },
  });
}
