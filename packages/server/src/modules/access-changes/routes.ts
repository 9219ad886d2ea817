// HTTP of /api/v1/access/changes.
import {
  ChangeAccessBody,
  ChangedAccessEnvelope,
  DryRunQuery,
  OrPreview,
} from '@castellan/contract/access-changes';
import { bulkBody } from '../../platform/http/bodies/body-limits.ts';
import type { App } from '../../platform/http/server/server.ts';
import { callerOf } from '../authz/caller.ts';
import { changeAccess, previewAccess } from './service.ts';

type AccessChangeDeps = Parameters<typeof previewAccess>[0];

export function accessChangeRoutes(app: App, deps: AccessChangeDeps): void {
  app.route({
    method: 'POST',
    url: '/changes',
    config: {
      access: 'access.change',
      body: bulkBody,
      ifMatch: false,
      errors: [
        'user_not_found',
        'service_account_not_found',
        'role_not_found',
        'permission_not_found',
        'precondition_failed',
        'system_role',
        'role_in_use',
        'superuser_required',
        'acting_as',
        'privilege_escalation',
      ],
      statedOf: { kind: 'access_change' },
    },
    schema: {
      summary: 'Change the access of many records, all or none',
      description:
        'Adds and removes permissions of roles, and roles of users and service accounts, and deletes roles. Items for roles also require `role.update`, for users `user.update`, for service accounts `service_account.update`, and `delete` of a role `role.delete`. If one item is refused, nothing changes, and `errors` names the items and the reasons. You cannot use what you gain by the same request: rights are compared with what you hold before it.',
      querystring: DryRunQuery,
      body: ChangeAccessBody,
      response: { 200: OrPreview(ChangedAccessEnvelope) },
    },
    handler: async (request) =>
      request.query.dry_run
        ? previewAccess(deps, callerOf(request), request.body)
        : { data: await changeAccess(deps, callerOf(request), request.body), message: 'Access changed.' },
  });
}
