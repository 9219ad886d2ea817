// The form of a provider: every field comes back from its text as it was, and only what was changed is sent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IdentityProvider } from '@castellan/sdk';
import { fieldNames, hasField, inputs, kinds } from './fields.ts';
import { bodyOf, changedNames, emptyValues, faultOf, newBodyOf, valuesOf } from './values.ts';

const id = '019a0000-0000-7000-8000-000000000000';
const other = '019a0000-0000-7000-8000-000000000001';

const full: IdentityProvider = {
  id,
  slug: 'acme',
  name: 'Acme',
  kind: 'oidc',
  issuer: 'https://id.acme.example/',
  has_secret: true,
  client_id: 'castellan',
  client_auth: 'client_secret_post',
  team_id: 'A1B2C3D4E5',
  key_id: 'F6G7H8I9J0',
  scopes: ['openid', 'email'],
  is_active: true,
  is_shown: false,
  position: 1,
  sign_up: 'domains',
  domains: ['acme.example', 'acme.test'],
  required_for_domains: true,
  tenants: [other],
  email_trust: 'domains',
  connect: 'trusted',
  allow_superusers: true,
  role_ids: [id, other],
  role_mapping: [{ claim: 'groups', equals: 'a b', role_id: other }],
  mapping: 'every_sign_in',
  sync_names: true,
  acr_mapping: { mfa: 'aal2', 'https://id.acme.example/strong': 'aal2' },
  logout: 'upstream',
  extra_parameters: { prompt: 'login', claims: 'a=b' },
  redirect_uri: '',
  post_logout_redirect_uri: '',
  backchannel_logout_uri: '',
  created_at: '2026-11-28T00:00:00.000Z',
  updated_at: '2026-11-28T00:00:00.000Z',
  created_by_id: null,
};
const empty: IdentityProvider = {
  ...full,
  name: 'Other',
  issuer: 'https://other.example',
  client_id: 'other',
  client_auth: 'none',
  team_id: '',
  key_id: '',
  scopes: [],
  is_shown: true,
  sign_up: 'none',
  domains: [],
  required_for_domains: false,
  tenants: [],
  email_trust: 'none',
  connect: 'confirm',
  allow_superusers: false,
  role_ids: [],
  role_mapping: [],
  mapping: 'creation',
  sync_names: false,
  acr_mapping: {},
  logout: 'here',
  extra_parameters: {},
};
const secrets = new Set(['client_secret', 'private_key']);

test('every field is in one group, and comes back as it was', () => {
  assert.deepEqual([...fieldNames].sort(), Object.keys(inputs).sort());
  for (const [before, now] of [
    [full, empty],
    [empty, full],
  ] as const) {
    const body = bodyOf(valuesOf(before), valuesOf(now));
    const named = fieldNames.filter((name) => !secrets.has(name));
    assert.deepEqual(body, Object.fromEntries(named.map((name) => [name, Reflect.get(now, name)])));
  }
});

test('a secret is sent as it was typed, and only if it was', () => {
  const before = valuesOf(full);
  assert.equal(before.client_secret, '');
  assert.deepEqual(bodyOf(before, before), {});
  assert.deepEqual(bodyOf(before, { ...before, client_secret: ' s ' }), { client_secret: ' s ' });
  assert.deepEqual(changedNames(before, { ...before, name: 'New' }), ['name']);
});

test('a new provider sends what its kind has, and no more', () => {
  for (const kind of kinds) {
    const values = { ...valuesOf(full), client_secret: 'secret', private_key: 'key' };
    const { kind: sent, slug, ...body } = newBodyOf(kind, ' acme ', values);
    assert.deepEqual({ sent, slug }, { sent: kind, slug: 'acme' });
    assert.deepEqual(
      Object.keys(body).sort(),
      fieldNames.filter((name) => hasField(kind, name)).sort(),
      kind,
    );
    const least = { ...emptyValues(kind), name: 'A', client_id: 'c' };
    const issuer = kind === 'microsoft' ? { issuer: least.issuer } : {};
    assert.deepEqual(newBodyOf(kind, 'a', least), { kind, slug: 'a', name: 'A', client_id: 'c', ...issuer });
  }
});

test('parameters without a value and rules with a gap are told before they are sent', () => {
  const rule = { claim: 'groups', equals: 'x', role_id: id };
  for (const [name, value, fault] of [
    ['extra_parameters', 'hd=acme.example\n\nprompt=', null],
    ['extra_parameters', 'hd', 'pair'],
    ['extra_parameters', '=x', 'pair'],
    ['role_mapping', '', null],
    ['role_mapping', JSON.stringify([rule]), null],
    ['role_mapping', JSON.stringify([rule, { ...rule, equals: ' ' }]), 'rule'],
    ['role_mapping', JSON.stringify([{ ...rule, role_id: '' }]), 'rule'],
    ['name', '=', null],
  ] as const)
    assert.equal(faultOf(name, value), fault, `${name}: ${value}`);
});
