// The metadata of the token services, for client libraries (RFC 8414; OpenID Connect Discovery, 3).
// It must not promise what no route does.
import { acrValues } from '@castellan/contract/authentication';
import type { AuthorizationServerMetadata } from '@castellan/contract/oauth';
import { languages } from '../../platform/languages.ts';
import { accountClaims } from '../openid/claims/service.ts';
import { proofAlgorithms } from '../proofs/service.ts';

const withProof = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'];

/** Of every ID token. */
const tokenClaims = ['sub', 'iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'acr', 'amr', 'at_hash', 'sid'];

/** `publicUrl` is the issuer, without a trailing slash. `keySet`: the path of the keys that the reader knows what to do with. */
export const metadataOf = (publicUrl: string, keySet: string): AuthorizationServerMetadata => ({
  issuer: publicUrl,
  authorization_endpoint: `${publicUrl}/api/v1/oauth/authorize`,
  pushed_authorization_request_endpoint: `${publicUrl}/api/v1/oauth/par`,
  device_authorization_endpoint: `${publicUrl}/api/v1/oauth/device_authorization`,
  token_endpoint: `${publicUrl}/api/v1/oauth/token`,
  userinfo_endpoint: `${publicUrl}/api/v1/oauth/userinfo`,
  introspection_endpoint: `${publicUrl}/api/v1/oauth/introspect`,
  revocation_endpoint: `${publicUrl}/api/v1/oauth/revoke`,
  end_session_endpoint: `${publicUrl}/api/v1/oauth/logout`,
  jwks_uri: `${publicUrl}${keySet}`,
  scopes_supported: ['openid', 'profile', 'email', 'offline_access', 'roles', 'groups', 'permissions'],
  claims_supported: [...tokenClaims, ...accountClaims],
  acr_values_supported: [...acrValues],
  grant_types_supported: [
    'authorization_code',
    'refresh_token',
    'urn:ietf:params:oauth:grant-type:device_code',
    'client_credentials',
  ],
  response_types_supported: ['code'],
  response_modes_supported: ['query', 'form_post'],
  prompt_values_supported: ['none', 'login', 'consent', 'select_account', 'create'],
  authorization_response_iss_parameter_supported: true,
  subject_types_supported: ['public', 'pairwise'],
  id_token_signing_alg_values_supported: ['RS256', 'ES256'],
  token_endpoint_auth_methods_supported: [...withProof, 'none'],
  token_endpoint_auth_signing_alg_values_supported: [...proofAlgorithms],
  // `Bearer` is a registered access token type, which this list may name.
  introspection_endpoint_auth_methods_supported: [...withProof, 'Bearer'],
  introspection_endpoint_auth_signing_alg_values_supported: [...proofAlgorithms],
  revocation_endpoint_auth_methods_supported: ['none', ...withProof],
  revocation_endpoint_auth_signing_alg_values_supported: [...proofAlgorithms],
  dpop_signing_alg_values_supported: [...proofAlgorithms],
  code_challenge_methods_supported: ['S256'],
  claims_parameter_supported: true,
  backchannel_logout_supported: true,
  backchannel_logout_session_supported: true,
  request_parameter_supported: false,
  request_uri_parameter_supported: false,
  require_pushed_authorization_requests: false,
  ui_locales_supported: [...languages],
});
