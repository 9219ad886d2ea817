// HTTP of previews of claims, under /api/v1/applications.
import { ClaimsPreviewBody, ClaimsPreviewEnvelope } from '@castellan/contract/application-claims';
import { ApplicationParams } from '@castellan/contract/applications';
import type { App } from '../../../platform/http/server/server.ts';
import { callerOf } from '../../authz/caller.ts';
import { type ClaimsPreviewDeps, previewClaims } from './preview.ts';

export function claimsPreviewRoutes(app: App, deps: ClaimsPreviewDeps): void {
  app.route({
    method: 'POST',
    url: '/:application_id/claims-preview',
    config: {
      access: 'application.read',
      readOnly: true,
      errors: ['application_not_found', 'user_not_found'],
    },
    schema: {
      summary: 'Preview what tokens would tell an application about a user',
      description:
        'Needs `users.read`, too. The claims are those of this moment, if the application asks for every scope that it may ask for. ' +
        'Nothing is issued.',
      params: ApplicationParams,
      body: ClaimsPreviewBody,
      response: { 200: ClaimsPreviewEnvelope },
    },
    handler: async (request) => ({
      data: await previewClaims(deps, callerOf(request), {
        applicationId: request.params.application_id,
        userId: request.body.user_id,
      }),
      message: 'What tokens would tell.',
    }),
  });
}
