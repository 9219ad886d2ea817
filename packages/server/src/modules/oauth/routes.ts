// HTTP of the token services, under /api/v1/oauth. The shapes are those of OAuth 2.0 and OpenID Connect.
// They accept no cookie, so they need no CSRF token.
import {
  DeviceAuthorization,
  DeviceAuthorizationRequest,
  Introspection,
  IntrospectionRequest,
  NoContent,
  PushedRequest,
  PushedResponse,
  RevocationRequest,
  TokenRequest,
  TokenResponse,
} from '@castellan/contract/oauth';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../platform/errors.ts';
import { publicBody } from '../../platform/http/bodies/body-limits.ts';
import type { Client } from '../../platform/http/client.ts';
import { clientCredentials, presentsApplication } from '../../platform/http/plugins/client-credentials.ts';
import { acceptFormsOnly } from '../../platform/http/plugins/form-parsing.ts';
import type { App } from '../../platform/http/server/server.ts';
import type { RateLimitRule } from '../../platform/limits/rate-limit.ts';
import { allowOrigin } from '../applications/allowed-origins.ts';
import {
  type ApplicationClients,
  type AuthenticatedApplication,
  namesApplication,
  presentedApplication,
} from '../applications/authentication.ts';
import { callerOf } from '../authz/caller.ts';
import { type PushDeps, pushRequest } from '../openid/authorize/pushed.ts';
import { beginOnDevice, type DeviceDeps, exchangeDeviceCode } from '../openid/device/service.ts';
import {
  type ApplicationTokenDeps,
  countRequest,
  exchangeCode,
  introspectApplicationToken,
  looksLikeApplicationToken,
  refreshTokens,
  revokeApplicationToken,
} from '../openid/tokens/service.ts';
import { type KeyProof, proofIn, readKeyProof } from '../proofs/service.ts';
import type { TokenRevocationDeps } from '../sessions/token-revocation.ts';
import { oauthErrors } from './error-shape.ts';
import { type IntrospectionDeps, introspect } from './introspection.ts';
import { revokeToken } from './revocation.ts';
import { issueToken, requireClientCredentialsGrant, type TokenDeps } from './token.ts';
import { userinfoRoutes } from './userinfo-routes.ts';

export type OAuthDeps = TokenDeps &
  IntrospectionDeps &
  TokenRevocationDeps &
  PushDeps &
  ApplicationTokenDeps &
  DeviceDeps & {
    applicationClients: ApplicationClients;
    settings: { rateLimitRevoke: RateLimitRule | null };
  };

const STATUS = 'A gateway that reads only the status must use `/api/v1/access/forward` instead.';

const shape = {
  form: true,
  csrf: false,
  errorShape: oauthErrors,
  body: publicBody,
} as const;

/** Returns the application that sent the request, counted. Its pages may read the response. Throws 400, 401, 429. */
async function applicationOf(
  deps: OAuthDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<AuthenticatedApplication> {
  const { client } = request;
  const application = await deps.applicationClients.authenticate(presentedApplication(request), client);
  allowOrigin(request, reply, application);
  await countRequest(deps, client, application);
  return application;
}

export function oauthRoutes(app: App, deps: OAuthDeps): void {
  acceptFormsOnly(app);
  tokenRoute(app, deps);
  pushRoute(app, deps);
  deviceRoute(app, deps);
  introspectionRoute(app, deps);
  revocationRoute(app, deps);
  userinfoRoutes(app, deps);
}

/** By grant type: what applications exchange for tokens. */
type Exchange = (
  deps: OAuthDeps,
  client: Client,
  application: AuthenticatedApplication,
  body: TokenRequest,
  proof: KeyProof | null,
) => Promise<TokenResponse>;
const exchanges: ReadonlyMap<string, Exchange> = new Map<string, Exchange>([
  ['authorization_code', exchangeCode],
  ['refresh_token', refreshTokens],
  ['urn:ietf:params:oauth:grant-type:device_code', exchangeDeviceCode],
]);

const unsupportedGrant = (): AppError =>
  new AppError('unsupported_grant_type', {
    detail: 'This grant type is not supported. /.well-known/openid-configuration lists those that are.',
  });

/** Returns the verified DPoP proof of a POST without an access token; null if it has none. Throws `invalid_dpop_proof` (400). */
async function proofOf(deps: OAuthDeps, { headers }: FastifyRequest, path: string): Promise<KeyProof | null> {
  const text = proofIn(headers);
  if (text === undefined) return null;
  const proof = await readKeyProof(deps.settings, text, { method: 'POST', path, accessToken: null });
  if (!proof) throw new AppError('invalid_dpop_proof');
  return proof;
}

function tokenRoute(app: App, deps: OAuthDeps): void {
  app.route({
    method: 'POST',
    url: '/token',
    config: {
      ...shape,
      access: 'public',
      clientCredentials: true,
      errors: [
        'invalid_client',
        'unsupported_grant_type',
        'invalid_scope',
        'invalid_grant',
        'unauthorized_client',
        'invalid_target',
        'invalid_dpop_proof',
        'authorization_pending',
        'slow_down',
        'access_denied',
        'expired_token',
        'rate_limited',
        'overloaded',
      ],
    },
    schema: {
      tags: ['OAuth'],
      summary: 'Get tokens for an API key, a code or a refresh token',
      description:
        'With `client_credentials` (RFC 6749, 4.4), a service account gets an access token that may do what its API key may ' +
        'do, ends with the key, and is valid for 10 minutes at most. 429 after 600 tokens of one service account in a minute, ' +
        'and after 30 wrong API keys of one network.\n\n' +
        'With `authorization_code` and `refresh_token`, an application gets the tokens of a person who signed in to it. They ' +
        'open userinfo, and nothing else of this service. 429 after 30 wrong secrets of one network.\n\n' +
        'With `urn:ietf:params:oauth:grant-type:device_code` (RFC 8628), a device gets them when a person has allowed it. Until then, ' +
        'it asks every 5 seconds and is told `authorization_pending`, or `slow_down` if it asks sooner: then it waits 5 seconds longer ' +
        'from then on.',
      body: TokenRequest,
      response: { 200: TokenResponse },
    },
    handler: async (request, reply) => {
      const { body, client } = request;
      reply.header('pragma', 'no-cache');
      const hasApplications = deps.keyRing.hasActiveApplication();
      // Without an application, nothing but client_credentials is supported.
      if (hasApplications && body.grant_type !== 'client_credentials') {
        const exchange = exchanges.get(body.grant_type);
        if (!exchange) throw unsupportedGrant();
        const application = await applicationOf(deps, request, reply);
        const proof = await proofOf(deps, request, '/api/v1/oauth/token');
        return exchange(deps, client, application, body, proof);
      }
      const isOfApplication =
        body.grant_type === 'client_credentials' &&
        (presentsApplication(request) || (hasApplications && namesApplication(request)));
      if (isOfApplication) {
        await applicationOf(deps, request, reply);
        throw new AppError('unauthorized_client', {
          detail: 'An application has no client_credentials. Programs sign in as service accounts.',
        });
      }
      requireClientCredentialsGrant(body);
      return issueToken(deps, client, clientCredentials(request));
    },
  });
}

function pushRoute(app: App, deps: OAuthDeps): void {
  app.route({
    method: 'POST',
    url: '/par',
    config: {
      ...shape,
      form: { repeatable: ['resource'] },
      access: 'public',
      clientCredentials: true,
      errors: [
        'invalid_client',
        'invalid_scope',
        'invalid_target',
        'unauthorized_client',
        'unsupported_response_type',
        'request_not_supported',
        'request_uri_not_supported',
        'invalid_dpop_proof',
        'rate_limited',
        'overloaded',
      ],
    },
    schema: {
      tags: ['OAuth'],
      summary: 'Push an authorization request before the browser is sent',
      description:
        'RFC 9126. An application sends the parameters of its authorization request, which are checked at once. It then sends the browser ' +
        'with `client_id` and `request_uri` alone. A `request_uri` counts for 90 seconds, once: until a code or an error was answered. An ' +
        'application with `require_par` has no other way. Authenticate as at `/api/v1/oauth/token`.',
      body: PushedRequest,
      response: { 201: PushedResponse },
    },
    handler: async (request, reply) => {
      const application = await applicationOf(deps, request, reply);
      const proof = await proofOf(deps, request, '/api/v1/oauth/par');
      const pushed = await pushRequest(deps, request.client, application, { form: request.body, proof });
      return reply.code(201).header('pragma', 'no-cache').send(pushed);
    },
  });
}

function deviceRoute(app: App, deps: OAuthDeps): void {
  app.route({
    method: 'POST',
    url: '/device_authorization',
    config: {
      ...shape,
      form: { repeatable: ['resource'] },
      access: 'public',
      clientCredentials: true,
      errors: [
        'invalid_client',
        'invalid_scope',
        'unauthorized_client',
        'invalid_target',
        'rate_limited',
        'overloaded',
      ],
    },
    schema: {
      tags: ['OAuth'],
      summary: 'Begin a sign-in on a device without a browser',
      description:
        'RFC 8628. The device shows `user_code` and `verification_uri`, or `verification_uri_complete` as a QR code, and asks for tokens ' +
        'at `/api/v1/oauth/token` until a person has answered. At most 1,000 devices of one application wait at once.',
      body: DeviceAuthorizationRequest,
      response: { 200: DeviceAuthorization },
    },
    handler: async (request, reply) => {
      reply.header('pragma', 'no-cache');
      const application = await applicationOf(deps, request, reply);
      return beginOnDevice(deps, request.client, application, request.body);
    },
  });
}

function introspectionRoute(app: App, deps: OAuthDeps): void {
  app.route({
    method: 'POST',
    url: '/introspect',
    config: {
      ...shape,
      access: 'token.introspect',
      clientCredentials: true,
      orApplication: true,
      readOnly: true,
      accessLimited: 'by answer',
      turn: false,
    },
    schema: {
      tags: ['OAuth'],
      summary: 'Ask whether a token is live, whose it is and what it may do',
      description:
        'RFC 7662. `token` is the access token of a user, of a service account or of an application, or an API key. Anything else, and ' +
        'everything that has ended, answers `{"active": false}`; so does the token of a user who must change their password or prove more first. The state is that of the database at each call. ' +
        'An application with a secret may ask about its own access tokens. ' +
        STATUS,
      body: IntrospectionRequest,
      response: { 200: Introspection },
    },
    handler: async (request, reply) => {
      const { token, include } = request.body;
      const included = include?.split(' ') ?? [];
      const options = {
        withPermissions: included.includes('permissions'),
        withAttributes: included.includes('attributes'),
        withLive: included.includes('live'),
      };
      if (!presentsApplication(request)) return introspect(deps, callerOf(request), token, options);
      return introspectApplicationToken(deps, token, await applicationOf(deps, request, reply), options);
    },
  });
}

function revocationRoute(app: App, deps: OAuthDeps): void {
  app.route({
    method: 'POST',
    url: '/revoke',
    config: {
      ...shape,
      access: 'public',
      limit: { name: 'oauth-revoke', rule: deps.settings.rateLimitRevoke },
      errors: ['invalid_client', 'overloaded'],
    },
    schema: {
      tags: ['OAuth'],
      summary: 'End a token',
      description:
        'RFC 7009. Anyone who holds a token may end it. An access token ends alone, a refresh token ends its session, and that ' +
        'of an application everything that the application got by the same sign-in. The ' +
        'response is always the same, also for unknown tokens. An API key does not end. Credentials sent with a token of an application ' +
        'must be right, and of that application. ' +
        STATUS,
      body: RevocationRequest,
      response: { 200: NoContent },
    },
    handler: async (request, reply) => {
      const { client, body } = request;
      if (looksLikeApplicationToken(body.token)) {
        const isAuthenticated = presentedApplication(request) !== undefined;
        const application = isAuthenticated ? await applicationOf(deps, request, reply) : null;
        await revokeApplicationToken(deps, client, body.token, application);
      } else await revokeToken(deps, client, body.token);
      return reply.send(undefined);
    },
  });
}
