// The operations of strong sign-in. A service may lack those of passkeys and recovery.
// It must not keep anything: what a sign-in leaves is in pending.ts.
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { client, noteSession } from '../client.ts';

export type PasskeyOptions = PublicKeyCredentialRequestOptionsJSON;
export type PasskeyAnswer = AuthenticationResponseJSON;

export type SignInMethods = {
  passkey: { available: boolean };
  /** 0 if no device is trusted. */
  trusted_device_days: number;
};

/** Exactly one proof. */
export type Proof =
  | { totp: string }
  | { recovery_code: string }
  | { passkey: PasskeyAnswer }
  | { recovery_token: string };

type Input = { body?: unknown; signal?: AbortSignal };
/** `Client`, also for operations that its types do not have. */
type AnyClient = { request(operation: string, input?: Input): Promise<{ result: unknown }> };
const anyClient: AnyClient = client;

const BASE = '/api/v1/auth';

async function dataOf<T>(operation: string, input?: Input): Promise<T> {
  const { result } = await anyClient.request(operation, input);
  // The service promises the result of each operation, and nothing else could give it its type.
  return (result as { data: T }).data;
}

export const readSignInMethods = (signal?: AbortSignal): Promise<SignInMethods> =>
  dataOf(`GET ${BASE}/sign-in-methods`, signal && { signal });

export async function readPasskeyOptions(signal?: AbortSignal): Promise<PasskeyOptions> {
  const body = { body: {}, ...(signal && { signal }) };
  return (await dataOf<{ passkey: PasskeyOptions }>(`POST ${BASE}/login/passkey/options`, body)).passkey;
}

/** Starts the session. Rejects with `passkey_unknown`, `passkey_refused`, `sign_in_expired` or `email_not_verified` (422). */
export async function signInWithPasskey(passkey: PasskeyAnswer): Promise<void> {
  await dataOf(`POST ${BASE}/login/passkey`, { body: { passkey } });
  noteSession();
}

/** Starts the session. Rejects with `sign_in_expired` (422) when the sign-in must begin again. */
export async function completeSignIn(token: string, proof: Proof, trustDevice = false): Promise<void> {
  const body = { token, ...proof, ...(trustDevice && { trust_device: true }) };
  await dataOf(`POST ${BASE}/login/second-factor`, { body });
  noteSession();
}

export async function mailRecoveryLink(token: string): Promise<void> {
  await anyClient.request(`POST ${BASE}/login/recovery-mail`, { body: { token } });
}
