// Programs of one's own, by their type. The names of the variables are a proposal; libraries call the values so.
import type { Recipe } from './recipe.ts';

export const web: Recipe = {
  product: null,
  clientId: 'web-app',
  type: 'web',
  asks: 'redirect',
  example: 'https://app.example.com/callback',
  application: {
    home_url: '{origin}/',
    redirect_uris: ['{address}'],
    post_logout_redirect_uris: ['{origin}/'],
  },
  files: [
    {
      name: '.env',
      text: `OIDC_ISSUER={issuer}
OIDC_CLIENT_ID={client_id}
OIDC_CLIENT_SECRET={client_secret}
OIDC_REDIRECT_URI={address}
OIDC_POST_LOGOUT_REDIRECT_URI={origin}/
OIDC_SCOPE="openid profile email"
# PKCE is required, with the method S256.`,
    },
  ],
};

export const spa: Recipe = {
  product: null,
  clientId: 'browser-app',
  type: 'spa',
  asks: 'redirect',
  example: 'https://app.example.com/callback',
  application: {
    home_url: '{origin}/',
    redirect_uris: ['{address}'],
    post_logout_redirect_uris: ['{origin}/'],
  },
  files: [
    {
      name: 'oidc-client-ts',
      text: `import { UserManager } from 'oidc-client-ts';

// It uses PKCE with S256 by itself.
export const userManager = new UserManager({
  authority: '{issuer}',
  client_id: '{client_id}',
  redirect_uri: '{address}',
  post_logout_redirect_uri: '{origin}/',
  scope: 'openid profile email',
});`,
    },
  ],
};

export const native: Recipe = {
  product: null,
  clientId: 'mobile-app',
  type: 'native',
  asks: 'redirect',
  example: 'com.example.app:/callback',
  application: { redirect_uris: ['{address}'] },
  files: [
    {
      name: 'AppAuth',
      text: `issuer        {issuer}
client_id     {client_id}
redirect_uri  {address}
scope         openid profile email
PKCE          S256`,
    },
  ],
};

export const device: Recipe = {
  product: null,
  clientId: 'device',
  type: 'device',
  asks: null,
  example: '',
  application: {},
  files: [
    {
      name: 'curl',
      text: `# The answer has what to show to the person, and the device code.
curl '{issuer}/api/v1/oauth/device_authorization' \\
  --data-urlencode 'client_id={client_id}' \\
  --data-urlencode 'scope=openid profile email'

# Ask every 5 seconds, until the person has agreed.
curl '{issuer}/api/v1/oauth/token' \\
  --data-urlencode 'client_id={client_id}' \\
  --data-urlencode 'grant_type=urn:ietf:params:oauth:grant-type:device_code' \\
  --data-urlencode "device_code=$DEVICE_CODE"`,
    },
  ],
};
