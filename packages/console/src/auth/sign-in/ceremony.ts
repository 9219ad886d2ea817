// Asks the browser for a passkey. Only one request can wait at a time: a new one ends the one before.
// The sign-in page must load it on demand, because of the library.
import type { PasskeyAssertion, PasskeyRequestOptions } from '@castellan/sdk';
import { startAuthentication, WebAuthnAbortService } from '@simplewebauthn/browser';
import { passkeyAnswer } from '../../common/passkey-answer.ts';

/** Nobody closes a dialog this fast: the browser still held the request that was ended before. */
const IMMEDIATE_MS = 300;

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '');

const authenticate = async (
  optionsJSON: PasskeyRequestOptions,
  useBrowserAutofill = false,
): Promise<PasskeyAssertion> => passkeyAnswer(await startAuthentication({ optionsJSON, useBrowserAutofill }));

/**
 * Returns the answer to the options. Rejects if nothing came of it: browsers do not tell whether the person declined, the
 * time ran out or there is no passkey. A request that fails at once is repeated once
 * (https://github.com/MasterKale/SimpleWebAuthn/issues/348).
 */
export async function askForPasskey(optionsJSON: PasskeyRequestOptions): Promise<PasskeyAssertion> {
  const begun = performance.now();
  try {
    return await authenticate(optionsJSON);
  } catch (error) {
    const isImmediate = performance.now() - begun < IMMEDIATE_MS;
    if (nameOf(error) !== 'NotAllowedError' || !isImmediate) throw error;
    return authenticate(optionsJSON);
  }
}

/** Offers passkeys in the suggestions of the email field, and waits until one is chosen. */
export const offerPasskeys = (optionsJSON: PasskeyRequestOptions): Promise<PasskeyAssertion> =>
  authenticate(optionsJSON, true);

/** Ends the request that waits, if one does. It then rejects. */
export const endRequest = (): void => WebAuthnAbortService.cancelCeremony();
