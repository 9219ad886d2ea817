// Schemas of passkeys and security keys: what browsers exchange (Web Authentication Level 3, section 5.1), and the records.
// No schema of an answer may contain a public key or a counter.
import Type from 'typebox';
import { Nullable, Timestamp, Uuid } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';
import { PasskeyDescriptor, PasskeyRequestOptions } from './passkey-options.ts';

export const PasskeyKind = Type.Enum(['passkey', 'security_key'], {
  description: '`passkey`: signs in alone, or after the password. `security_key`: after the password only.',
});

const Base64url = Type.String({ minLength: 1, description: 'base64url, without padding.' });
const credential = { id: Base64url, rawId: Base64url, type: Type.Literal('public-key') };
/** Browsers add members, which are ignored. */
const Extensions = Type.Object({}, { additionalProperties: true });

export const PasskeyAssertion = Type.Object(
  {
    ...credential,
    response: Type.Object({
      clientDataJSON: Base64url,
      authenticatorData: Base64url,
      signature: Base64url,
      userHandle: Type.Optional(Base64url),
    }),
    clientExtensionResults: Extensions,
  },
  {
    title: 'PasskeyAssertion',
    description:
      'What the browser answers to the options: `credential.toJSON()` of `navigator.credentials.get()`.',
  },
);

export const PasskeyRegistration = Type.Object(
  {
    ...credential,
    response: Type.Object({
      clientDataJSON: Base64url,
      attestationObject: Base64url,
      transports: Type.Optional(Type.Array(Type.String())),
    }),
    clientExtensionResults: Extensions,
  },
  {
    title: 'PasskeyRegistration',
    description:
      'What the browser answers to the options: `credential.toJSON()` of `navigator.credentials.create()`.',
  },
);

export const PasskeyCreationOptions = Type.Object(
  {
    challenge: Type.String(),
    rp: Type.Object({ id: Type.String(), name: Type.String() }),
    user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
    pubKeyCredParams: Type.Array(Type.Object({ type: Type.Literal('public-key'), alg: Type.Integer() })),
    timeout: Type.Integer(),
    excludeCredentials: Type.Array(PasskeyDescriptor),
    authenticatorSelection: Type.Object({
      residentKey: Type.Enum(['required', 'discouraged']),
      requireResidentKey: Type.Boolean(),
      userVerification: Type.Enum(['required', 'discouraged']),
    }),
    hints: Type.Optional(Type.Array(Type.Literal('security-key'))),
    attestation: Type.Literal('none'),
    extensions: Type.Object({ credProps: Type.Literal(true) }),
  },
  {
    title: 'PasskeyCreationOptions',
    description:
      'For `PublicKeyCredential.parseCreationOptionsFromJSON()` and `navigator.credentials.create()`.',
  },
);

export const Passkey = Type.Object(
  {
    id: Uuid,
    kind: PasskeyKind,
    name: Type.String(),
    rp_id: Type.String({ description: 'The domain that it is bound to.' }),
    usable: Type.Boolean({
      description: 'False if it is bound to a domain that this service does not use.',
    }),
    created_at: Timestamp,
    last_used_at: Nullable(Timestamp),
    backed_up: Type.Boolean({ description: 'Whether it is synced to further devices.' }),
    transports: Type.Array(Type.String(), {
      description: 'How the browser reaches it: `internal`, `hybrid`, `usb`, `nfc`, `ble` or others.',
    }),
  },
  { title: 'Passkey' },
);
export type Passkey = Type.Static<typeof Passkey>;
export const PasskeyEnvelope = DataEnvelope(Passkey);

/** The server refuses names of more than 100 characters after normalization, and markup. */
const NameOfPasskey = (description: string) =>
  Type.String({ minLength: 1, maxLength: 400, description, examples: ['Work laptop'] });

export const PasskeyParams = Type.Object({ passkey_id: Uuid });
export const RenamePasskeyBody = Type.Object(
  { name: NameOfPasskey('1 to 100 characters, no markup.') },
  { title: 'RenamePasskey' },
);

export const NewPasskeyOptionsBody = Type.Object(
  { kind: PasskeyKind },
  { title: 'NewPasskeyOptionsRequest' },
);
export const NewPasskeyOptionsEnvelope = DataEnvelope(
  Type.Object({ passkey: PasskeyCreationOptions, expires_at: Timestamp }, { title: 'NewPasskeyOptions' }),
);

export const NewPasskeyBody = Type.Object(
  {
    kind: PasskeyKind,
    name: Type.Optional(
      NameOfPasskey('1 to 100 characters, no markup. Default: the browser and the system.'),
    ),
    passkey: PasskeyRegistration,
  },
  { title: 'NewPasskey' },
);
export type NewPasskeyBody = Type.Static<typeof NewPasskeyBody>;

export const SignInPasskeyOptionsBody = Type.Object({}, { title: 'SignInPasskeyOptionsRequest' });
export const SignInPasskeyOptionsEnvelope = DataEnvelope(
  Type.Object({ passkey: PasskeyRequestOptions, expires_at: Timestamp }, { title: 'SignInPasskeyOptions' }),
);

export const SignInPasskeyBody = Type.Object({ passkey: PasskeyAssertion }, { title: 'SignInWithPasskey' });

export const SignInMethods = Type.Object(
  {
    password: Type.Literal(true),
    passkey: Type.Object({
      available: Type.Boolean({ description: 'Whether a passkey signs in without the password.' }),
      rp_id: Nullable(Type.String({ description: 'Null if this address cannot have passkeys.' })),
      reason: Nullable(
        Type.Enum(['off', 'address'], {
          description: '`off`: PASSKEY_SIGN_IN. `address`: browsers offer no passkeys at PUBLIC_URL.',
        }),
      ),
    }),
    trusted_device_days: Type.Integer({
      description: 'How long a device can be trusted after a second factor; 0 for never.',
    }),
  },
  { title: 'SignInMethods' },
);
export type SignInMethods = Type.Static<typeof SignInMethods>;
export const SignInMethodsEnvelope = DataEnvelope(SignInMethods);

/** Web Authentication Level 3, section 5.11: no envelope. */
export const RelatedOrigins = Type.Object(
  { origins: Type.Array(Type.String()) },
  { title: 'RelatedOrigins' },
);
