// Recipes, filled in: nothing is left open, and the service's own rules take every address.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  requireLogoutAddress,
  requirePageAddress,
  requireRedirectAddress,
} from '@castellan/server/modules/applications/addresses';
import { filled, siteOf, type Values } from './recipe.ts';
import { recipes } from './recipes.ts';

const given = {
  issuer: 'https://id.example.org/castellan',
  client_id: 'the-client',
  client_secret: 'cas_cs_secret',
  random: '0123456789abcdef0123456789abcdef',
};

for (const [key, recipe] of recipes)
  for (const address of recipe.asks === 'site'
    ? [recipe.example, `${recipe.example}:8443/sub`]
    : [recipe.example])
    test(`the recipe ${key} is complete with ${address || 'no address'}`, () => {
      const values: Values = { ...given, address };
      const { application, files, type } = filled(recipe, values);
      const configuration = files.map(({ text }) => text).join('\n');
      assert.ok(configuration.includes(given.issuer), 'the issuer');
      assert.ok(configuration.includes(given.client_id), 'the client id');
      assert.equal(configuration.includes(given.client_secret), type === 'web', 'the secret, if it has one');
      assert.doesNotMatch(JSON.stringify({ application, files }), /\{[a-z_]+\}/, 'no placeholder is left');
      const { redirect_uris = [], post_logout_redirect_uris = [] } = application;
      assert.equal(redirect_uris.length > 0, type !== 'device');
      if (recipe.asks !== null) assert.ok(redirect_uris[0]?.startsWith(address), redirect_uris[0]);
      for (const one of redirect_uris) requireRedirectAddress(one, 'redirect_uris', { type, isPlain: false });
      for (const one of post_logout_redirect_uris)
        requireRedirectAddress(one, 'post_logout_redirect_uris', { type, isPlain: false });
      if (application.home_url) requirePageAddress(application.home_url, 'home_url');
      if (application.backchannel_logout_url)
        requireLogoutAddress(application.backchannel_logout_url, 'backchannel_logout_url');
    });

/** How each says PKCE with S256, and other lines that a sign-in fails without. */
const lines: Readonly<Record<string, readonly string[]>> = {
  grafana: ['use_pkce = true', 'role_attribute_path = grafana_role', 'root_url = https://a.example/x/'],
  gitlab: ['pkce: true', "redirect_uri: 'https://a.example/x/users/auth/openid_connect/callback'"],
  nextcloud: ['use_pkce --value=true', "--discoveryuri='https://id.example.org/castellan/.well-known/"],
  'oauth2-proxy': ['--code-challenge-method=S256', `--cookie-secret='${given.random}'`, "'id.example.org'"],
  apache: ['OIDCPKCEMethod S256', '<Location /x>', 'OIDCRedirectURI https://a.example/x/oidc-callback'],
  kubectl: ['--oidc-pkce-method=S256', '--oidc-groups-claim=groups'],
  web: ['OIDC_REDIRECT_URI=https://a.example/x', 'OIDC_POST_LOGOUT_REDIRECT_URI=https://a.example/\n'],
  spa: ["authority: 'https://id.example.org/castellan'"],
  native: ['PKCE          S256'],
  device: ['urn:ietf:params:oauth:grant-type:device_code'],
};

test('the configurations have the lines that matter', () => {
  assert.deepEqual(Object.keys(lines), [...recipes.keys()]);
  for (const [key, recipe] of recipes) {
    const { files } = filled(recipe, { ...given, address: 'https://a.example/x' });
    const configuration = files.map(({ text }) => text).join('\n');
    for (const line of lines[key] ?? []) assert.ok(configuration.includes(line), `${key}: ${line}`);
  }
});

test('the claim of Grafana is the one that its configuration reads', () => {
  const recipe = recipes.get('grafana');
  assert.deepEqual(
    recipe?.application.claims?.map(({ name }) => name),
    ['grafana_role'],
  );
});

test('the address of a site is written as browsers write it', () => {
  for (const [typed, site] of [
    ['https://grafana.example.com', 'https://grafana.example.com'],
    [' https://Grafana.Example.com/ ', 'https://grafana.example.com'],
    ['https://example.com:443/grafana//', 'https://example.com/grafana'],
    ['http://127.0.0.1:3000', 'http://127.0.0.1:3000'],
    ['http://[::1]:3000/', 'http://[::1]:3000'],
  ] as const)
    assert.equal(siteOf(typed), site);
});

test('an address that would break a configuration is none', () => {
  for (const typed of [
    '',
    'grafana.example.com',
    'ftp://example.com',
    'https://',
    'https://example.com/?a=1',
    'https://example.com/#a',
    'https://user@example.com',
    "https://example.com/it's",
    'https://example.com/$(id)',
    'https://example.com/a;b',
    'javascript:alert(1)',
  ])
    assert.equal(siteOf(typed), null, typed);
});
