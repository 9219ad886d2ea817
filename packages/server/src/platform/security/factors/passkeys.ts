// Verifies what authenticators answer (WebAuthn), for a registration and for a sign-in. Only this file knows the library, and
// loads it at the first use. It must not judge counters, nor who a credential belongs to: its callers do.
import type { VerifiedRegistrationResponse } from '@simplewebauthn/server';
import { errorMessage, isObject } from '../../unknown-values.ts';
import type { AssertionJSON, PasskeyKind, RegistrationJSON } from './passkey-json.ts';
import { passkeyAlgorithms, userHandleOf } from './passkey-options.ts';

export type {
  AssertionJSON,
  PasskeyKind,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationJSON,
} from './passkey-json.ts';
export { challengeIn, isAssertionShape, isRegistrationShape } from './passkey-json.ts';
export { creationOptions, requestOptions } from './passkey-options.ts';

export type RegisteredCredential = {
  credentialId: Buffer;
  /** COSE_Key (RFC 9052). */
  publicKey: Buffer;
  signCount: number;
  transports: string[];
  /** The model of the authenticator, as a UUID; null if it does not tell. */
  aaguid: string | null;
  backupEligible: boolean;
  backedUp: boolean;
  userVerified: boolean;
};

type Expected = {
  /** base64url, as it was issued. */
  challenge: string;
  origins: readonly string[];
  rpId: string;
  /** Receives the reason of a refusal. The text may quote the challenge and belongs in no other log. */
  debug?: (reason: string) => void;
};

export type ExpectedAssertion = Expected & {
  credential: { credentialId: Buffer; publicKey: Buffer };
  requireUserVerification: boolean;
  userId: string;
  /** Whether the authenticator must name the account, as it does for discoverable credentials. */
  requireUserHandle: boolean;
};

export type VerifiedAssertion = {
  signCount: number;
  userVerified: boolean;
  backupEligible: boolean;
  backedUp: boolean;
};

const MIN_CREDENTIAL_ID_BYTES = 16; // Web Authentication Level 3, section 4: at least 100 bits of entropy
const MAX_CREDENTIAL_ID_BYTES = 1023; // the same section
const formats: readonly unknown[] = ['none', 'packed'];
const noModel = '00000000-0000-0000-0000-000000000000';
const MAX_TRANSPORTS = 10; // seven are registered
const transportName = /^[a-z][a-z-]{0,31}$/;

export const credentialIdOf = (response: { readonly rawId: string }): Buffer =>
  Buffer.from(response.rawId, 'base64url');

/** Resolves with null for a response that must be refused, whatever the reason. */
export async function verifyRegistration(
  response: RegistrationJSON,
  expected: Expected & { kind: PasskeyKind },
): Promise<RegisteredCredential | null> {
  const [{ verifyRegistrationResponse }, { isoCBOR }] = await Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ]);
  const { clientDataJSON, attestationObject } = response.response;
  const { challenge, origins, rpId, kind, debug } = expected;
  const isPasskey = kind === 'passkey';
  return orRefused(debug, async () => {
    demandTopLevelPage(clientDataJSON);
    // Before the library, which fetches revocation lists for some formats.
    demandAcceptedFormat(attestationObject, isoCBOR);
    const { id, rawId, type } = response;
    const { registrationInfo: info } = await verifyRegistrationResponse({
      response: {
        id,
        rawId,
        type,
        response: { clientDataJSON, attestationObject },
        clientExtensionResults: {},
      },
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: rpId,
      requireUserVerification: isPasskey,
      supportedAlgorithmIDs: [...passkeyAlgorithms],
    });
    demand(info !== undefined, 'the attestation is wrong');
    const isDiscoverable = response.clientExtensionResults.credProps?.rk !== false;
    demand(!isPasskey || isDiscoverable, 'the credential is not discoverable');
    return credentialOf(response, info);
  });
}

type RegistrationInfo = NonNullable<VerifiedRegistrationResponse['registrationInfo']>;

function credentialOf(response: RegistrationJSON, info: RegistrationInfo): RegisteredCredential {
  const credentialId = Buffer.from(info.credential.id, 'base64url');
  demand(credentialId.equals(credentialIdOf(response)), 'the credential id is not the one that was made');
  demand(credentialId.length >= MIN_CREDENTIAL_ID_BYTES, 'the credential id is too short');
  demand(credentialId.length <= MAX_CREDENTIAL_ID_BYTES, 'the credential id is too long');
  return {
    credentialId,
    publicKey: Buffer.from(info.credential.publicKey),
    signCount: info.credential.counter,
    transports: knownTransports(response.response.transports ?? []),
    aaguid: info.aaguid === noModel ? null : info.aaguid,
    backupEligible: info.credentialDeviceType === 'multiDevice',
    backedUp: info.credentialBackedUp,
    userVerified: info.userVerified,
  };
}

/** Resolves with null for a response that must be refused, whatever the reason. */
export async function verifyAssertion(
  response: AssertionJSON,
  expected: ExpectedAssertion,
): Promise<VerifiedAssertion | null> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const { clientDataJSON, authenticatorData, signature, userHandle } = response.response;
  const { challenge, origins, rpId, credential, requireUserVerification, debug } = expected;
  return orRefused(debug, async () => {
    const { id, rawId, type } = response;
    const storedId = credential.credentialId.toString('base64url');
    // The library verifies a signature with any id.
    demand(id === storedId && rawId === storedId, 'the credential is another one');
    demandTopLevelPage(clientDataJSON);
    demandUserHandle(userHandle, expected);
    const { verified, authenticationInfo: info } = await verifyAuthenticationResponse({
      response: {
        id,
        rawId,
        type,
        response: { clientDataJSON, authenticatorData, signature },
        clientExtensionResults: {},
      },
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: rpId,
      // With a stored counter, the library refuses what synced passkeys do.
      credential: { id: storedId, publicKey: new Uint8Array(credential.publicKey), counter: 0 },
      requireUserVerification,
    });
    demand(verified, 'the signature is wrong');
    return {
      signCount: info.newCounter,
      userVerified: info.userVerified,
      backupEligible: info.credentialDeviceType === 'multiDevice',
      backedUp: info.credentialBackedUp,
    };
  });
}

async function orRefused<Result>(
  debug: Expected['debug'],
  verify: () => Promise<Result>,
): Promise<Result | null> {
  try {
    return await verify();
  } catch (error) {
    debug?.(errorMessage(error));
    return null;
  }
}

function demand(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}

/** Refuses what was made in a frame of another site. The library accepts it in most cases. */
function demandTopLevelPage(clientDataJSON: string): void {
  const clientData: unknown = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString());
  demand(isObject(clientData), 'the client data is no object');
  const { crossOrigin = false, topOrigin } = clientData;
  demand(crossOrigin === false && topOrigin === undefined, 'the page was in a frame of another site');
}

type Cbor = typeof import('@simplewebauthn/server/helpers').isoCBOR;

function demandAcceptedFormat(attestationObject: string, cbor: Cbor): void {
  const bytes = new Uint8Array(Buffer.from(attestationObject, 'base64url'));
  const attestation: unknown = cbor.decodeFirst(bytes);
  demand(attestation instanceof Map, 'the attestation object is no map');
  demand(formats.includes(attestation.get('fmt')), 'the format of the attestation is not accepted');
  // Authenticators write the shortest form (CTAP 2.1, section 8), so a longer input has bytes after the map.
  demand(cbor.encode(attestation).length === bytes.length, 'the attestation object has further bytes');
}

function demandUserHandle(userHandle: string | undefined, expected: ExpectedAssertion): void {
  const { userId, requireUserHandle } = expected;
  if (userHandle === undefined) {
    demand(!requireUserHandle, 'the user handle is missing');
    return;
  }
  demand(
    Buffer.from(userHandle, 'base64url').equals(userHandleOf(userId)),
    'the user handle is of another account',
  );
}

/** Browsers may add transports, so unknown ones are kept, but no other texts. */
const knownTransports = (transports: readonly string[]): string[] =>
  [...new Set(transports.filter((name) => transportName.test(name)))].slice(0, MAX_TRANSPORTS);
