// Asks the browser for a passkey. Only one request can wait at a time: a new one ends the one before.
// The sign-in page must load it on demand, because of the library.
import { startAuthentication, WebAuthnAbortService } from '@simplewebauthn/browser';
import type { PasskeyAnswer, PasskeyOptions } from './calls.ts';

/** Nobody closes a dialog this fast: the browser still held the request that was ended before. */
const IMMEDIATE_MS = 300;

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '');

/**
 * Returns the answer to the options. Rejects if nothing came of it: browsers do not tell whether the person declined, the
 * time ran out or there is no passkey. A request that fails at once is repeated once
 * (https://github.com/MasterKale/SimpleWebAuthn/issues/348).
 */
export async function askForPasskey(optionsJSON: PasskeyOptions): Promise<PasskeyAnswer> {
  const begun = performance.now();
  try {
    return await startAuthentication({ optionsJSON });
  } catch (error) {
    const isImmediate = performance.now() - begun < IMMEDIATE_MS;
    if (nameOf(error) !== 'NotAllowedError' || !isImmediate) throw error;
    return startAuthentication({ optionsJSON });
  }
}

/** Offers passkeys in the suggestions of the email field, and waits until one is chosen. */
export const offerPasskeys = (optionsJSON: PasskeyOptions): Promise<PasskeyAnswer> =>
  startAuthentication({ optionsJSON, useBrowserAutofill: true });

/** Ends the request that waits, if one does. It then rejects. */
export const endRequest = (): void => WebAuthnAbortService.cancelCeremony();
