// What the browser does with passkeys and security keys. Its library loads when somebody uses one.
import type {
  PasskeyAssertion,
  PasskeyCreationOptions,
  PasskeyRegistration,
  PasskeyRequestOptions,
} from '@castellan/sdk';
import { passkeyAnswer } from '../../../common/passkey-answer.ts';

export const canUsePasskeys = (): boolean => 'PublicKeyCredential' in globalThis;

/** Rejects with what `ceremonyFailure` reads. Nothing begins once the signal has aborted. */
export async function register(
  optionsJSON: PasskeyCreationOptions,
  signal: AbortSignal,
): Promise<PasskeyRegistration> {
  const { startRegistration } = await import('@simplewebauthn/browser');
  signal.throwIfAborted();
  return passkeyAnswer(await startRegistration({ optionsJSON }));
}

/** Rejects with what `ceremonyFailure` reads. Nothing begins once the signal has aborted. */
export async function authenticate(
  optionsJSON: PasskeyRequestOptions,
  signal: AbortSignal,
): Promise<PasskeyAssertion> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  signal.throwIfAborted();
  return passkeyAnswer(await startAuthentication({ optionsJSON }));
}

/** Ends what waits for the person. */
export async function cancelCeremony(): Promise<void> {
  const { WebAuthnAbortService } = await import('@simplewebauthn/browser');
  WebAuthnAbortService.cancelCeremony();
}

export type CeremonyFailure = 'nothing' | 'registered' | 'failed';

/**
 * Returns why the browser refused; null for anything else. `nothing`: cancelled or timed out, which browsers do not tell
 * apart. `registered`: the device has a credential of this account already.
 */
export function ceremonyFailure(error: unknown): CeremonyFailure | null {
  if (!(error instanceof Error)) return null;
  const { name } = error;
  if (name === 'NotAllowedError' || name === 'AbortError') return 'nothing';
  if (name === 'InvalidStateError') return 'registered';
  return isOfLibrary(error) || error instanceof DOMException ? 'failed' : null;
}

/** By its codes: the build shortens the names of classes. */
const isOfLibrary = (error: Error): boolean =>
  'code' in error && typeof error.code === 'string' && error.code.startsWith('ERROR_');
