// HTTP of the metadata of the token services, under /.well-known.
import { AuthorizationServerMetadata } from '@castellan/contract/oauth';
import type { App } from '../../platform/http/server/server.ts';
import { metadataOf } from './metadata.ts';

// The metadata changes only with PUBLIC_URL, at a restart.
const METADATA_MAX_AGE_SECONDS = 300;

/** The documents, and the keys that their readers know: client libraries for OpenID Connect may stumble over Ed25519. */
const documents = [
  { name: 'oauth-authorization-server', keySet: '/.well-known/jwks.json' },
  { name: 'openid-configuration', keySet: '/api/v1/oauth/jwks.json' },
];

export function oauthMetadataRoutes(
  app: App,
  { settings }: { settings: { publicUrl: string; basePath: string } },
): void {
  // RFC 8414, 3.1: clients insert the well-known path before the path of the issuer. Those of OpenID Connect append it.
  for (const { name, keySet } of documents)
    for (const suffix of new Set(['', settings.basePath]))
      app.route({
        method: 'GET',
        url: `/.well-known/${name}${suffix}`,
        config: { access: 'public' },
        schema: {
          summary:
            name === 'openid-configuration'
              ? 'Read what client libraries for OpenID Connect need to know'
              : 'Read the addresses and abilities of the token services',
          response: { 200: AuthorizationServerMetadata },
        },
        handler: async (_request, reply) => {
          reply.header('cache-control', `public, max-age=${METADATA_MAX_AGE_SECONDS}`);
          return metadataOf(settings.publicUrl, keySet);
        },
      });
}
