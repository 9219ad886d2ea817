// HTTP of /api/v1/authentication: what the settings, roles and permissions require of sign-ins.
import { RequirementsEnvelope } from '@castellan/contract/requirements';
import type { App } from '../../platform/http/server/server.ts';
import { listRequirements, type RequirementsDeps } from './service.ts';

export function requirementRoutes(app: App, deps: RequirementsDeps): void {
  app.route({
    method: 'GET',
    url: '/requirements',
    config: { access: 'authentication.read' },
    schema: {
      summary: 'List what is required of sign-ins',
      operationId: 'listAuthenticationRequirements',
      description:
        'By the settings, by roles and by permissions. Roles and permissions without a requirement are left out.',
      response: { 200: RequirementsEnvelope },
    },
    handler: async () => ({ data: await listRequirements(deps), message: 'What is required of sign-ins.' }),
  });
}
