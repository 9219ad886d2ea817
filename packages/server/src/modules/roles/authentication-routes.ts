// HTTP of /api/v1/roles/{id}/authentication.
import { DryRunQuery } from '@castellan/contract/access-changes';
import { AuthenticationPreviewEnvelope, RoleAuthenticationBody } from '@castellan/contract/requirements';
import { RoleEnvelope, RoleParams } from '@castellan/contract/roles';
import Type from 'typebox';
import { sendEtag } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { callerOf } from '../authz/caller.ts';
import { previewRoleAuthentication, type RoleAuthenticationDeps, setRoleAuthentication } from './service.ts';

export function roleAuthenticationRoutes(app: App, deps: RoleAuthenticationDeps): void {
  app.route({
    method: 'PUT',
    url: '/:role_id/authentication',
    config: {
      access: 'authentication.update',
      errors: [
        'role_not_found',
        'privilege_escalation',
        'user_required',
        'passkeys_unavailable',
        'precondition_failed',
      ],
    },
    schema: {
      summary: 'Set how holders of a role must sign in',
      description:
        'Also of system roles. Until `enforced_from`, sign-ins announce it; from then on it counts at the next request of everybody with the role. You must hold every permission of the role, and your own token must meet the former and the new value. A service account may only make it stricter.',
      params: RoleParams,
      querystring: DryRunQuery,
      body: RoleAuthenticationBody,
      response: { 200: Type.Union([RoleEnvelope, AuthenticationPreviewEnvelope]) },
    },
    handler: async (request, reply) => {
      const { role_id } = request.params;
      if (request.query.dry_run)
        return previewRoleAuthentication(deps, callerOf(request), role_id, request.body);
      const { record, version } = await setRoleAuthentication(deps, callerOf(request), role_id, request.body);
      sendEtag(reply, version);
      return { data: record, message: 'The role requires this of its holders.' };
    },
  });
}
