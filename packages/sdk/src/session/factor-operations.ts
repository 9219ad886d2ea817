// The operations of second factors and passkeys, and their records, as `auth` calls them.
// The types that docs/openapi.json has come from api.ts. It must hold no code.
import type {
  ChangedFactors,
  Factors,
  Operations,
  SecondFactor,
  SecondFactorRequest,
  StepUp,
  StepUpOptions,
} from '../api.ts';
import type { Acr } from '../levels.ts';

/** What the browser is asked for: `PublicKeyCredentialRequestOptionsJSON` of Web Authentication. */
export type PasskeyRequestOptions = {
  challenge: string;
  rpId: string;
  timeout: number;
  userVerification: 'required' | 'preferred' | 'discouraged';
  allowCredentials?: PasskeyDescriptor[];
};

/** What the browser is asked to make: `PublicKeyCredentialCreationOptionsJSON` of Web Authentication. */
export type PasskeyCreationOptions = {
  challenge: string;
  rp: { id: string; name: string };
  user: { id: string; name: string; displayName: string };
  pubKeyCredParams: { type: 'public-key'; alg: number }[];
  timeout: number;
  excludeCredentials: PasskeyDescriptor[];
  authenticatorSelection: {
    residentKey: 'required' | 'discouraged';
    requireResidentKey: boolean;
    userVerification: 'required' | 'discouraged';
  };
  hints?: 'security-key'[];
  attestation: 'none';
  extensions: { credProps: true };
};

type PasskeyDescriptor = { id: string; type: 'public-key'; transports?: string[] };

/** What the browser answers when a passkey or security key was used. All texts are base64url. */
export type PasskeyAssertion = {
  id: string;
  rawId: string;
  type: 'public-key';
  response: { clientDataJSON: string; authenticatorData: string; signature: string; userHandle?: string };
  clientExtensionResults: Record<string, unknown>;
};

/** What the browser answers when a passkey or security key was made. All texts but the transports are base64url. */
export type PasskeyRegistration = {
  id: string;
  rawId: string;
  type: 'public-key';
  response: { clientDataJSON: string; attestationObject: string; transports?: string[] };
  clientExtensionResults: Record<string, unknown>;
};

/** `passkey` signs in alone, or after the password; `security_key` only after the password. */
export type PasskeyKind = 'passkey' | 'security_key';

export type Passkey = {
  id: string;
  kind: PasskeyKind;
  name: string;
  /** The domain that it is bound to. */
  rp_id: string;
  /** False if it is bound to a domain that Castellan does not use. */
  usable: boolean;
  created_at: string;
  last_used_at: string | null;
  /** Whether it is synced to further devices. */
  backed_up: boolean;
  transports: string[];
};

/** What the refusal of a sign-in says about its second step. */
export type SecondFactorNeeded = SecondFactorRequest & {
  /** For `passkeys.get`, if `methods` names `passkey`. */
  passkey?: PasskeyRequestOptions;
  /** Whether `trust_device` has an effect. */
  may_trust_device?: boolean;
};

/** The token of the refused sign-in, and exactly one proof. */
export type SecondFactorProof = SecondFactor & {
  passkey?: PasskeyAssertion;
  /** The content of the link that was mailed or handed over after a reset of the factors. */
  recovery_token?: string;
  /** Lets the password alone sign in on this device for some time. */
  trust_device?: boolean;
};

/** Exactly one proof. */
export type StepUpProof = StepUp & { passkey?: PasskeyAssertion };
/** How somebody can prove who they are. `passkey` is for `passkeys.get`. */
export type StepUpWays = StepUpOptions & { passkey?: PasskeyRequestOptions };

/** The second factors of the signed-in user. */
export type OwnFactors = Omit<Factors, 'available'> & {
  passkeys: Passkey[];
  /** What the roles of the user ask for, or will ask for; null if nothing. */
  requirement: { required_acr: 'aal2' | 'phr'; enforced_from: string | null; met: boolean } | null;
  available: { totp: boolean; passkey: boolean; security_key: boolean };
};

/** What a change of the factors returns. */
export type FactorsChange = {
  factors: OwnFactors;
  /** With the first factor only, and shown once. */
  recovery_codes?: string[];
};

type Tokens = Pick<ChangedFactors, 'access_token' | 'token_type' | 'refresh_token'>;
type Data<D> = { data: D; message: string };
type Changed = { result: Data<FactorsChange & Tokens> };
type PathId = { path: { passkey_id: string } };

type Replaced = {
  'POST /api/v1/auth/login/second-factor': {
    body: SecondFactorProof;
    result: Operations['POST /api/v1/auth/login']['result'];
  };
  'POST /api/v1/auth/login/passkey/options': {
    body: Record<never, never>;
    result: Data<{ passkey: PasskeyRequestOptions; expires_at: string }>;
  };
  'POST /api/v1/auth/login/passkey': {
    body: { passkey: PasskeyAssertion };
    result: Operations['POST /api/v1/auth/login']['result'];
  };
  'GET /api/v1/auth/factors': { result: Data<OwnFactors> };
  'POST /api/v1/auth/factors/totp/confirm': { body: { totp: string } } & Changed;
  'DELETE /api/v1/auth/factors/totp': Changed;
  'POST /api/v1/auth/factors/passkeys/options': {
    body: { kind: PasskeyKind };
    result: Data<{ passkey: PasskeyCreationOptions; expires_at: string }>;
  };
  'POST /api/v1/auth/factors/passkeys': {
    body: { kind: PasskeyKind; name?: string; passkey: PasskeyRegistration };
    result: Data<FactorsChange & { passkey: Passkey } & Tokens>;
  };
  'PUT /api/v1/auth/factors/passkeys/{passkey_id}': PathId & {
    body: { name: string };
    result: Data<Passkey>;
  };
  'DELETE /api/v1/auth/factors/passkeys/{passkey_id}': PathId & Changed;
  'POST /api/v1/auth/step-up/options': {
    body: { acr: Acr | undefined };
    result: Data<StepUpWays>;
  };
  'POST /api/v1/auth/step-up': {
    body: StepUpProof;
    result: Operations['POST /api/v1/auth/step-up']['result'];
  };
};

/** Operations with `data` as api.ts has them. */
type Known =
  | 'POST /api/v1/auth/login'
  | 'POST /api/v1/auth/change_password'
  | 'POST /api/v1/auth/register'
  | 'POST /api/v1/auth/verify-email'
  | 'GET /api/v1/auth/password-policy'
  | 'POST /api/v1/auth/factors/totp'
  | 'POST /api/v1/auth/factors/recovery-codes';

/** Operations that return no more than a message. */
type Silent =
  | 'POST /api/v1/auth/logout'
  | 'POST /api/v1/auth/logout/all'
  | 'POST /api/v1/auth/resend-verification-email'
  | 'POST /api/v1/auth/password-reset/request'
  | 'POST /api/v1/auth/password-reset/confirm';

/** The operations that `auth` calls. */
export type AuthOperations = Replaced &
  Pick<Operations, Known> & {
    [O in Silent]: Omit<Operations[O], 'result'> & { result: { data?: undefined } };
  };
