// HTTP of sign-outs that applications ask for, under /api/v1/oauth. Browsers are sent to /logout, so its answers are redirects and
// pages. A request of another site must end nothing but the session that its hint names.
import { InteractionParams, RedirectEnvelope, SignOutBody } from '@castellan/contract/interactions';
import { NoContent } from '@castellan/contract/oauth';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { publicBody } from '../../../platform/http/bodies/body-limits.ts';
import { acceptFormsOnly } from '../../../platform/http/plugins/form-parsing.ts';
import type { App } from '../../../platform/http/server/server.ts';
import { isObject } from '../../../platform/unknown-values.ts';
import { clearRefreshCookie, REFRESH_COOKIE } from '../../auth/refresh-cookie.ts';
import { BROWSER_COOKIE, clearBrowserCookie } from '../../sessions/browser/cookie.ts';
import { type AuthorizeDeps, countAuthorization } from '../authorize/deps.ts';
import { errorPageResponse } from '../plain-page.ts';
import { sendErrorPage } from './error-page.ts';
import { answerHead, beginSignOut, decideSignOut, keepSignOut, type SignOutDeps } from './service.ts';

const cookies = { reads: [BROWSER_COOKIE], sets: [REFRESH_COOKIE, BROWSER_COOKIE] };

const signOutSchema = {
  tags: ['OAuth'],
  summary: 'Send a person here to sign out',
  description:
    'OpenID Connect RP-Initiated Logout 1.0. A hint that names the session of this browser ends it at once; otherwise a page asks first. ' +
    'Answers 303: to a registered `post_logout_redirect_uri`, or to a page. A request that names an address that is not registered, or ' +
    'has a wrong hint, is answered with a page, 400, and ends nothing.',
  response: { 303: NoContent, 400: errorPageResponse },
};

/** The limit of authorization requests counts sign-outs, too, by address: each keeps a request for a while. */
type SignOutRouteDeps = SignOutDeps & Pick<AuthorizeDeps, 'authorizations'>;

export function signOutRoutes(app: App, deps: SignOutRouteDeps): void {
  const { settings } = deps;
  const clearCookies = (request: FastifyRequest, reply: FastifyReply): void => {
    clearRefreshCookie(reply, settings);
    clearBrowserCookie(reply, request.client, settings);
  };

  const go = (reply: FastifyReply, location: string): FastifyReply =>
    reply
      .header('cache-control', 'no-store')
      .header('referrer-policy', 'no-referrer')
      .redirect(location, 303);

  app.route({
    method: 'GET',
    url: '/logout',
    config: { access: 'public', cookies, errors: ['rate_limited'] },
    schema: signOutSchema,
    handler: async (request, reply) => {
      await countAuthorization(deps, request.client, null);
      const given = isObject(request.query) ? request.query : {};
      const answer =
        request.method === 'HEAD'
          ? await answerHead(deps, given)
          : await beginSignOut(deps, request.client, given);
      if ('refused' in answer) return sendErrorPage(request, reply, answer.refused, given);
      if (answer.ended) clearCookies(request, reply);
      return go(reply, answer.location);
    },
  });

  app.register(async (scope) => {
    acceptFormsOnly(scope);
    scope.route({
      method: 'POST',
      url: '/logout',
      config: { access: 'public', csrf: false, form: true, body: publicBody, errors: ['rate_limited'] },
      schema: {
        ...signOutSchema,
        description:
          'As GET, with the parameters in a form. Reads no cookie: it leads the browser on to GET.',
      },
      handler: async (request, reply) => {
        await countAuthorization(deps, request.client, null);
        const given = isObject(request.body) ? request.body : {};
        const answer = await keepSignOut(deps, given);
        if ('refused' in answer) return sendErrorPage(request, reply, answer.refused, given);
        return go(reply, answer.location);
      },
    });
  });

  app.route({
    method: 'POST',
    url: '/interactions/:interaction_id/sign-out',
    config: { access: 'public', cookies, body: publicBody, errors: ['interaction_not_found'] },
    schema: {
      tags: ['OAuth'],
      summary: 'Sign out, or stay signed in, when an application asks',
      description:
        '`sign_out` ends the session of this browser and clears its cookies. The page then goes to `redirect_to`: the application, if it registered the address, or a page of this service.',
      params: InteractionParams,
      body: SignOutBody,
      response: { 200: RedirectEnvelope },
    },
    handler: async (request, reply) => {
      const { location, ended } = await decideSignOut(
        deps,
        request.client,
        request.params.interaction_id,
        request.body.decision,
      );
      if (ended) clearCookies(request, reply);
      return { data: { redirect_to: location }, message: ended ? 'Signed out.' : 'Still signed in.' };
    },
  });
}
