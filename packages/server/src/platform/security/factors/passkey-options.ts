// What browsers get to ask authenticators for: the options of a sign-in and of a registration.
// It must not choose credentials or origins: its callers do.
import type {
  PasskeyKind,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from './passkey-json.ts';

export type KnownCredential = { credentialId: Buffer; transports: readonly string[] };

const TIMEOUT_MS = 300_000; // recommended by Web Authentication Level 3, section 15.1

/** ES256, EdDSA and RS256 (IANA COSE Algorithms), preferred first. RS256 is what Windows Hello has. */
export const passkeyAlgorithms: readonly number[] = [-7, -8, -257];

/** Without `allow`, the authenticator offers its discoverable credentials. */
export const requestOptions = ({
  rpId,
  challenge,
  allow,
  userVerification,
}: {
  rpId: string;
  challenge: string;
  allow?: readonly KnownCredential[];
  userVerification: 'required' | 'preferred' | 'discouraged';
}): PublicKeyCredentialRequestOptionsJSON => ({
  challenge,
  rpId,
  timeout: TIMEOUT_MS,
  userVerification,
  ...(allow === undefined ? {} : { allowCredentials: allow.map(descriptorOf) }),
});

/** `exclude`: all credentials of the account, so that no authenticator is registered twice. */
export function creationOptions({
  rpId,
  rpName,
  challenge,
  kind,
  user,
  exclude,
}: {
  rpId: string;
  rpName: string;
  challenge: string;
  kind: PasskeyKind;
  user: { id: string; email: string; displayName: string };
  exclude: readonly KnownCredential[];
}): PublicKeyCredentialCreationOptionsJSON {
  const isPasskey = kind === 'passkey';
  return {
    challenge,
    rp: { id: rpId, name: rpName },
    user: {
      id: userHandleOf(user.id).toString('base64url'),
      name: user.email,
      displayName: user.displayName,
    },
    pubKeyCredParams: passkeyAlgorithms.map((alg) => ({ type: 'public-key', alg })),
    timeout: TIMEOUT_MS,
    excludeCredentials: exclude.map(descriptorOf),
    authenticatorSelection: {
      residentKey: isPasskey ? 'required' : 'discouraged',
      requireResidentKey: isPasskey,
      userVerification: isPasskey ? 'required' : 'discouraged',
    },
    ...(isPasskey ? {} : { hints: ['security-key'] }),
    attestation: 'none',
    extensions: { credProps: true },
  };
}

/** Returns the 16 bytes of a UUID: what authenticators keep as the name of the account. */
export const userHandleOf = (userId: string): Buffer => Buffer.from(userId.replaceAll('-', ''), 'hex');

function descriptorOf({ credentialId, transports }: KnownCredential) {
  const id = credentialId.toString('base64url');
  return {
    id,
    type: 'public-key' as const,
    ...(transports.length === 0 ? {} : { transports: [...transports] }),
  };
}
