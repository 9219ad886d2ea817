// Where Castellan answers otherwise than oidc-provider, and why. docs/contribute/openid-conformance.md has the same list in words.
// Only the entry about openid may let Castellan give what the library refuses.
import type { AuthorizationCase, TokenCase } from './cases.ts';

export type Difference<Case> = {
  /** The reason, as in the documentation. */
  name: string;
  explains(one: Case, ours: readonly string[], theirs: readonly string[]): boolean;
};

const all = (classes: readonly string[], ...expected: string[]): boolean =>
  classes.every((one) => expected.includes(one));

const valuesOf = ({ entries }: AuthorizationCase, name: string): string[] =>
  entries.filter(([one, value]) => one === name && value !== '').map(([, value]) => value);
/** Leaves out how an answer was sent. */
const plain = (classes: readonly string[]): string[] =>
  classes.map((one) => one.replace(/ in a (?:form|fragment)$/, ''));
const openIdAlone = ['nonce', 'max_age', 'claims', 'id_token_hint'];

export const authorizationDifferences: readonly Difference<AuthorizationCase>[] = [
  {
    name: 'a parameter that comes twice is a page, where the library redirects or takes one of the two',
    explains: ({ entries }, ours) =>
      new Set(entries.map(([name]) => name)).size < entries.length && all(ours, 'page 400'),
  },
  {
    name: 'a request names the address of its answer; the library does without it where only one is registered',
    explains: (one, ours) => valuesOf(one, 'redirect_uri').length === 0 && all(ours, 'page 400'),
  },
  {
    name: 'an unknown pushed request is a page: nothing that it said is known',
    explains: (one, ours, theirs) =>
      valuesOf(one, 'request_uri').some((uri) => uri.startsWith('urn:')) &&
      all(ours, 'page 400') &&
      all(plain(theirs), 'invalid_request_uri', 'request_not_supported'),
  },
  {
    name: 'there are no fragments: no response_mode of that name, and errors are in the query whatever response_type asks',
    explains: (one, ours, theirs) =>
      String(theirs.map((one) => one.replace(/ in a fragment$/, ''))) === String(ours) ||
      (valuesOf(one, 'response_mode').includes('fragment') && all(ours, 'invalid_request')),
  },
  {
    name: 'every response_type but code is unsupported; the library says that the application may not use it',
    explains: (one, ours, theirs) =>
      !valuesOf(one, 'response_type').includes('code') &&
      all(plain(ours), 'unsupported_response_type') &&
      all(plain(theirs), 'invalid_request', 'unsupported_response_mode'),
  },
  {
    name: 'an unknown response_mode is an invalid_request, where the library has an error of its own',
    explains: (one, ours, theirs) =>
      valuesOf(one, 'response_mode').includes('nonsense') &&
      all(ours, 'invalid_request') &&
      all(theirs, 'unsupported_response_mode'),
  },
  {
    name: 'a request for no scope of the application is an invalid_scope; the library lets it go on to its grants',
    explains: (one, ours) =>
      valuesOf(one, 'scope').every((scope) => scope === 'unknown') && all(plain(ours), 'invalid_scope'),
  },
  {
    name: 'without openid, parameters of OpenID Connect are no fault; the library refuses them',
    explains: (one, ours, theirs) =>
      valuesOf(one, 'scope').every((scope) => scope === 'email') &&
      openIdAlone.some((name) => valuesOf(one, name).length > 0) &&
      all(plain(ours), 'code', 'asks sign_in', 'asks consent', 'login_required', 'consent_required') &&
      all(plain(theirs), 'invalid_request'),
  },
  {
    name: 'a challenge has the 43 characters of a SHA-256; the library takes up to 128',
    explains: (one, ours) =>
      valuesOf(one, 'code_challenge').some(({ length }) => length === 44) &&
      all(plain(ours), 'invalid_request'),
  },
];

export const tokenDifferences: readonly Difference<TokenCase>[] = [
  {
    name: 'nobody says who sends a token request: invalid_client, where the library has invalid_request',
    explains: ({ credentials }, ours, theirs) =>
      credentials === 'none' &&
      all(ours, '401 invalid_client', '400 unsupported_grant_type') &&
      all(theirs, '400 invalid_request'),
  },
  {
    name: 'a malformed request is refused before its credentials and its grant type are looked at',
    explains: ({ credentials, entries }, ours, theirs) =>
      (credentials === 'wrong secret' &&
        all(ours, '400 invalid_request', '400 unsupported_grant_type') &&
        all(theirs, '401 invalid_client')) ||
      (new Set(entries.map(([name]) => name)).size < entries.length &&
        all(ours, '400 invalid_request') &&
        all(theirs, '400 unsupported_grant_type')),
  },
  {
    name: 'an exchange names the address that the code was sent to; the library does without it',
    explains: ({ entries }, ours, theirs) =>
      entries.every(([name, value]) => name !== 'redirect_uri' || value === '') &&
      all(ours, '400 invalid_request') &&
      all(theirs, 'tokens', '400 invalid_grant'),
  },
  {
    name: 'a verifier that is too short is a wrong verifier',
    explains: ({ entries }, ours, theirs) =>
      entries.some(([name, value]) => name === 'code_verifier' && value === 'short') &&
      all(ours, '400 invalid_grant') &&
      all(theirs, '400 invalid_request'),
  },
];
