// HTTP of identities: your own, and those of a user, under /api/v1/users.
import {
  IdentityDisconnectedEnvelope,
  IdentityParams,
  OwnIdentitiesEnvelope,
  UserIdentitiesEnvelope,
  UserIdentityParams,
} from '@castellan/contract/identities';
import { UserParams } from '@castellan/contract/users';
import { counted } from '../../platform/counted.ts';
import type { CookieSettings } from '../../platform/http/plugins/cookies.ts';
import type { App } from '../../platform/http/server/server.ts';
import { clearRefreshCookie, REFRESH_COOKIE } from '../auth/refresh-cookie.ts';
import { callerOf, userCallerOf } from '../authz/caller.ts';
import { BROWSER_COOKIE, clearBrowserCookie } from '../sessions/browser/cookie.ts';
import { disconnectOf, listIdentitiesOf } from './of-user.ts';
import { disconnectOwn, type IdentityDeps, listOwnIdentities } from './own.ts';

const disconnectedMessage = (sessions: number): string =>
  `Disconnected. Ended ${counted(sessions, 'session')}.`;

/** Under /api/v1/users. */
export function identityRoutes(
  app: App,
  deps: IdentityDeps & { settings: CookieSettings & { cookieSecure: boolean } },
): void {
  app.route({
    method: 'GET',
    url: '/me/identities',
    config: { access: 'user' },
    schema: {
      summary: 'List the identities that you sign in with',
      description:
        'Accounts at identity providers, oldest first, and the providers that you can still connect.',
      response: { 200: OwnIdentitiesEnvelope },
    },
    handler: async (request) => ({
      data: await listOwnIdentities(deps, userCallerOf(request)),
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
        clearRefreshCookie(reply, deps.settings);
        clearBrowserCookie(reply, request.client, deps.settings);
      }
      return { data, message: disconnectedMessage(data.sessions) };
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
