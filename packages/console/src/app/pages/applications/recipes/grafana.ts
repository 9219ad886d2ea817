// Grafana: https://grafana.com/docs/grafana/latest/setup-grafana/configure-access/configure-authentication/generic-oauth/
import type { Recipe } from './recipe.ts';

export const grafana: Recipe = {
  product: 'Grafana',
  clientId: 'grafana',
  type: 'web',
  asks: 'site',
  example: 'https://grafana.example.com',
  application: {
    home_url: '{address}/',
    redirect_uris: ['{address}/login/generic_oauth'],
    post_logout_redirect_uris: ['{address}/login'],
    claims: [
      {
        name: 'grafana_role',
        from: 'role_or_group',
        map: { 'Grafana Admins': 'Admin', 'Grafana Editors': 'Editor', 'Grafana Viewers': 'Viewer' },
        as: 'first',
        in: ['id_token', 'userinfo'],
      },
    ],
  },
  files: [
    {
      name: 'grafana.ini',
      text: `[server]
root_url = {address}/

[auth.generic_oauth]
enabled = true
name = Castellan
client_id = {client_id}
client_secret = {client_secret}
scopes = openid profile email groups
auth_url = {issuer}/api/v1/oauth/authorize
token_url = {issuer}/api/v1/oauth/token
api_url = {issuer}/api/v1/oauth/userinfo
signout_redirect_url = {issuer}/api/v1/oauth/logout?client_id={client_id}&post_logout_redirect_uri={encoded_address}%2Flogin
use_pkce = true
use_refresh_token = true
login_attribute_path = preferred_username
email_attribute_path = email
name_attribute_path = name
groups_attribute_path = groups
# The roles or role groups Grafana Admins, Grafana Editors and Grafana Viewers decide.
role_attribute_path = grafana_role
role_attribute_strict = false`,
    },
  ],
};
