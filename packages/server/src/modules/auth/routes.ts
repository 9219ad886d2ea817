// HTTP of signing in, signing out and refreshing, under /api/v1/auth. The rules are in the other files of this folder.
import {
  AccessTokenEnvelope,
  ChangePasswordBody,
  CsrfTokenEnvelope,
  LoginBody,
  LoginEnvelope,
  NewAccessTokenBody,
  RefreshBody,
  SignedOutEnvelope,
  TokenPairEnvelope,
} from '@castellan/contract/auth';
import { MessageEnvelope } from '@castellan/contract/envelope';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../platform/errors.ts';
import type { CookieSettings } from '../../platform/http/plugins/cookies.ts';
import { CSRF_COOKIE, issueCsrfToken } from '../../platform/http/plugins/csrf-protection.ts';
import type { App } from '../../platform/http/server/server.ts';
import type { RateLimitRule } from '../../platform/limits/rate-limit.ts';
import type { Csrf } from '../../platform/security/csrf.ts';
import { userCallerOf } from '../authz/caller.ts';
import { BROWSER_COOKIE, clearBrowserCookie, setBrowserCookie } from '../sessions/browser/cookie.ts';
import { type RefreshDeps, refreshSession } from '../sessions/refresh.ts';
import { logout, logoutEverywhere, type SignOutUpstream, stopActing } from '../sessions/service.ts';
import { cookieLifetimeSeconds } from '../sessions/tokens.ts';
import { type AccountDeps, accountRoutes } from './account-routes.ts';
import type { IssuedTokens } from './devices/begin-session.ts';
import { DEVICE_COOKIE, visitorOf } from './devices/cookie.ts';
import { setIssuedCookies } from './devices/issued-cookies.ts';
import { deviceRoutes } from './devices/routes.ts';
import { login, signedInOr } from './login.ts';
import { changePassword } from './password-change.ts';
import { clearRefreshCookie, REFRESH_COOKIE, readRefreshCookie, setRefreshCookie } from './refresh-cookie.ts';
import type { SecondFactorRouteDeps } from './second-factors/route-deps.ts';
import { secondFactorRoutes } from './second-factors/routes.ts';

export type AuthDeps = AccountDeps &
  SecondFactorRouteDeps &
  RefreshDeps & {
    csrf: Csrf;
    signOutUpstream: SignOutUpstream;
    settings: CookieSettings & {
      cookieSecure: boolean;
      knownDeviceDays: number;
      rateLimitLogin: RateLimitRule | null;
      rateLimitNewAccessToken: RateLimitRule | null;
    };
  };

export function authRoutes(app: App, deps: AuthDeps): void {
  const { settings } = deps;
  const isHttps = settings.publicUrl.startsWith('https:');
  const setCookie = (reply: FastifyReply, token: string): void =>
    setRefreshCookie(reply, settings, token, cookieLifetimeSeconds(settings));

  /** Sets the cookies and returns the tokens for the response of login and change_password. */
  const signedIn = (reply: FastifyReply, tokens: IssuedTokens) => {
    setIssuedCookies(reply, settings, tokens);
    return {
      access_token: tokens.accessToken,
      token_type: 'bearer' as const,
      refresh_token: tokens.refreshToken,
    };
  };

  const clearCookies = (request: FastifyRequest, reply: FastifyReply): void => {
    clearRefreshCookie(reply, settings);
    clearBrowserCookie(reply, request.client, settings);
  };

  app.route({
    method: 'GET',
    url: '/csrf-token',
    config: { access: 'public', cookies: { sets: [CSRF_COOKIE] } },
    schema: { summary: 'Get a CSRF token for this browser', response: { 200: CsrfTokenEnvelope } },
    handler: async (request, reply) => ({
      data: {
        csrf_token: issueCsrfToken(deps.csrf, request, reply, {
          settings,
          secure: request.client.secure || isHttps,
        }),
      },
      message: 'Send this token as X-CSRF-Token with every state-changing request.',
    }),
  });

  app.route({
    method: 'POST',
    url: '/login',
    config: {
      access: 'public',
      cookies: { reads: [DEVICE_COOKIE], sets: [REFRESH_COOKIE, BROWSER_COOKIE, DEVICE_COOKIE] },
      limit: { name: 'login', rule: settings.rateLimitLogin },
      errors: [
        'sanitization_failed',
        'invalid_credentials',
        'account_locked',
        'email_not_verified',
        'second_factor_required',
        'provider_required',
        'overloaded',
      ],
    },
    schema: { summary: 'Sign in', body: LoginBody, response: { 200: LoginEnvelope } },
    handler: async (request, reply) => {
      const outcome = await login(deps, visitorOf(request, deps), request.body);
      const { user, secondFactor, ...tokens } = signedInOr(outcome);
      const notice = secondFactor ? { second_factor: secondFactor } : {};
      return { data: { ...signedIn(reply, tokens), user, ...notice }, message: 'Signed in.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/logout',
    config: {
      access: 'user',
      endsAccess: true,
      openTo: ['password_change', 'second_factor'],
      cookies: { reads: [REFRESH_COOKIE], sets: [REFRESH_COOKIE, BROWSER_COOKIE] },
    },
    schema: {
      summary: 'End this session',
      description:
        'After a sign-in by an identity provider whose record says so, `data.redirect_to` is where to send the browser to sign out there, too.',
      response: { 200: SignedOutEnvelope },
    },
    handler: async (request, reply) => {
      const caller = userCallerOf(request);
      // The cookies are those of who acts: their own session goes on.
      if (caller.principal.actor) {
        await stopActing(deps, caller);
        return { message: 'You no longer act as this user.' };
      }
      const origin = await logout(deps, caller, readRefreshCookie(request, deps).token);
      clearCookies(request, reply);
      const redirectTo = origin ? await deps.signOutUpstream(origin) : null;
      return {
        ...(redirectTo === null ? {} : { data: { redirect_to: redirectTo } }),
        message: 'Signed out.',
      };
    },
  });

  app.route({
    method: 'POST',
    url: '/logout/all',
    config: {
      access: 'user',
      endsAccess: true,
      openTo: ['password_change', 'second_factor'],
      cookies: { sets: [REFRESH_COOKIE, BROWSER_COOKIE] },
    },
    schema: { summary: 'End every session of this user', response: { 200: MessageEnvelope } },
    handler: async (request, reply) => {
      await logoutEverywhere(deps, userCallerOf(request));
      clearCookies(request, reply);
      return { message: 'Signed out everywhere.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/change_password',
    config: {
      access: 'user',
      endsAccess: true,
      openTo: ['password_change', 'second_factor'],
      cookies: { sets: [REFRESH_COOKIE, BROWSER_COOKIE] },
      errors: [
        'wrong_current_password',
        'no_password',
        'password_rejected',
        'account_locked',
        'rate_limited',
        'conflict',
        'overloaded',
      ],
    },
    schema: {
      summary: 'Change your password',
      body: ChangePasswordBody,
      response: { 200: LoginEnvelope },
    },
    handler: async (request, reply) => {
      const { user, ...tokens } = await changePassword(deps, userCallerOf(request), request.body);
      return {
        data: { ...signedIn(reply, tokens), user },
        message: 'Password changed. Every other session has ended.',
      };
    },
  });

  app.route({
    method: 'POST',
    url: '/refresh',
    config: {
      access: 'public',
      cookies: { sets: [REFRESH_COOKIE] },
      errors: ['refresh_token_invalid', 'rate_limited', 'overloaded'],
    },
    schema: {
      summary: 'Exchange a refresh token for new tokens',
      description:
        '`RATE_LIMIT_REFRESH` limits the exchanges of one session. Beyond that, the response is 429.',
      body: RefreshBody,
      response: { 200: TokenPairEnvelope },
    },
    handler: async (request, reply) => {
      const presented = request.body.refresh_token;
      const tokens = await refreshSession(deps, request.client, presented, { rotate: true });
      // If the body holds the token of the cookie, the cookie must get the new token, because the old one expires soon.
      if (readRefreshCookie(request, deps).token === presented) setCookie(reply, tokens.refreshToken);
      return {
        data: {
          access_token: tokens.accessToken,
          token_type: 'bearer' as const,
          refresh_token: tokens.refreshToken,
        },
        message: 'Tokens refreshed.',
      };
    },
  });

  app.route({
    method: 'POST',
    url: '/new_access_token',
    config: {
      access: 'public',
      cookies: { reads: [REFRESH_COOKIE], sets: [BROWSER_COOKIE] },
      limit: { name: 'new-access-token', rule: settings.rateLimitNewAccessToken },
      errors: ['refresh_token_invalid', 'rate_limited', 'overloaded'],
    },
    schema: {
      summary: 'Get an access token with the refresh cookie',
      description:
        'The cookie is read first. Clients without cookies send the refresh token in the body. The refresh token stays valid.',
      body: NewAccessTokenBody,
      response: { 200: AccessTokenEnvelope },
    },
    handler: async (request, reply) => {
      const { token, isSigned } = readRefreshCookie(request, deps);
      const presented = isSigned ? token : request.body?.refresh_token || token;
      if (!presented) throw new AppError('refresh_token_invalid');
      const { accessToken, browserToken } = await refreshSession(deps, request.client, presented, {
        rotate: false,
        fromCookie: presented === token,
      });
      if (browserToken !== undefined) setBrowserCookie(reply, settings, browserToken);
      return {
        data: { access_token: accessToken, token_type: 'bearer' as const },
        message: 'New access token.',
      };
    },
  });

  secondFactorRoutes(app, deps, signedIn);
  deviceRoutes(app, deps);
  accountRoutes(app, deps);
}
