// What second factors look like on the wire, where the generated types of the SDK do not have it yet, and the calls of those
// operations. Delete each part when `packages/sdk/src/api.ts` has it.
import type {
  Answer,
  CallOptions,
  InputOf,
  Factors as KnownFactors,
  StepUpOptions as KnownOptions,
  Session as KnownSession,
  Operation,
} from '@castellan/sdk';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/browser';
import { client } from '../../common/client.ts';

export type Acr = 'aal1' | 'aal2' | 'phr';
export type PasskeyKind = 'passkey' | 'security_key';

export type Passkey = {
  id: string;
  kind: PasskeyKind;
  name: string;
  /** The domain that it belongs to. */
  rp_id: string;
  /** Whether it works at this domain. */
  usable: boolean;
  created_at: string;
  last_used_at: string | null;
  /** Whether it is synced to other devices. */
  backed_up: boolean;
  transports: string[];
};

type FactorRequirement = {
  required_acr: Acr;
  /** ISO 8601, UTC. From then on, the service refuses other requests until it is met. */
  enforced_from: string;
  met: boolean;
};

export type Factors = KnownFactors & {
  passkeys?: Passkey[];
  requirement?: FactorRequirement | null;
  available: { passkey?: boolean; security_key?: boolean };
};

export type ChangedFactors = {
  factors: Factors;
  /** Shown here once. */
  recovery_codes?: string[];
  access_token: string;
};

export type AddedPasskey = ChangedFactors & { passkey: Passkey };

export type Device = {
  id: string;
  user_agent: string | null;
  network: string | null;
  created_at: string;
  last_used_at: string;
  trusted_until: string | null;
  current: boolean;
};

type StepUpOptions = KnownOptions & { passkey?: PublicKeyCredentialRequestOptionsJSON };

export type StepUpProof = {
  password?: string;
  totp?: string;
  recovery_code?: string;
  passkey?: AuthenticationResponseJSON;
};

/** `methods`: how it began; absent if that was a password alone. */
export type BegunSession = KnownSession & { methods?: readonly string[] };

type Input = CallOptions & { path?: Record<string, string>; body?: object };

type LaterResults = {
  'GET /api/v1/auth/factors': { data: Factors };
  'GET /api/v1/auth/devices': { data: Device[] };
  'DELETE /api/v1/auth/devices': unknown;
  'DELETE /api/v1/auth/devices/{device_id}': unknown;
  'POST /api/v1/auth/factors/passkeys/options': { data: { passkey: PublicKeyCredentialCreationOptionsJSON } };
  'PUT /api/v1/auth/factors/passkeys/{passkey_id}': { data: Passkey };
  'POST /api/v1/auth/step-up/options': { data: StepUpOptions };
};

type LaterRenewals = {
  'POST /api/v1/auth/factors/totp/confirm': { data: ChangedFactors };
  'DELETE /api/v1/auth/factors/totp': { data: ChangedFactors };
  'POST /api/v1/auth/factors/passkeys': { data: AddedPasskey };
  'DELETE /api/v1/auth/factors/passkeys/{passkey_id}': { data: ChangedFactors };
  'POST /api/v1/auth/step-up': unknown;
};

export type Registration = { kind: PasskeyKind; name?: string; passkey: RegistrationResponseJSON };

/** Sends one of these operations, as `client.request` does. */
export const requestLater = <O extends keyof LaterResults>(
  operation: O,
  input: Input = {},
): Promise<Answer<LaterResults[O]>> =>
  // The types of the SDK do not know the operation yet.
  client.request(operation as Operation, input as InputOf<Operation>) as Promise<Answer<LaterResults[O]>>;

/** Sends one of these operations and goes on with the tokens of its answer. */
export const renewLater = async <O extends keyof LaterRenewals>(
  operation: O,
  input: Input = {},
): Promise<LaterRenewals[O]> => {
  const data: unknown = await client.auth.renew(operation as 'POST /api/v1/auth/step-up', input as never);
  return { data } as LaterRenewals[O];
};
