// HTTP of what providers send, and of browsers that come back from signing out there, under /api/v1/auth/providers. Bare: standards
// fix the shapes. No cookie is read, so no CSRF token counts.
import { BackchannelLogoutRequest, ProviderSlugParams, SignedOutQuery } from '@castellan/contract/identities';
import { INTERACTION_ID } from '@castellan/contract/interactions';
import { NoContent } from '@castellan/contract/oauth';
import { publicBody } from '../../platform/http/bodies/body-limits.ts';
import { acceptFormsOnly } from '../../platform/http/plugins/form-parsing.ts';
import type { App } from '../../platform/http/server/server.ts';
import type { RateLimitRule } from '../../platform/limits/rate-limit.ts';
import { oauthErrors } from '../oauth/error-shape.ts';
import { type BackchannelDeps, logoutByProvider } from './backchannel.ts';

/** Of one address: a provider that signs many people out at once sends a token for each. */
const logoutRule: RateLimitRule = { limit: 600, windowSeconds: 60 };

export function providerRoutes(app: App, deps: BackchannelDeps & { settings: { basePath: string } }): void {
  app.register(async (scope) => backchannelRoute(scope, deps));

  app.route({
    method: 'GET',
    url: '/:slug/signed-out',
    config: { access: 'public' },
    schema: {
      summary: 'Come back from signing out at a provider',
      description:
        'The provider sends the browser here; register it there as a `post_logout_redirect_uri`. Leads on to the application that began, or to a page.',
      params: ProviderSlugParams,
      querystring: SignedOutQuery,
      response: { 303: NoContent },
    },
    handler: (request, reply) => {
      const { state } = request.query;
      const { basePath } = deps.settings;
      const isKept = state !== undefined && INTERACTION_ID.test(state);
      return reply
        .header('cache-control', 'no-store')
        .header('referrer-policy', 'no-referrer')
        .redirect(
          isKept ? `${basePath}/api/v1/oauth/logout?interaction=${state}` : `${basePath}/sign-out`,
          303,
        );
    },
  });
}

function backchannelRoute(app: App, deps: BackchannelDeps): void {
  acceptFormsOnly(app);
  app.route({
    method: 'POST',
    url: '/:slug/backchannel-logout',
    config: {
      access: 'public',
      csrf: false,
      form: true,
      errorShape: oauthErrors,
      body: publicBody,
      limit: { name: 'backchannel-logout', rule: logoutRule },
      errors: ['invalid_request', 'overloaded'],
    },
    schema: {
      summary: 'End sessions that have ended at their provider',
      description:
        'OpenID Connect Back-Channel Logout 1.0, for identity providers. A token with `sid` ends the sessions that began in that session there, and with `sub` also those of that `sub` of which the provider told no `sid`. One without `sid` ends all sessions that began with that `sub`. Each token counts once.',
      params: ProviderSlugParams,
      body: BackchannelLogoutRequest,
      response: { 200: NoContent },
    },
    handler: async ({ client, params: { slug }, body }, reply) => {
      await logoutByProvider(deps, client, { slug, ...body });
      return reply.send(undefined);
    },
  });
}
