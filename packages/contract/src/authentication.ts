// The levels of authentication and the proofs that reach them: the values of `acr` and `amr` on the wire.
// Sources: RFC 8176 (amr), OpenID Connect EAP ACR Values 1.0 (phr), NIST SP 800-63B (aal).
import Type from 'typebox';
import { Nullable, Timestamp } from './http/common.ts';
import { PasskeyRequestOptions } from './passkeys/passkey-options.ts';

/** From the weakest to the strongest. `phr`: a proof that cannot be phished. */
export const acrValues = ['aal1', 'aal2', 'phr'] as const;
export type Acr = (typeof acrValues)[number];

export const AcrValue = Type.Enum([...acrValues]);

/** Returns whether a proof of this level is enough where `required` is asked for. */
export const reaches = (acr: Acr, required: Acr): boolean =>
  acrValues.indexOf(acr) >= acrValues.indexOf(required);

/** The levels that would do, in ascending order. */
export const levelsFrom = (required: Acr): Acr[] => acrValues.filter((acr) => reaches(acr, required));

/** The levels that this one reaches, in ascending order. */
export const levelsUpTo = (acr: Acr): Acr[] => acrValues.filter((one) => reaches(acr, one));

/** How a session can begin, with its level and its methods. */
export const proofs = {
  password: { acr: 'aal1', amr: ['pwd'] },
  'password+device': { acr: 'aal1', amr: ['pwd'] },
  /** Renewed in a session that began on a trusted device, whose trust has ended. */
  'password+session': { acr: 'aal1', amr: ['pwd'] },
  'password+recovery_link': { acr: 'aal1', amr: ['pwd'] },
  'password+totp': { acr: 'aal2', amr: ['pwd', 'otp', 'mfa'] },
  'password+recovery_code': { acr: 'aal2', amr: ['pwd', 'mfa'] },
  'password+passkey': { acr: 'phr', amr: ['pwd', 'pop', 'user', 'mfa'] },
  passkey: { acr: 'phr', amr: ['pop', 'user', 'mfa'] },
  /** `fed`: another issuer vouches for the person. It is in no registry; Microsoft's issuers use it. */
  provider: { acr: 'aal1', amr: ['fed'] },
  'provider+device': { acr: 'aal1', amr: ['fed'] },
  'provider+session': { acr: 'aal1', amr: ['fed'] },
  'provider+recovery_link': { acr: 'aal1', amr: ['fed'] },
  /** The provider asked for a second factor, which its record says counts here. */
  'provider+mfa': { acr: 'aal2', amr: ['fed', 'mfa'] },
  'provider+totp': { acr: 'aal2', amr: ['fed', 'otp', 'mfa'] },
  'provider+recovery_code': { acr: 'aal2', amr: ['fed', 'mfa'] },
  'provider+passkey': { acr: 'phr', amr: ['fed', 'pop', 'user', 'mfa'] },
} as const satisfies Record<string, { acr: Acr; amr: readonly string[] }>;
export type Proof = keyof typeof proofs;

/** What `methods` of a session names, by its proof. A session renewed after its trust ended began on a device, too. */
export const sessionMethods = {
  password: ['password'],
  'password+device': ['password', 'device'],
  'password+session': ['password', 'device'],
  'password+recovery_link': ['password', 'recovery_link'],
  'password+totp': ['password', 'totp'],
  'password+recovery_code': ['password', 'recovery_code'],
  'password+passkey': ['password', 'passkey'],
  passkey: ['passkey'],
  provider: ['provider'],
  'provider+device': ['provider', 'device'],
  'provider+session': ['provider', 'device'],
  'provider+recovery_link': ['provider', 'recovery_link'],
  'provider+mfa': ['provider'],
  'provider+totp': ['provider', 'totp'],
  'provider+recovery_code': ['provider', 'recovery_code'],
  'provider+passkey': ['provider', 'passkey'],
} as const satisfies Record<Proof, readonly string[]>;

export const isProof = (text: string): text is Proof => Object.hasOwn(proofs, text);

/** In the order in which they are offered when nothing else decides. */
export const factorMethods = ['passkey', 'totp', 'recovery_code', 'recovery_link'] as const;
export type FactorMethod = (typeof factorMethods)[number];

/** Member `second_factor` of the 422 that follows the right password of an account with a factor. */
export const SecondFactorRequest = Type.Object(
  {
    token: Type.String({
      description: 'For `POST /api/v1/auth/login/second-factor`, from this browser only.',
    }),
    expires_at: Timestamp,
    methods: Type.Array(Type.Enum([...factorMethods]), {
      description: 'Ways that work now, the likeliest first.',
    }),
    passkey: Type.Optional(PasskeyRequestOptions),
    may_trust_device: Type.Boolean({ description: 'Whether `trust_device` counts.' }),
  },
  { title: 'SecondFactorRequest' },
);
export type SecondFactorRequest = Type.Static<typeof SecondFactorRequest>;

/** Member `step_up` of a 403. */
export const StepUpRequest = Type.Object(
  {
    required_acr: AcrValue,
    max_age: Nullable(Type.Integer({ description: 'Seconds since the proof.' })),
  },
  { title: 'StepUpRequest' },
);
export type StepUpRequest = Type.Static<typeof StepUpRequest>;
