// The operations of strong sign-in.
// It must not keep anything: what a sign-in leaves is in pending.ts.
import type { PasskeyAssertion, PasskeyRequestOptions, SignInMethods } from '@castellan/sdk';
import { client, noteSession } from '../client.ts';

/** Exactly one proof. */
export type Proof =
  | { totp: string }
  | { recovery_code: string }
  | { passkey: PasskeyAssertion }
  | { recovery_token: string };

export async function readSignInMethods(signal?: AbortSignal): Promise<SignInMethods> {
  return (await client.get('/api/v1/auth/sign-in-methods', { signal })).data;
}

export async function readPasskeyOptions(signal?: AbortSignal): Promise<PasskeyRequestOptions> {
  return (await client.post('/api/v1/auth/login/passkey/options', { body: {}, signal })).data.passkey;
}

/** Starts the session. Rejects with `passkey_unknown`, `passkey_refused`, `sign_in_expired` or `email_not_verified` (422). */
export async function signInWithPasskey(passkey: PasskeyAssertion): Promise<void> {
  await client.post('/api/v1/auth/login/passkey', { body: { passkey } });
  noteSession();
}

/** Starts the session. Rejects with `sign_in_expired` (422) when the sign-in must begin again. */
export async function completeSignIn(token: string, proof: Proof, trustDevice = false): Promise<void> {
  const body = { token, ...proof, ...(trustDevice && { trust_device: true }) };
  await client.post('/api/v1/auth/login/second-factor', { body });
  noteSession();
}

export async function mailRecoveryLink(token: string): Promise<void> {
  await client.post('/api/v1/auth/login/recovery-mail', { body: { token } });
}
