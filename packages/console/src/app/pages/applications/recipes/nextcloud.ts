// Nextcloud with the app user_oidc: https://github.com/nextcloud/user_oidc
import type { Recipe } from './recipe.ts';

export const nextcloud: Recipe = {
  product: 'Nextcloud',
  clientId: 'nextcloud',
  type: 'web',
  asks: 'site',
  example: 'https://cloud.example.com',
  application: {
    home_url: '{address}/',
    // The second one is for servers without short addresses.
    redirect_uris: ['{address}/apps/user_oidc/code', '{address}/index.php/apps/user_oidc/code'],
    post_logout_redirect_uris: ['{address}/'],
    backchannel_logout_url: '{address}/apps/user_oidc/backchannel-logout/Castellan',
  },
  files: [
    {
      name: 'occ',
      text: `occ app:install user_oidc
occ config:system:set user_oidc use_pkce --value=true --type=boolean
occ user_oidc:provider Castellan \\
  --clientid='{client_id}' \\
  --clientsecret='{client_secret}' \\
  --discoveryuri='{issuer}/.well-known/openid-configuration' \\
  --scope='openid profile email groups' \\
  --mapping-uid='sub' \\
  --mapping-display-name='name' \\
  --mapping-email='email' \\
  --mapping-groups='groups' \\
  --group-provisioning=1`,
    },
  ],
};
