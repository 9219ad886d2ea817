// HTTP of signing in by an identity provider, under /api/v1/auth. Providers send browsers to the callback, so its answers are
// redirects. Its GET begins sessions without a CSRF token: state and cookie stand in for it.
import { MessageEnvelope } from '@castellan/contract/envelope';
import {
  PendingConfirmBody,
  PendingEmailBody,
  PendingIdentityEnvelope,
  ProviderSlugParams,
  PublicProvidersEnvelope,
  RedirectEnvelope,
  StartProviderBody,
} from '@castellan/contract/identities';
import { NoContent } from '@castellan/contract/oauth';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { publicBody } from '../../platform/http/bodies/body-limits.ts';
import { browserIdOf } from '../../platform/http/plugins/csrf-protection.ts';
import { acceptFormsOnly } from '../../platform/http/plugins/form-parsing.ts';
import type { App } from '../../platform/http/server/server.ts';
import { rateLimitAddress } from '../../platform/security/client-address.ts';
import { isObject } from '../../platform/unknown-values.ts';
import { DEVICE_COOKIE, readDeviceTokens } from '../auth/devices/cookie.ts';
import { setIssuedCookies } from '../auth/devices/issued-cookies.ts';
import { REFRESH_COOKIE, readRefreshCookie } from '../auth/refresh-cookie.ts';
import { BROWSER_COOKIE } from '../sessions/browser/cookie.ts';
import { failedPage, onwardOf } from './addresses.ts';
import { type Ended, finishSignIn, keepAnswer, refuseOften } from './callback.ts';
import { clearProviderCookie, PROVIDER_COOKIE, readProviderCookie, setProviderCookie } from './cookie.ts';
import type { ProviderSignInDeps } from './deps.ts';
import { confirmCode, mailCode, readPendingIdentity, withdrawPending } from './pending.ts';
import { beginSignIn, listProviders } from './start.ts';

const EMAIL_ANSWER = 'A mail is on its way to this email address. Type the code that it has.';

const callbackSchema = {
  summary: 'Come back from an identity provider',
  description:
    'Where a provider sends the browser. Answers 303, to a page: signed in, something to do first, or why not. Needs the cookie of the browser that began; a state counts once, for ten minutes.',
  params: ProviderSlugParams,
  response: { 303: NoContent },
};

const sets = [REFRESH_COOKIE, BROWSER_COOKIE, DEVICE_COOKIE, PROVIDER_COOKIE];

export function providerSignInRoutes(app: App, deps: ProviderSignInDeps): void {
  const { settings } = deps;
  const limit = { name: 'provider-start', rule: settings.rateLimitProviderStart };
  const cookieOf = (request: FastifyRequest): string | undefined => readProviderCookie(request, settings);

  /** Counts a callback beside the starts of its address. A browser is answered with a page, not with JSON. */
  const isOverLimit = async ({ client }: FastifyRequest): Promise<boolean> => {
    const { name, rule } = limit;
    return (
      rule !== null &&
      !(await deps.limiter.hit(`${name}|ip:${rateLimitAddress(client.address)}`, rule)).allowed
    );
  };

  const setCookies = (request: FastifyRequest, reply: FastifyReply, { tokens, keepSeconds }: Ended): void => {
    const cookie = cookieOf(request);
    if (tokens) setIssuedCookies(reply, settings, tokens);
    if (keepSeconds === null) clearProviderCookie(reply, settings);
    else if (keepSeconds !== undefined && cookie !== undefined)
      setProviderCookie(reply, settings, cookie, keepSeconds);
  };

  const go = (request: FastifyRequest, reply: FastifyReply, ended: Ended): FastifyReply => {
    setCookies(request, reply, ended);
    return reply
      .header('cache-control', 'no-store')
      .header('referrer-policy', 'no-referrer')
      .redirect(ended.location, 303);
  };

  app.route({
    method: 'GET',
    url: '/providers',
    config: { access: 'public' },
    schema: {
      summary: 'List the identity providers that people sign in by',
      response: { 200: PublicProvidersEnvelope },
    },
    handler: async () => ({
      data: await listProviders(deps),
      message: 'The identity providers of the sign-in page.',
    }),
  });

  app.route({
    method: 'POST',
    url: '/providers/:slug/start',
    config: {
      access: 'public',
      cookies: { reads: [REFRESH_COOKIE], sets: [PROVIDER_COOKIE] },
      limit,
      errors: ['identity_provider_not_found', 'provider_unavailable'],
    },
    schema: {
      summary: 'Begin a sign-in by an identity provider',
      description:
        'Send the browser to `redirect_to`. `next` counts only if it is a path of this service. Sets a cookie that the browser brings back from the provider. In a browser that is signed in here, the provider asks the person again, as far as it can: a sign-in that it remembers is no fresh proof.',
      params: ProviderSlugParams,
      body: StartProviderBody,
      response: { 200: RedirectEnvelope },
    },
    handler: async (request, reply) => {
      const { redirectTo, cookie, keepSeconds } = await beginSignIn(deps, {
        purpose: 'sign_in',
        client: request.client,
        slug: request.params.slug,
        browserId: browserIdOf(deps.csrf, request, settings),
        onward: onwardOf(request.body, settings),
        // Who is signed in and signs in again has to prove something.
        asksAgain: readRefreshCookie(request, deps).isSigned,
      });
      setProviderCookie(reply, settings, cookie, keepSeconds);
      return { data: { redirect_to: redirectTo }, message: 'Go on to redirect_to.' };
    },
  });

  app.route({
    method: 'GET',
    url: '/providers/:slug/callback',
    config: {
      access: 'public',
      cookies: { reads: [PROVIDER_COOKIE, DEVICE_COOKIE], sets },
    },
    schema: callbackSchema,
    handler: async (request, reply) => {
      const { client, params } = request;
      const about = { client, slug: params.slug };
      // It uses nothing up.
      if (request.method === 'HEAD') {
        const failure = { kind: 'expired', request: client.requestId, provider: params.slug } as const;
        const location = failedPage(settings, failure, { next: null, interaction: null });
        return go(request, reply, { location });
      }
      if (await isOverLimit(request)) return go(request, reply, await refuseOften(deps, about));
      const mark = request.raw.url?.indexOf('?') ?? -1;
      const ended = await finishSignIn(deps, {
        ...about,
        cookie: cookieOf(request),
        deviceTokens: readDeviceTokens(request, settings),
        parameters: new URLSearchParams(mark < 0 ? '' : (request.raw.url ?? '').slice(mark + 1)),
      });
      return go(request, reply, ended);
    },
  });

  app.register(async (scope: App) => {
    acceptFormsOnly(scope);
    scope.route({
      method: 'POST',
      url: '/providers/:slug/callback',
      config: { access: 'public', csrf: false, form: true, body: publicBody },
      schema: {
        ...callbackSchema,
        description:
          'As GET, with the parameters in a form, as Apple sends them. Reads no cookie: it leads the browser on to GET.',
      },
      handler: async (request, reply) => {
        const { client, params } = request;
        const about = { client, slug: params.slug };
        if (await isOverLimit(request)) return go(request, reply, await refuseOften(deps, about));
        const fields = Object.entries(isObject(request.body) ? request.body : {});
        const texts = fields.filter((one): one is [string, string] => typeof one[1] === 'string');
        return go(
          request,
          reply,
          await keepAnswer(deps, { ...about, parameters: new URLSearchParams(texts) }),
        );
      },
    });
  });

  app.route({
    method: 'GET',
    url: '/pending-identity',
    config: {
      access: 'public',
      cookies: { reads: [PROVIDER_COOKIE] },
      errors: ['pending_identity_not_found'],
    },
    schema: {
      summary: 'Read what a sign-in by a provider waits for in this browser',
      response: { 200: PendingIdentityEnvelope },
    },
    handler: async (request) => ({
      data: await readPendingIdentity(deps, cookieOf(request)),
      message: 'The sign-in that waits.',
    }),
  });

  app.route({
    method: 'DELETE',
    url: '/pending-identity',
    config: {
      access: 'public',
      cookies: { reads: [PROVIDER_COOKIE], sets: [PROVIDER_COOKIE] },
      errors: ['pending_identity_not_found'],
    },
    schema: {
      summary: 'Withdraw a sign-in by a provider that waits in this browser',
      response: { 200: MessageEnvelope },
    },
    handler: async (request, reply) => {
      await withdrawPending(deps, cookieOf(request));
      clearProviderCookie(reply, settings);
      return { message: 'Withdrawn. Nothing was connected.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/pending-identity/email',
    config: {
      access: 'public',
      cookies: { reads: [PROVIDER_COOKIE] },
      // An office may share its address. Each person and each mailbox has a narrower limit.
      limit: { name: 'provider-email', rule: settings.rateLimitProviderStart },
      errors: ['pending_identity_not_found', 'invalid_email'],
    },
    schema: {
      summary: 'Have a code mailed to an address',
      description:
        'For step `email`. The code has 8 digits, works for 15 minutes in this browser alone, and takes five tries; a new one ends it. The response is the same for every address. Beyond `ACCOUNT_EMAIL_LIMIT`, nothing is mailed to an address, and a person from the provider gets 429.',
      body: PendingEmailBody,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await mailCode(deps, request.client, cookieOf(request), request.body.email);
      return { message: EMAIL_ANSWER };
    },
  });

  app.route({
    method: 'POST',
    url: '/pending-identity/confirm',
    config: {
      access: 'public',
      cookies: { reads: [PROVIDER_COOKIE, DEVICE_COOKIE], sets },
      errors: ['pending_identity_not_found', 'code_invalid'],
    },
    schema: {
      summary: 'Confirm an address with the code that was mailed to it',
      description:
        'Signs in: to a new account if the provider makes one for this address, or to the account that has it, if nobody has verified it. Otherwise `redirect_to` is the page that says what to do.',
      body: PendingConfirmBody,
      response: { 200: RedirectEnvelope },
    },
    handler: async (request, reply) => {
      const ended = await confirmCode(
        deps,
        {
          client: request.client,
          cookie: cookieOf(request),
          deviceTokens: readDeviceTokens(request, settings),
        },
        request.body.code,
      );
      setCookies(request, reply, ended);
      return { data: { redirect_to: ended.location }, message: 'Go on to redirect_to.' };
    },
  });
}
