// oauth2-proxy: https://oauth2-proxy.github.io/oauth2-proxy/configuration/providers/openid_connect
import type { Recipe } from './recipe.ts';

export const oauth2Proxy: Recipe = {
  product: 'oauth2-proxy',
  clientId: 'oauth2-proxy',
  type: 'web',
  asks: 'site',
  example: 'https://intranet.example.com',
  application: {
    home_url: '{address}/',
    redirect_uris: ['{address}/oauth2/callback'],
    post_logout_redirect_uris: ['{address}/'],
  },
  files: [
    {
      name: 'oauth2-proxy',
      text: `oauth2-proxy \\
  --provider=oidc \\
  --oidc-issuer-url='{issuer}' \\
  --client-id='{client_id}' \\
  --client-secret='{client_secret}' \\
  --redirect-url='{address}/oauth2/callback' \\
  --code-challenge-method=S256 \\
  --scope='openid profile email groups' \\
  --oidc-groups-claim=groups \\
  --email-domain='*' \\
  --cookie-secret='{random}' \\
  --whitelist-domain='{issuer_host}' \\
  --upstream='http://127.0.0.1:8080'`,
    },
  ],
};
