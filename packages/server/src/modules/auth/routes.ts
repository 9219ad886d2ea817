// HTTP of signing in and staying in, under /api/v1/auth: shapes, cookies, sentences. The rules stand in the files beside.
import {
  AccessTokenEnvelope,
  ChangePasswordBody,
  CsrfTokenEnvelope,
  LoginBody,
  LoginEnvelope,
  NewAccessTokenBody,
  RefreshBody,
  TokenPairEnvelope,
} from '@castellan/contract/auth';
import { MessageEnvelope } from '@castellan/contract/envelope';
import type { FastifyReply } from 'fastify';
import { AppError } from '../../platform/errors.ts';
import { CSRF_COOKIE, issueCsrfToken } from '../../platform/http/csrf-protection.ts';
import type { App } from '../../platform/http/server.ts';
import type { RateLimitRule } from '../../platform/limits/rate-limit.ts';
import type { Csrf } from '../../platform/security/csrf.ts';
import { actorOf } from '../authz/guard.ts';
import { refreshSession } from '../sessions/refresh.ts';
import { logout, logoutEverywhere, type SessionTokens } from '../sessions/service.ts';
import { refreshLifetimeSeconds } from '../sessions/tokens.ts';
import { type AccountDeps, accountRoutes } from './account-routes.ts';
import { login } from './login.ts';
import { changePassword } from './password-change.ts';
import { clearRefreshCookie, REFRESH_COOKIE, setRefreshCookie } from './refresh-cookie.ts';

export type AuthDeps = AccountDeps & {
  csrf: Csrf;
  settings: {
    cookieSecure: boolean;
    rateLimitLogin: RateLimitRule | null;
    rateLimitNewAccessToken: RateLimitRule | null;
  };
};

/** No body of /auth is larger: 64 KiB. */
const BODY_LIMIT_BYTES = 65_536;

export function authRoutes(app: App, deps: AuthDeps): void {
  const { settings } = deps;
  const bodyLimit = BODY_LIMIT_BYTES;
  const cookie = { secure: settings.cookieSecure, maxAgeSeconds: refreshLifetimeSeconds(settings) };

  /** What login and change_password answer; the cookie goes with it. */
  const signedIn = (reply: FastifyReply, tokens: SessionTokens) => {
    setRefreshCookie(reply, tokens.refreshToken, cookie);
    return {
      access_token: tokens.accessToken,
      token_type: 'bearer' as const,
      refresh_token: tokens.refreshToken,
    };
  };

  app.route({
    method: 'GET',
    url: '/csrf-token',
    config: { access: 'public', cookies: { sets: [CSRF_COOKIE] } },
    schema: { summary: 'Get a CSRF token for this browser', response: { 200: CsrfTokenEnvelope } },
    handler: async (request, reply) => ({
      data: { csrf_token: issueCsrfToken(deps.csrf, request, reply, request.client.secure) },
      message: 'Send this token as X-CSRF-Token with every state-changing request.',
    }),
  });

  app.route({
    method: 'POST',
    url: '/login',
    bodyLimit,
    config: {
      access: 'public',
      cookies: { sets: [REFRESH_COOKIE] },
      limit: { name: 'login', rule: settings.rateLimitLogin },
      errors: [
        'sanitization_failed',
        'invalid_credentials',
        'account_locked',
        'email_not_verified',
        'overloaded',
      ],
    },
    schema: { summary: 'Sign in', body: LoginBody, response: { 200: LoginEnvelope } },
    handler: async (request, reply) => {
      const { user, ...tokens } = await login(deps, request.client, request.body);
      return { data: { ...signedIn(reply, tokens), user }, message: 'Signed in.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/logout',
    bodyLimit,
    config: { access: 'authenticated', cookies: { reads: [REFRESH_COOKIE], sets: [REFRESH_COOKIE] } },
    schema: { summary: 'End this session', response: { 200: MessageEnvelope } },
    handler: async (request, reply) => {
      await logout(deps, request.client, actorOf(request), request.cookies[REFRESH_COOKIE]);
      clearRefreshCookie(reply, cookie);
      return { message: 'Signed out.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/logout/all',
    bodyLimit,
    config: { access: 'authenticated', cookies: { sets: [REFRESH_COOKIE] } },
    schema: { summary: 'End every session of this user', response: { 200: MessageEnvelope } },
    handler: async (request, reply) => {
      await logoutEverywhere(deps, request.client, actorOf(request));
      clearRefreshCookie(reply, cookie);
      return { message: 'Signed out everywhere.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/change_password',
    bodyLimit,
    config: {
      access: 'authenticated',
      cookies: { sets: [REFRESH_COOKIE] },
      errors: ['wrong_current_password', 'password_rejected', 'account_locked', 'conflict', 'overloaded'],
    },
    schema: {
      summary: 'Change the own password',
      body: ChangePasswordBody,
      response: { 200: LoginEnvelope },
    },
    handler: async (request, reply) => {
      const { user, ...tokens } = await changePassword(deps, request.client, actorOf(request), request.body);
      return {
        data: { ...signedIn(reply, tokens), user },
        message: 'Password changed. Every other session has ended.',
      };
    },
  });

  app.route({
    method: 'POST',
    url: '/refresh',
    bodyLimit,
    config: { access: 'public', cookies: { sets: [REFRESH_COOKIE] }, errors: ['refresh_token_invalid'] },
    schema: {
      summary: 'Exchange a refresh token for new tokens',
      body: RefreshBody,
      response: { 200: TokenPairEnvelope },
    },
    handler: async (request, reply) => {
      const presented = request.body.refresh_token;
      const tokens = await refreshSession(deps, request.client, presented, { rotate: true });
      // A browser that sent its cookie's own token must not be left with one that ends soon.
      if (request.cookies[REFRESH_COOKIE] === presented) setRefreshCookie(reply, tokens.refreshToken, cookie);
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
    bodyLimit,
    config: {
      access: 'public',
      cookies: { reads: [REFRESH_COOKIE] },
      limit: { name: 'new-access-token', rule: settings.rateLimitNewAccessToken },
      errors: ['refresh_token_invalid'],
    },
    schema: {
      summary: 'Get an access token with the refresh cookie',
      description:
        'The cookie is read first; clients that keep no cookies send the refresh token in the body. It is not exchanged.',
      body: NewAccessTokenBody,
      response: { 200: AccessTokenEnvelope },
    },
    handler: async (request) => {
      // An empty cookie is none.
      const presented = request.cookies[REFRESH_COOKIE] || request.body?.refresh_token;
      if (!presented) throw new AppError('refresh_token_invalid');
      const { accessToken } = await refreshSession(deps, request.client, presented, { rotate: false });
      return {
        data: { access_token: accessToken, token_type: 'bearer' as const },
        message: 'New access token.',
      };
    },
  });

  accountRoutes(app, deps, bodyLimit);
}
