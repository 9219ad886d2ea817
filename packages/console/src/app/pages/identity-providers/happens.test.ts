// The sentences about a provider follow from its settings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyValues, type FormValues } from './form/values.ts';
import { happenings, trustsIn } from './happens.ts';

// The texts choose a language when they load, for which they look at the page.
Object.assign(globalThis, { document: { querySelector: () => null } });
const { identityProviders } = await import('../../messages/en/identity-providers/identity-providers.ts');

const settings = (values: Partial<FormValues>, kind: 'oidc' | 'microsoft' | 'apple' = 'oidc') => ({
  kind,
  values: { ...emptyValues(kind), name: 'Acme', ...values },
});
const told = (values: Partial<FormValues>, kind?: 'oidc' | 'microsoft' | 'apple'): string =>
  happenings(settings(values, kind), identityProviders.happens)
    .map(({ who, what }) => [who, ...what].join(' '))
    .join('\n');

const rule = JSON.stringify([{ claim: 'groups', equals: 'x', role_id: 'r' }]);

test('without trust, everybody confirms an address, and nobody gets an account', () => {
  const text = told({});
  assert.match(text, /^Somebody new They type a code .* they are told to ask you for one\./m);
  assert.match(text, /Superusers are refused\./);
  assert.doesNotMatch(text, /calls verified|they get one/);
  assert.deepEqual(trustsIn(settings({})), []);
});

test('with trust in a domain, its people are told apart from others', () => {
  const text = told({ email_trust: 'domains', domains: 'a.example\nb.example', sign_up: 'domains' });
  const [trusted, others] = ['calls verified', 'any other address'].map((part) =>
    text.split('\n').find((line) => line.includes(part)),
  );
  assert.match(trusted ?? '', /whose address in a\.example, b\.example Acme calls verified/);
  assert.match(trusted ?? '', /No account has the address: they get one, without a password\./);
  assert.match(trusted ?? '', /A verified account has it: they sign in to it as usual, then confirm\./);
  assert.match(others ?? '', /in a\.example, b\.example they get one, .* Others are told to ask you\./);
  assert.match(told({ email_trust: 'domains', connect: 'trusted' }), /it is connected at once/);
});

test('what the other settings do is told only where they are set', () => {
  for (const [values, pattern] of [
    [{ required_for_domains: true, domains: 'a.example' }, /in a\.example Can sign in with Acme only/],
    [{ acr_mapping: 'mfa' }, /unless Acme says: mfa/],
    [{ role_mapping: rule }, /Gets the roles when the account is made/],
    [{ role_mapping: rule, mapping: 'every_sign_in' }, /Gets and loses the roles .* If the claim is missing/],
    [{ sync_names: true }, /first and last name that Acme says/],
    [{ logout: 'upstream' }, /Is led to Acme to sign out/],
    [{ is_shown: false }, /See no button/],
    [{ allow_superusers: true }, /Superusers, too/],
    [{ sign_up: 'everyone', role_ids: 'r' }, /they get one with the roles below/],
  ] as const) {
    assert.match(told(values), pattern);
    assert.doesNotMatch(told({}), pattern);
  }
  assert.match(told({ tenants: 'id' }, 'microsoft'), /another tenant Is refused/);
  // Apple has no claims, and nowhere to sign out.
  assert.doesNotMatch(told({ role_mapping: rule, logout: 'upstream' }, 'apple'), /claim|sign out there/);
});

test('every trust has a warning', () => {
  const values = {
    email_trust: 'domains',
    connect: 'trusted',
    sign_up: 'everyone',
    required_for_domains: true,
    allow_superusers: true,
    role_mapping: rule,
    acr_mapping: 'mfa',
    extra_parameters: 'hd=a.example',
  };
  assert.deepEqual(
    trustsIn(settings(values)).map(({ trust }) => trust),
    Object.keys(identityProviders.trusts),
  );
});
