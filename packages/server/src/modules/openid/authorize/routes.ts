// HTTP of the authorization request, under /api/v1/oauth, and of the pages between it and its answer.
// The authorization request itself has no CSRF token: any page may send a person there, and nothing that counts happens by it alone.
import { StepUpBody } from '@castellan/contract/factors';
import {
  AccountBody,
  ConsentBody,
  type Interaction,
  InteractionEnvelope,
  InteractionParams,
  RedirectEnvelope,
} from '@castellan/contract/interactions';
import { NoContent } from '@castellan/contract/oauth';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../platform/errors.ts';
import { createStaticText, sendStaticText } from '../../../platform/http/answers/static-text.ts';
import { publicBody } from '../../../platform/http/bodies/body-limits.ts';
import { FORM_TYPE } from '../../../platform/http/bodies/form-type.ts';
import type { Client } from '../../../platform/http/client.ts';
import type { App } from '../../../platform/http/server/server.ts';
import { BROWSER_COOKIE, clearBrowserCookie, setBrowserCookie } from '../../sessions/browser/cookie.ts';
import { errorPageResponse, pageLanguage, pageResponse } from '../plain-page.ts';
import type { AuthorizeDeps } from './deps.ts';
import {
  cancelInteraction,
  chooseAccount,
  decideConsent,
  type OtherPages,
  type ProveAgain,
  readInteraction,
  reauthenticate,
} from './interactions.ts';
import { errorPageOf, FORM_POST_SCRIPT, formPage, formPolicy } from './pages.ts';
import { type ParameterFault, type Parameters, readParameters } from './parameters.ts';
import { type Answer, answerHead, authorize, type ErrorPage, keepForm } from './service.ts';

export type AuthorizeRouteDeps = AuthorizeDeps & {
  proveAgain: ProveAgain;
  /** Returns what the page of a sign-out asks; undefined for an id of none. */
  readSignOut: (client: Client, id: string) => Promise<Interaction | undefined>;
  devicePages: OtherPages;
  /** Clears the cookie of the refresh token. */
  clearRefreshCookie: (reply: FastifyReply) => void;
};

const noPage: Omit<ErrorPage, 'reason'> = {
  applicationName: null,
  received: null,
  difference: null,
  registered: null,
};

const faultPage = (fault: ParameterFault): Answer => {
  if (fault === 'too_large') throw new AppError('uri_too_long');
  return { page: { ...noPage, reason: fault } };
};

/** Sends an answer. Nothing of it is kept, and no other site sees the address of the request. */
function send(
  request: FastifyRequest,
  reply: FastifyReply,
  { basePath, uiLocales }: { basePath: string; uiLocales: string | null },
  answer: Answer,
): FastifyReply {
  reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer');
  if ('location' in answer) return reply.code(303).header('location', answer.location).send();
  const language = pageLanguage(uiLocales, request.client);
  reply.type('text/html; charset=utf-8');
  if ('form' in answer)
    return reply
      .header('content-security-policy', formPolicy(answer.form.action))
      .send(formPage(answer.form, { basePath, language }));
  return reply.code(400).send(errorPageOf(answer.page, { language, requestId: request.id }));
}

const authorizeSchema = {
  tags: ['OAuth'],
  summary: 'Send a person here to sign in to an application',
  description:
    'OpenID Connect Core, 3.1.2, with PKCE (RFC 7636), `resource` (RFC 8707), `iss` in the answer (RFC 9207) and `response_mode` `query` or ' +
    '`form_post`. Answers 303: to the application, or to a page on which the person has to do something first. A request without a ' +
    'registered `redirect_uri` is answered with a page, 400, and leads nowhere.',
  response: {
    200: pageResponse('With `form_post`: a page that sends the answer on.'),
    303: NoContent,
    400: errorPageResponse,
  },
};

export function authorizeRoutes(app: App, deps: AuthorizeRouteDeps): void {
  const { basePath } = deps.settings;
  const answer = async (
    request: FastifyRequest,
    reply: FastifyReply,
    encoded: string | Buffer,
    by: (given: Parameters) => Promise<Answer>,
  ): Promise<FastifyReply> => {
    const given = readParameters(encoded);
    const isRead = typeof given !== 'string';
    const uiLocales = (isRead && given.ui_locales) || null;
    return send(request, reply, { basePath, uiLocales }, isRead ? await by(given) : faultPage(given));
  };
  app.route({
    method: 'GET',
    url: '/authorize',
    config: { access: 'public', csrf: false, cookies: { reads: [BROWSER_COOKIE] }, errors: ['rate_limited'] },
    schema: authorizeSchema,
    handler: async (request, reply) => {
      const mark = request.raw.url?.indexOf('?') ?? -1;
      const encoded = mark < 0 ? '' : (request.raw.url ?? '').slice(mark + 1);
      const by = request.method === 'HEAD' ? answerHead : authorize;
      return answer(request, reply, encoded, (given) => by(deps, request.client, given));
    },
  });
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(FORM_TYPE, { parseAs: 'buffer' }, (_request, bytes, done) => {
      // A text, because the limit of values would count every byte.
      done(null, bytes.toString('latin1'));
    });
    scope.route({
      method: 'POST',
      url: '/authorize',
      config: { access: 'public', csrf: false, form: true, body: publicBody, errors: ['rate_limited'] },
      schema: {
        ...authorizeSchema,
        description:
          'As GET, with the parameters in a form. Reads no cookie: it leads the browser on to GET.',
      },
      handler: (request, reply) =>
        answer(
          request,
          reply,
          typeof request.body === 'string' ? Buffer.from(request.body, 'latin1') : '',
          (given) => keepForm(deps, request.client, given),
        ),
    });
  });
  interactionRoutes(app, deps);
}

const notFound = ['interaction_not_found', 'rate_limited'] as const;
const signedIn = ['browser_session_required', ...notFound] as const;
const reads = [BROWSER_COOKIE];

function interactionRoutes(app: App, deps: AuthorizeRouteDeps): void {
  const { devicePages } = deps;
  app.route({
    method: 'GET',
    url: '/interactions/:interaction_id',
    config: { access: 'public', cookies: { reads }, errors: notFound },
    schema: {
      tags: ['OAuth'],
      summary: 'Read what a person has to do for an application',
      params: InteractionParams,
      response: { 200: InteractionEnvelope },
    },
    handler: async ({ client, params: { interaction_id: id } }) => ({
      data:
        (await deps.readSignOut(client, id)) ??
        (await devicePages.read(client, id)) ??
        (await readInteraction(deps, client, id)),
      message: 'The request of an application.',
    }),
  });

  app.route({
    method: 'POST',
    url: '/interactions/:interaction_id/consent',
    config: { access: 'public', cookies: { reads }, errors: signedIn },
    schema: {
      tags: ['OAuth'],
      summary: 'Agree to what an application asks for, or not',
      params: InteractionParams,
      body: ConsentBody,
      response: { 200: RedirectEnvelope },
    },
    handler: async ({ client, params: { interaction_id: id }, body }) => ({
      data: (await devicePages.consent(client, id, body)) ?? (await decideConsent(deps, client, id, body)),
      message: 'Go on to redirect_to.',
    }),
  });

  app.route({
    method: 'POST',
    url: '/interactions/:interaction_id/account',
    config: { access: 'public', cookies: { reads, sets: [BROWSER_COOKIE] }, errors: signedIn },
    schema: {
      tags: ['OAuth'],
      summary: 'Go on with the account of this browser, or sign it out',
      params: InteractionParams,
      body: AccountBody,
      response: { 200: RedirectEnvelope },
    },
    handler: async (request, reply) => {
      const { client, body } = request;
      const { interaction_id: id } = request.params;
      const { redirect, hasEnded } =
        (await devicePages.account(client, id, body)) ?? (await chooseAccount(deps, client, id, body));
      if (hasEnded) {
        deps.clearRefreshCookie(reply);
        clearBrowserCookie(reply, client, deps.settings);
      }
      return { data: redirect, message: 'Go on to redirect_to.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/interactions/:interaction_id/reauthenticate',
    config: {
      access: 'public',
      cookies: { reads, sets: [BROWSER_COOKIE] },
      errors: [
        ...signedIn,
        'second_factor_invalid',
        'code_already_used',
        'second_factor_locked',
        'passkey_unknown',
        'passkey_refused',
        'wrong_current_password',
        'no_password',
        'account_locked',
        'overloaded',
      ],
    },
    schema: {
      tags: ['OAuth'],
      summary: 'Prove again who you are, for an application',
      description:
        'As `POST /auth/step-up`, for the session of this browser. The new proof is in its cookie alone.',
      params: InteractionParams,
      body: StepUpBody,
      response: { 200: RedirectEnvelope },
    },
    handler: async (request, reply) => {
      const { client, body } = request;
      const { interaction_id: id } = request.params;
      const { redirect, browserToken } =
        (await devicePages.reauthenticate(client, id, body)) ??
        (await reauthenticate(deps, client, id, body));
      setBrowserCookie(reply, deps.settings, browserToken);
      return { data: redirect, message: 'Confirmed. Go on to redirect_to.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/interactions/:interaction_id/cancel',
    config: { access: 'public', cookies: { reads }, errors: signedIn },
    schema: {
      tags: ['OAuth'],
      summary: 'Go back to the application without signing in',
      description: 'For the request of a device: deny it.',
      params: InteractionParams,
      response: { 200: RedirectEnvelope },
    },
    handler: async ({ client, params: { interaction_id: id } }) => ({
      data: (await devicePages.cancel(client, id)) ?? (await cancelInteraction(deps, client, id)),
      message: 'Go on to redirect_to.',
    }),
  });
}

/** The script of the page that sends an answer on as a form. */
export function formPostRoute(app: App): void {
  const script = createStaticText('text/javascript', FORM_POST_SCRIPT);
  app.route({
    method: 'GET',
    url: '/form-post.js',
    config: { access: 'public' },
    schema: { hide: true },
    handler: (request, reply) => sendStaticText(request, reply, script),
  });
}
