// Apache with mod_auth_openidc: https://github.com/OpenIDC/mod_auth_openidc/blob/master/auth_openidc.conf
import type { Recipe } from './recipe.ts';

export const apache: Recipe = {
  product: 'Apache (mod_auth_openidc)',
  clientId: 'apache',
  type: 'web',
  asks: 'site',
  example: 'https://intranet.example.com',
  application: {
    home_url: '{address}/',
    redirect_uris: ['{address}/oidc-callback'],
    post_logout_redirect_uris: ['{address}/'],
    backchannel_logout_url: '{address}/oidc-callback?logout=backchannel',
  },
  files: [
    {
      name: 'castellan.conf',
      text: `OIDCProviderMetadataURL {issuer}/.well-known/openid-configuration
OIDCClientID {client_id}
OIDCClientSecret {client_secret}
# An address that has no page: the module answers it.
OIDCRedirectURI {address}/oidc-callback
OIDCCryptoPassphrase {random}
OIDCScope "openid profile email groups"
OIDCPKCEMethod S256
OIDCRemoteUserClaim preferred_username
OIDCDefaultLoggedOutURL {address}/

<Location {path}>
  AuthType openid-connect
  Require valid-user
  # Only members of a role group: Require claim groups:Engineering
</Location>`,
    },
  ],
};
