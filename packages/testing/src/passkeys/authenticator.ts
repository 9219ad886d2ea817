// An authenticator in software, with the browser around it: makes and uses WebAuthn credentials (ES256) as a page gets them.
// Each tweak makes it misbehave in one way. It must not verify anything: the service does.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { type Cbor, encodeCbor } from './cbor.ts';

/** The part of PublicKeyCredentialCreationOptionsJSON that it reads. */
type CreationRequest = {
  challenge: string;
  user: { id: string };
  authenticatorSelection?: { residentKey?: string; userVerification?: string };
};

/** The part of PublicKeyCredentialRequestOptionsJSON that it reads. */
type AssertionRequest = {
  challenge: string;
  userVerification?: string;
  allowCredentials?: readonly { id: string }[];
};

/** Each has a sound default. */
type Tweaks = {
  /** The flags UP, UV, BE and BS. */
  present?: boolean;
  verified?: boolean;
  backupEligible?: boolean;
  backedUp?: boolean;
  signCount?: number;
  rpId?: string;
  /** Members of the client data: undefined removes one. */
  clientData?: Record<string, unknown>;
  /** Takes the place of the client data. */
  clientDataText?: string;
  /** Follow the authenticator data. */
  extraBytes?: Buffer;
  /** How many bytes of the authenticator data are sent. */
  authenticatorDataLength?: number;
  /** Whether the signature is that of another key. */
  wrongSignature?: boolean;
};

export type RegistrationTweaks = Tweaks & {
  /** `packed` signs with the new key. Other formats have an empty statement. */
  format?: string;
  credentialId?: Buffer;
  /** COSE algorithm that the key claims to have. */
  algorithm?: number;
  aaguid?: Buffer;
  transports?: string[];
  /** What the browser says about discoverability; undefined: nothing. */
  rk?: boolean | undefined;
  /** Follow the attestation object. */
  extraAttestationBytes?: Buffer;
};

export type AssertionTweaks = Tweaks & {
  /** Null: none. */
  userHandle?: Buffer | null;
  /** The credential to use, of those that were registered. */
  credentialId?: Buffer;
};

type RegistrationResponse = {
  id: string;
  rawId: string;
  type: 'public-key';
  response: { clientDataJSON: string; attestationObject: string; transports: string[] };
  clientExtensionResults: { credProps?: { rk: boolean } };
};

type AssertionResponse = {
  id: string;
  rawId: string;
  type: 'public-key';
  response: {
    clientDataJSON: string;
    authenticatorData: string;
    signature: string;
    userHandle?: string;
  };
  clientExtensionResults: Record<string, never>;
};

export type Authenticator = {
  /** Makes a new credential. */
  register(options: CreationRequest, tweaks?: RegistrationTweaks): RegistrationResponse;
  /** Uses the first allowed credential, or the newest. Throws if it has none. */
  assert(options: AssertionRequest, tweaks?: AssertionTweaks): AssertionResponse;
};

type AuthenticatorOptions = {
  rpId: string;
  origin: string;
  /** Whether it verifies its user where that is not discouraged. Default: true. */
  verifiesUser?: boolean;
  /** Whether its credentials are synced, as those of a phone: then its counter stays 0. Default: false. */
  isSynced?: boolean;
};

type Credential = {
  id: Buffer;
  privateKey: KeyObject;
  userHandle: Buffer;
  isDiscoverable: boolean;
};

const UP = 0x01;
const UV = 0x04;
const BE = 0x08;
const BS = 0x10;
const AT = 0x40;
const ES256 = -7;

export function createAuthenticator({
  rpId,
  origin,
  verifiesUser = true,
  isSynced = false,
}: AuthenticatorOptions): Authenticator {
  const credentials: Credential[] = [];
  let signCount = 0;

  const clientDataOf = (type: string, challenge: string, { clientData, clientDataText }: Tweaks): Buffer => {
    const text = JSON.stringify({ type, challenge, origin, crossOrigin: false, ...clientData });
    return Buffer.from(clientDataText ?? text);
  };

  const authenticatorDataOf = (
    wanted: string | undefined,
    attested: Buffer | null,
    tweaks: Tweaks,
  ): Buffer => {
    const {
      present = true,
      verified = verifiesUser && wanted !== 'discouraged',
      backupEligible = isSynced,
      backedUp = isSynced,
    } = tweaks;
    if (!isSynced) signCount += 1;
    const flags =
      (present ? UP : 0) |
      (verified ? UV : 0) |
      (backupEligible ? BE : 0) |
      (backedUp ? BS : 0) |
      (attested ? AT : 0);
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(tweaks.signCount ?? signCount);
    const parts = [sha256(tweaks.rpId ?? rpId), Buffer.from([flags]), counter];
    const whole = Buffer.concat([
      ...parts,
      attested ?? Buffer.alloc(0),
      tweaks.extraBytes ?? Buffer.alloc(0),
    ]);
    return whole.subarray(0, tweaks.authenticatorDataLength);
  };

  return {
    register({ challenge, user, authenticatorSelection = {} }, tweaks = {}) {
      const {
        format = 'none',
        credentialId = randomBytes(32),
        algorithm = ES256,
        aaguid = Buffer.alloc(16),
        transports = isSynced ? ['hybrid', 'internal'] : ['usb'],
        extraAttestationBytes = Buffer.alloc(0),
      } = tweaks;
      const isDiscoverable = authenticatorSelection.residentKey === 'required';
      const { rk } = { rk: isDiscoverable, ...tweaks };
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const userHandle = Buffer.from(user.id, 'base64url');
      credentials.push({ id: credentialId, privateKey, userHandle, isDiscoverable });

      const clientDataJSON = clientDataOf('webauthn.create', challenge, tweaks);
      const attested = Buffer.concat([
        aaguid,
        lengthOf(credentialId),
        credentialId,
        encodeCbor(coseKeyOf(publicKey, algorithm)),
      ]);
      const authData = authenticatorDataOf(authenticatorSelection.userVerification, attested, tweaks);
      const statement = new Map<string, Cbor>();
      if (format === 'packed') {
        statement.set('alg', algorithm);
        statement.set('sig', signatureOf(privateKey, authData, clientDataJSON, tweaks));
      }
      const attestation = encodeCbor(
        new Map<string, Cbor>([
          ['fmt', format],
          ['attStmt', statement],
          ['authData', authData],
        ]),
      );
      return {
        ...namesOf(credentialId),
        response: {
          clientDataJSON: clientDataJSON.toString('base64url'),
          attestationObject: Buffer.concat([attestation, extraAttestationBytes]).toString('base64url'),
          transports,
        },
        clientExtensionResults: rk === undefined ? {} : { credProps: { rk } },
      };
    },

    assert({ challenge, userVerification, allowCredentials }, tweaks = {}) {
      const wanted = tweaks.credentialId
        ? [tweaks.credentialId]
        : allowCredentials?.map(({ id }) => Buffer.from(id, 'base64url'));
      const credential = credentials.findLast(({ id, isDiscoverable }) =>
        wanted ? wanted.some((each) => each.equals(id)) : isDiscoverable,
      );
      if (!credential) throw new Error('The authenticator has no such credential.');
      const { id, privateKey, isDiscoverable } = credential;
      const { userHandle = isDiscoverable ? credential.userHandle : null } = tweaks;
      const clientDataJSON = clientDataOf('webauthn.get', challenge, tweaks);
      const authenticatorData = authenticatorDataOf(userVerification, null, tweaks);
      const signature = signatureOf(privateKey, authenticatorData, clientDataJSON, tweaks);
      return {
        ...namesOf(id),
        response: {
          clientDataJSON: clientDataJSON.toString('base64url'),
          authenticatorData: authenticatorData.toString('base64url'),
          signature: signature.toString('base64url'),
          ...(userHandle === null ? {} : { userHandle: userHandle.toString('base64url') }),
        },
        clientExtensionResults: {},
      };
    },
  };
}

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();

function namesOf(credentialId: Buffer) {
  const id = credentialId.toString('base64url');
  return { id, rawId: id, type: 'public-key' as const };
}

function lengthOf(bytes: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return length;
}

/** Returns the COSE_Key (RFC 9053, section 7.1): key type EC2, algorithm, curve P-256 and the point. */
function coseKeyOf(publicKey: KeyObject, algorithm: number): Map<number, Cbor> {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  return new Map<number, Cbor>([
    [1, 2],
    [3, algorithm],
    [-1, 1],
    [-2, Buffer.from(x, 'base64url')],
    [-3, Buffer.from(y, 'base64url')],
  ]);
}

function signatureOf(
  privateKey: KeyObject,
  authenticatorData: Buffer,
  clientData: Buffer,
  { wrongSignature = false }: Tweaks,
): Buffer {
  const key = wrongSignature ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey : privateKey;
  return sign('sha256', Buffer.concat([authenticatorData, sha256(clientData)]), key);
}
