// The JSON in which browsers exchange WebAuthn options and responses (Web Authentication Level 3, section 5.1), and whether a
// value has that form. It must not judge what the bytes mean.
import { isObject } from '../../unknown-values.ts';

/** `passkey`: discoverable and with user verification. `security_key`: only after the password. */
export type PasskeyKind = 'passkey' | 'security_key';

type DescriptorJSON = { id: string; type: 'public-key'; transports?: string[] };

export type PublicKeyCredentialRequestOptionsJSON = {
  challenge: string;
  rpId: string;
  /** Milliseconds. */
  timeout: number;
  userVerification: 'required' | 'preferred' | 'discouraged';
  allowCredentials?: DescriptorJSON[];
};

export type PublicKeyCredentialCreationOptionsJSON = {
  challenge: string;
  rp: { id: string; name: string };
  user: { id: string; name: string; displayName: string };
  pubKeyCredParams: { type: 'public-key'; alg: number }[];
  /** Milliseconds. */
  timeout: number;
  excludeCredentials: DescriptorJSON[];
  authenticatorSelection: {
    residentKey: 'required' | 'discouraged';
    requireResidentKey: boolean;
    userVerification: 'required' | 'discouraged';
  };
  hints?: 'security-key'[];
  attestation: 'none';
  extensions: { credProps: true };
};

type CredentialJSON = { readonly id: string; readonly rawId: string; readonly type: 'public-key' };

export type AssertionJSON = CredentialJSON & {
  readonly response: {
    readonly clientDataJSON: string;
    readonly authenticatorData: string;
    readonly signature: string;
    readonly userHandle?: string;
  };
};

export type RegistrationJSON = CredentialJSON & {
  readonly response: {
    readonly clientDataJSON: string;
    readonly attestationObject: string;
    readonly transports?: readonly string[];
  };
  readonly clientExtensionResults: { readonly credProps?: { readonly rk?: boolean } };
};

/** Whether the value is a response to request options, with canonical base64url and equal ids. Other members are ignored. */
export function isAssertionShape(value: unknown): value is AssertionJSON {
  if (!isCredential(value)) return false;
  const { clientDataJSON, authenticatorData, signature, userHandle } = value.response;
  return [clientDataJSON, authenticatorData, signature, ...given(userHandle)].every(isBase64url);
}

/** Whether the value is a response to creation options, with canonical base64url and equal ids. Other members are ignored. */
export function isRegistrationShape(value: unknown): value is RegistrationJSON {
  if (!isCredential(value)) return false;
  const { clientDataJSON, attestationObject, transports = [] } = value.response;
  if (![clientDataJSON, attestationObject].every(isBase64url)) return false;
  if (!Array.isArray(transports) || !transports.every((each) => typeof each === 'string')) return false;
  const { credProps = {} } = value.clientExtensionResults;
  return isRecord(credProps) && given(credProps.rk).every((rk) => typeof rk === 'boolean');
}

/** Returns the challenge that the browser signed (base64url); null if its client data is no such text. */
export function challengeIn({
  response,
}: {
  readonly response: { readonly clientDataJSON: string };
}): string | null {
  try {
    const clientData: unknown = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString());
    return isRecord(clientData) && typeof clientData.challenge === 'string' ? clientData.challenge : null;
  } catch {
    return null;
  }
}

type Credential = { response: Record<string, unknown>; clientExtensionResults: Record<string, unknown> };

function isCredential(value: unknown): value is Credential {
  if (!isRecord(value) || !isRecord(value.response) || !isRecord(value.clientExtensionResults)) return false;
  return value.type === 'public-key' && isBase64url(value.id) && value.id === value.rawId;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && !Array.isArray(value);

const given = (value: unknown): unknown[] => (value === undefined ? [] : [value]);

/** Whether the value is the only spelling of its bytes: no padding, no other alphabet, no spare bits, at least one byte. */
const isBase64url = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  Buffer.from(value, 'base64url').toString('base64url') === value;
