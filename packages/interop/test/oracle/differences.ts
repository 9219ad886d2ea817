// Where Castellan answers otherwise than oidc-provider, and why. docs/contribute/openid-conformance.md has the same list in words.
// No entry may let Castellan give what the library refuses.
import type { TokenCase } from './cases.ts';

type Difference = {
  /** The reason, as in the documentation. */
  name: string;
  explains(one: TokenCase, ours: readonly string[], theirs: readonly string[]): boolean;
};

const all = (classes: readonly string[], ...expected: string[]): boolean =>
  classes.every((one) => expected.includes(one));
export const differences: readonly Difference[] = [
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
