// HTTP of /api/v1/permissions/{id}/authentication.
import { DryRunQuery } from '@castellan/contract/access-changes';
import { PermissionEnvelope, PermissionParams } from '@castellan/contract/permission-records';
import {
  AuthenticationPreviewEnvelope,
  PermissionAuthenticationBody,
} from '@castellan/contract/requirements';
import Type from 'typebox';
import { sendEtag } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { callerOf } from '../authz/caller.ts';
import {
  type PermissionAuthenticationDeps,
  previewPermissionAuthentication,
  setPermissionAuthentication,
} from './service.ts';

export function permissionAuthenticationRoutes(app: App, deps: PermissionAuthenticationDeps): void {
  app.route({
    method: 'PUT',
    url: '/:permission_id/authentication',
    config: {
      access: 'authentication.update',
      errors: [
        'permission_not_found',
        'privilege_escalation',
        'user_required',
        'passkeys_unavailable',
        'precondition_failed',
      ],
    },
    schema: {
      summary: 'Set what a call that uses a permission must have proved',
      description:
        'Also of built-in permissions. It counts at the next request of everybody, superusers included; service accounts have nothing to prove. You must hold the permission, and your own token must meet the former and the new value. A service account may only make it stricter. The ETag is made of the value: `"0"` is that of a permission that requires nothing.',
      params: PermissionParams,
      querystring: DryRunQuery,
      body: PermissionAuthenticationBody,
      response: { 200: Type.Union([PermissionEnvelope, AuthenticationPreviewEnvelope]) },
    },
    handler: async (request, reply) => {
      const { permission_id } = request.params;
      if (request.query.dry_run)
        return previewPermissionAuthentication(deps, callerOf(request), permission_id, request.body);
      const { record, version } = await setPermissionAuthentication(
        deps,
        callerOf(request),
        permission_id,
        request.body,
      );
      sendEtag(reply, version);
      return { data: record, message: 'The permission requires this of every call that uses it.' };
    },
  });
}
