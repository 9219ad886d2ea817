// HTTP of identities: your own, and those of a user, under /api/v1/users.
import {
  ConnectProviderBody,
  IdentityDisconnectedEnvelope,
  IdentityEnvelope,
  IdentityParams,
  OwnIdentitiesEnvelope,
  RedirectEnvelope,
  UserIdentitiesEnvelope,
  UserIdentityParams,
} from '@castellan/contract/identities';
import { UserParams } from '@castellan/contract/users';
import { counted } from '../../platform/counted.ts';
import { browserIdOf } from '../../platform/http/plugins/csrf-protection.ts';
import type { App } from '../../platform/http/server/server.ts';
import { clearRefreshCookie, REFRESH_COOKIE } from '../auth/refresh-cookie.ts';
import { callerOf, personCallerOf, userCallerOf } from '../authz/caller.ts';
import {
  clearProviderCookie,
  PROVIDER_COOKIE,
  readProviderCookie,
  setProviderCookie,
} from '../provider-sign-in/cookie.ts';
import { BROWSER_COOKIE, clearBrowserCookie } from '../sessions/browser/cookie.ts';
import { beginConnecting, type ConnectDeps, connectPending } from './connecting.ts';
import { disconnectOf, listIdentitiesOf } from './of-user.ts';
import { disconnectOwn, type IdentityDeps, listOwnIdentities } from './own.ts';

const disconnectedMessage = (sessions: number): string =>
  `Disconnected. Ended ${counted(sessions, 'session')}.`;

/** Under /api/v1/users. */
export function identityRoutes(app: App, deps: IdentityDeps & ConnectDeps): void {
  const { settings } = deps;
  app.route({
    method: 'GET',
    url: '/me/identities',
    config: { access: 'user', endsAccess: true },
    schema: {
      summary: 'List the identities that you sign in with',
      description:
        'Accounts at identity providers, oldest first, and the providers that you can still connect.',
      response: { 200: OwnIdentitiesEnvelope },
    },
    handler: async (request) => ({
      data: await listOwnIdentities(deps, personCallerOf(request)),
      message: 'Your identities, oldest first.',
    }),
  });

  app.route({
    method: 'DELETE',
    url: '/me/identities/:identity_id',
    config: {
      access: 'user',
      endsAccess: true,
      fresh: true,
      cookies: { sets: [REFRESH_COOKIE, BROWSER_COOKIE] },
      errors: ['identity_not_found', 'last_sign_in_method'],
    },
    schema: {
      summary: 'Disconnect one of your identities',
      description:
        'Ends the sessions that began with it; `signed_out` says whether that of this request is one of them. Refused if there would be no other way to sign in.',
      params: IdentityParams,
      response: { 200: IdentityDisconnectedEnvelope },
    },
    handler: async (request, reply) => {
      const data = await disconnectOwn(deps, userCallerOf(request), request.params.identity_id);
      if (data.signed_out) {
        clearRefreshCookie(reply, settings);
        clearBrowserCookie(reply, request.client, settings);
      }
      return { data, message: disconnectedMessage(data.sessions) };
    },
  });

  app.route({
    method: 'POST',
    url: '/me/identities',
    config: {
      access: 'user',
      fresh: true,
      cookies: { sets: [PROVIDER_COOKIE] },
      limit: { name: 'provider-start', rule: settings.rateLimitProviderStart },
      invalidInput: 'invalid_input',
      errors: ['identity_provider_not_found', 'provider_unavailable'],
    },
    schema: {
      summary: 'Begin to connect an identity',
      description:
        'Send the browser to `redirect_to`. The person who signs in there is connected to this account, whatever their address is, if this session is still live when the browser comes back.',
      body: ConnectProviderBody,
      response: { 200: RedirectEnvelope },
    },
    handler: async (request, reply) => {
      const { redirectTo, cookie, keepSeconds } = await beginConnecting(deps, userCallerOf(request), {
        slug: request.body.provider,
        browserId: browserIdOf(deps.csrf, request, settings),
      });
      setProviderCookie(reply, settings, cookie, keepSeconds);
      return { data: { redirect_to: redirectTo }, message: 'Go on to redirect_to.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/me/identities/pending',
    config: {
      access: 'user',
      fresh: true,
      cookies: { reads: [PROVIDER_COOKIE], sets: [PROVIDER_COOKIE] },
      errors: ['pending_identity_not_found', 'identity_taken'],
    },
    schema: {
      summary: 'Connect the identity that waits in this browser',
      description:
        'Of a sign-in by a provider that found no account, or one that it may not enter by itself.',
      response: { 201: IdentityEnvelope },
    },
    handler: async (request, reply) => {
      const cookie = readProviderCookie(request, settings);
      const data = await connectPending(deps, userCallerOf(request), cookie);
      clearProviderCookie(reply, settings);
      reply.code(201);
      return { data, message: 'Connected.' };
    },
  });

  app.route({
    method: 'GET',
    url: '/:user_id/identities',
    config: { access: 'users.read', errors: ['user_not_found'] },
    schema: {
      summary: 'List the identities of a user',
      description: 'Accounts at identity providers that the user signs in with, oldest first.',
      params: UserParams,
      response: { 200: UserIdentitiesEnvelope },
    },
    handler: async (request) => ({
      data: await listIdentitiesOf(deps, request.params.user_id),
      message: 'Identities, oldest first.',
    }),
  });

  app.route({
    method: 'DELETE',
    url: '/:user_id/identities/:identity_id',
    config: {
      access: 'users.update',
      errors: [
        'user_not_found',
        'identity_not_found',
        'superuser_required',
        'acting_as',
        'privilege_escalation',
        'step_up_required',
        'last_sign_in_method',
      ],
    },
    schema: {
      summary: 'Disconnect an identity of a user',
      description:
        'Ends the sessions that began with it, and the mailed links of the user, who gets a mail. It may be the only way to sign in: the mail of a password reset sets a password.',
      params: UserIdentityParams,
      response: { 200: IdentityDisconnectedEnvelope },
    },
    handler: async (request) => {
      const { user_id: userId, identity_id: identityId } = request.params;
      const data = await disconnectOf(deps, callerOf(request), { userId, identityId });
      return { data, message: disconnectedMessage(data.sessions) };
    },
  });
}
