// The metadata of the token services, for client libraries (RFC 8414). It must not promise what no route does.
import { acrValues } from '@castellan/contract/authentication';
import type { AuthorizationServerMetadata } from '@castellan/contract/oauth';

const clientAuthentication = ['client_secret_basic', 'client_secret_post'];

/** `publicUrl` is the issuer, without a trailing slash. */
export const metadataOf = (publicUrl: string): AuthorizationServerMetadata => ({
  issuer: publicUrl,
  token_endpoint: `${publicUrl}/api/v1/oauth/token`,
  introspection_endpoint: `${publicUrl}/api/v1/oauth/introspect`,
  revocation_endpoint: `${publicUrl}/api/v1/oauth/revoke`,
  jwks_uri: `${publicUrl}/.well-known/jwks.json`,
  acr_values_supported: [...acrValues],
  grant_types_supported: ['client_credentials'],
  // Required, and empty: there is no authorization endpoint.
  response_types_supported: [],
  token_endpoint_auth_methods_supported: clientAuthentication,
  // `Bearer` is a registered access token type, which this list may name.
  introspection_endpoint_auth_methods_supported: [...clientAuthentication, 'Bearer'],
  revocation_endpoint_auth_methods_supported: ['none'],
});
