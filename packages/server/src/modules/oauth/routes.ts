// HTTP of the token services, under /api/v1/oauth, and of their metadata. The shapes are those of OAuth 2.0.
// They accept no cookie, so they need no CSRF token.
import {
  AuthorizationServerMetadata,
  Introspection,
  IntrospectionRequest,
  NoContent,
  RevocationRequest,
  TokenRequest,
  TokenResponse,
} from '@castellan/contract/oauth';
import { publicBody } from '../../platform/http/bodies/body-limits.ts';
import { clientCredentials } from '../../platform/http/plugins/client-credentials.ts';
import { acceptFormsOnly } from '../../platform/http/plugins/form-parsing.ts';
import type { App } from '../../platform/http/server/server.ts';
import type { RateLimitRule } from '../../platform/limits/rate-limit.ts';
import { callerOf } from '../authz/caller.ts';
import type { TokenRevocationDeps } from '../sessions/token-revocation.ts';
import { oauthErrors } from './error-shape.ts';
import { type IntrospectionDeps, introspect } from './introspection.ts';
import { metadataOf } from './metadata.ts';
import { revokeToken } from './revocation.ts';
import { issueToken, requireClientCredentialsGrant, type TokenDeps } from './token.ts';

export type OAuthDeps = TokenDeps &
  IntrospectionDeps &
  TokenRevocationDeps & { settings: { rateLimitRevoke: RateLimitRule | null } };

const STATUS = 'A gateway that reads only the status must use `/api/v1/access/forward` instead.';

const shape = {
  form: true,
  csrf: false,
  errorShape: oauthErrors,
  body: publicBody,
} as const;

export function oauthRoutes(app: App, deps: OAuthDeps): void {
  acceptFormsOnly(app);

  app.route({
    method: 'POST',
    url: '/token',
    config: {
      ...shape,
      access: 'public',
      clientCredentials: true,
      errors: ['invalid_client', 'unsupported_grant_type', 'invalid_scope', 'rate_limited', 'overloaded'],
    },
    schema: {
      tags: ['OAuth'],
      summary: 'Get an access token for an API key',
      description:
        'OAuth 2.0 client credentials grant (RFC 6749, 4.4). The token is valid for 10 minutes at most. It may do what ' +
        'its key may do, and ends with the key. 429 after 600 tokens of one service account in a minute, and after 30 ' +
        'wrong API keys of one network.',
      body: TokenRequest,
      response: { 200: TokenResponse },
    },
    handler: async (request, reply) => {
      requireClientCredentialsGrant(request.body);
      const token = await issueToken(deps, request.client, clientCredentials(request));
      reply.header('pragma', 'no-cache');
      return token;
    },
  });

  app.route({
    method: 'POST',
    url: '/introspect',
    config: {
      ...shape,
      access: 'token.introspect',
      clientCredentials: true,
      readOnly: true,
      accessLimited: 'by answer',
      turn: false,
    },
    schema: {
      tags: ['OAuth'],
      summary: 'Ask whether a token is live, whose it is and what it may do',
      description:
        'RFC 7662. `token` is the access token of a user or of a service account, or an API key. Anything else, and ' +
        'everything that has ended, answers `{"active": false}`; so does the token of a user who must change their password first. The state is that of the database at each call. ' +
        STATUS,
      body: IntrospectionRequest,
      response: { 200: Introspection },
    },
    handler: (request) => {
      const { token, include } = request.body;
      return introspect(deps, callerOf(request), token, { withPermissions: include === 'permissions' });
    },
  });

  app.route({
    method: 'POST',
    url: '/revoke',
    config: {
      ...shape,
      access: 'public',
      limit: { name: 'oauth-revoke', rule: deps.settings.rateLimitRevoke },
      errors: ['overloaded'],
    },
    schema: {
      tags: ['OAuth'],
      summary: 'End a token',
      description:
        'RFC 7009. Anyone who holds a token may end it. An access token ends alone, a refresh token ends its session. The ' +
        'response is always the same, also for unknown tokens. An API key does not end. ' +
        STATUS,
      body: RevocationRequest,
      response: { 200: NoContent },
    },
    handler: async (request, reply) => {
      await revokeToken(deps, request.client, request.body.token);
      return reply.send(undefined);
    },
  });
}

// The metadata changes only with PUBLIC_URL, at a restart.
const METADATA_MAX_AGE_SECONDS = 300;

export function oauthMetadataRoutes(
  app: App,
  { settings }: { settings: { publicUrl: string; basePath: string } },
): void {
  // RFC 8414, 3.1: clients insert the well-known path before the path of the issuer.
  for (const suffix of new Set(['', settings.basePath]))
    app.route({
      method: 'GET',
      url: `/.well-known/oauth-authorization-server${suffix}`,
      config: { access: 'public' },
      schema: {
        summary: 'Read the addresses and abilities of the token services',
        response: { 200: AuthorizationServerMetadata },
      },
      handler: async (_request, reply) => {
        reply.header('cache-control', `public, max-age=${METADATA_MAX_AGE_SECONDS}`);
        return metadataOf(settings.publicUrl);
      },
    });
}
