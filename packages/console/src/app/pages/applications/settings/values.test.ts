// The form of an application: every field comes back from its text as it was, and only what was changed is sent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Application } from '@castellan/sdk';
import { fieldNames, kinds } from './fields.ts';
import { bodyOf, changedNames, faultOf, valuesOf } from './values.ts';

const id = '019a0000-0000-7000-8000-000000000000';
const full: Application = {
  id,
  client_id: 'grafana',
  name: 'Grafana',
  description: ' Two\nlines ',
  type: 'web',
  is_active: true,
  auth_method: 'private_key_jwt',
  home_url: 'https://a.example/',
  policy_url: 'https://a.example/privacy',
  terms_url: 'https://a.example/terms',
  jwks_url: null,
  jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }] },
  grant_types: ['authorization_code', 'refresh_token'],
  redirect_uris: ['https://a.example/one', 'https://a.example/two'],
  post_logout_redirect_uris: ['https://a.example/'],
  allowed_origins: ['https://b.example'],
  backchannel_logout_url: 'https://a.example/logout',
  first_party: true,
  required_permission_id: null,
  scopes: ['openid', 'groups'],
  claims: [{ name: 'grafana_role', from: 'role', as: 'first', in: ['id_token'] }],
  subject_type: 'pairwise',
  sector: 'a.example',
  id_token_signing_alg: 'ES256',
  id_token_claims: 'minimal',
  require_pkce: true,
  require_par: true,
  require_dpop: true,
  access_token_seconds: 60,
  id_token_seconds: 60,
  refresh_idle_days: 1,
  grant_days: 1,
  default_max_age: 3_600,
  resources: [],
  created_at: '2026-11-28T00:00:00.000Z',
  updated_at: '2026-11-28T00:00:00.000Z',
  created_by_id: null,
};
const empty: Application = {
  ...full,
  name: 'Other',
  description: '',
  is_active: false,
  auth_method: 'none',
  home_url: null,
  policy_url: null,
  terms_url: null,
  jwks_url: 'https://a.example/jwks',
  jwks: null,
  grant_types: [],
  redirect_uris: [],
  post_logout_redirect_uris: [],
  allowed_origins: [],
  backchannel_logout_url: null,
  first_party: false,
  scopes: [],
  claims: [],
  subject_type: 'public',
  sector: null,
  id_token_signing_alg: 'RS256',
  id_token_claims: 'all',
  require_pkce: false,
  require_par: false,
  require_dpop: false,
  access_token_seconds: 300,
  id_token_seconds: 300,
  refresh_idle_days: 7,
  grant_days: 30,
  default_max_age: null,
};

test('every field is in one group, and comes back as it was', () => {
  assert.deepEqual([...fieldNames].sort(), Object.keys(kinds).sort());
  for (const [before, now] of [
    [full, empty],
    [empty, full],
  ] as const) {
    const body = bodyOf(valuesOf(before), valuesOf(now));
    assert.deepEqual(body, Object.fromEntries(fieldNames.map((name) => [name, now[name]])));
  }
});

test('only what differs is sent', () => {
  const before = valuesOf(full);
  assert.deepEqual(bodyOf(before, before), {});
  const now = { ...before, redirect_uris: ' https://a.example/one \n\n', is_active: false };
  assert.deepEqual(changedNames(before, now), ['is_active', 'redirect_uris']);
  assert.deepEqual(bodyOf(before, now), { is_active: false, redirect_uris: ['https://a.example/one'] });
});

test('a text that is no number and no JSON is told before it is sent', () => {
  for (const [name, value, fault] of [
    ['grant_days', '', 'number'],
    ['grant_days', '3 days', 'number'],
    ['grant_days', '-1', 'number'],
    ['grant_days', '30', null],
    ['default_max_age', '', null],
    ['claims', '[', 'json'],
    ['claims', '', null],
    ['jwks', '{"keys":[]}', null],
    ['name', '[', null],
  ] as const)
    assert.equal(faultOf(name, value), fault, `${name}: ${value}`);
});
