// HTTP of the holders of permissions and roles.
import {
  HolderPage,
  PermissionHoldersExportQuery,
  PermissionHoldersQuery,
  RoleHoldersQuery,
} from '@castellan/contract/holders';
import { PermissionParams } from '@castellan/contract/permission-records';
import { RoleParams } from '@castellan/contract/roles';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import {
  ExportQuery,
  type Exports,
  exportDescription,
  exportResponse,
  exportTypes,
  sendExport,
} from '../../platform/http/answers/export.ts';
import type { App } from '../../platform/http/server/server.ts';
import type { Db } from '../../schema/database.ts';
import { callerOf } from '../authz/caller.ts';
import { csvOfHolders, heldPermission, heldRole, holdersToExport, listHolders, toHolder } from './holders.ts';

type HolderRouteDeps = { db: Db; exports: Exports };

export function holderRoutes(app: App, deps: HolderRouteDeps): void {
  permissionHolderRoutes(app, deps);
  roleHolderRoutes(app, deps);
}

const ORDER = 'Users and service accounts, each once, sorted by id, active or not.';
const CHANGES =
  'A holder that appears or disappears while you read the pages neither repeats nor skips another one.';

function permissionHolderRoutes(app: App, deps: HolderRouteDeps): void {
  app.route({
    method: 'GET',
    url: '/permissions/:permission_id/holders',
    config: { access: 'access.explain', errors: ['permission_not_found'] },
    schema: {
      summary: 'List who holds a permission',
      description: `${ORDER} ${CHANGES}`,
      params: PermissionParams,
      querystring: PermissionHoldersQuery,
      response: { 200: HolderPage },
    },
    handler: async (request) => ({
      ...(await listHolders(
        deps,
        heldPermission(request.params.permission_id, request.query.include),
        request.query,
      )),
      message: 'Holders of the permission.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/permissions/:permission_id/holders/export',
    exposeHeadRoute: false,
    config: { access: 'access.explain', errors: ['permission_not_found', 'overloaded'] },
    schema: {
      summary: 'Export who holds a permission',
      description: `${ORDER} ${exportDescription}`,
      params: PermissionParams,
      querystring: Type.Object({ ...PermissionHoldersExportQuery.properties, ...ExportQuery.properties }),
      produces: [...exportTypes],
      response: { 200: exportResponse },
    },
    handler: (request, reply) =>
      exportHolders(
        deps,
        request,
        reply,
        heldPermission(request.params.permission_id, request.query.include),
      ),
  });
}

function roleHolderRoutes(app: App, deps: HolderRouteDeps): void {
  app.route({
    method: 'GET',
    url: '/roles/:role_id/holders',
    config: { access: 'access.explain', errors: ['role_not_found'] },
    schema: {
      summary: 'List who has a role',
      description: `${ORDER} ${CHANGES}`,
      params: RoleParams,
      querystring: RoleHoldersQuery,
      response: { 200: HolderPage },
    },
    handler: async (request) => ({
      ...(await listHolders(deps, heldRole(request.params.role_id), request.query)),
      message: 'Holders of the role.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/roles/:role_id/holders/export',
    exposeHeadRoute: false,
    config: { access: 'access.explain', errors: ['role_not_found', 'overloaded'] },
    schema: {
      summary: 'Export who has a role',
      description: `${ORDER} ${exportDescription}`,
      params: RoleParams,
      querystring: ExportQuery,
      produces: [...exportTypes],
      response: { 200: exportResponse },
    },
    handler: (request, reply) => exportHolders(deps, request, reply, heldRole(request.params.role_id)),
  });
}

const exportHolders = (
  deps: HolderRouteDeps,
  request: FastifyRequest<{ Querystring: { bom?: boolean } }>,
  reply: FastifyReply,
  held: ReturnType<typeof heldRole>,
): Promise<void> =>
  sendExport(request, reply, {
    exports: deps.exports,
    callerId: callerOf(request).principal.id,
    fileName: `${held.kind}-holders`,
    source: holdersToExport(deps, held),
    objectOf: toHolder,
    csv: csvOfHolders,
  });
