// GitLab: https://docs.gitlab.com/administration/auth/oidc/
import type { Recipe } from './recipe.ts';

export const gitlab: Recipe = {
  product: 'GitLab',
  clientId: 'gitlab',
  type: 'web',
  asks: 'site',
  example: 'https://gitlab.example.com',
  application: {
    home_url: '{address}/',
    redirect_uris: ['{address}/users/auth/openid_connect/callback'],
    post_logout_redirect_uris: ['{address}/users/sign_in'],
  },
  files: [
    {
      name: '/etc/gitlab/gitlab.rb',
      text: `gitlab_rails['omniauth_allow_single_sign_on'] = ['openid_connect']
gitlab_rails['omniauth_block_auto_created_users'] = false
gitlab_rails['omniauth_providers'] = [
  {
    name: 'openid_connect',
    label: 'Castellan',
    args: {
      name: 'openid_connect',
      scope: ['openid', 'profile', 'email', 'groups'],
      response_type: 'code',
      issuer: '{issuer}',
      discovery: true,
      client_auth_method: 'basic',
      uid_field: 'sub',
      pkce: true,
      client_options: {
        identifier: '{client_id}',
        secret: '{client_secret}',
        redirect_uri: '{address}/users/auth/openid_connect/callback',
        gitlab: {
          groups_attribute: 'groups'
        }
      }
    }
  }
]`,
    },
  ],
};
