// The providers that a stranger's client is tried with.
import type { Hooks } from '@castellan/testing/harness';
import { startCastellan } from '../providers/castellan.ts';
import { startLibrary } from '../providers/oidc-provider.ts';
import type { Provider, Registration } from '../providers/provider.ts';

/** Starts them until `t` ends, each with the same registration. */
export const startProviders = async (t: Hooks, registration: Registration = {}): Promise<Provider[]> => [
  // Many clients read the email in the ID token, where Castellan puts it by default.
  await startLibrary(t, registration, { conformIdTokenClaims: false }),
  await startCastellan(t, registration),
];
