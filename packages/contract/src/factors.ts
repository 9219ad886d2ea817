// Schemas of second factors: the second step of a sign-in, a person's own factors, and step-up.
// No schema here may contain a stored secret, a credential id, a public key or a counter.
import Type from 'typebox';
import { AcrValue } from './authentication.ts';
import { Nullable, PasswordInput, Timestamp } from './http/common.ts';
import { DataEnvelope } from './http/envelope.ts';
import { PasskeyRequestOptions } from './passkeys/passkey-options.ts';
import { Passkey, PasskeyAssertion } from './passkeys/passkeys.ts';

/** The number of recovery codes that an account gets at once. */
export const RECOVERY_CODES = 10;

/** Six digits; blanks inside are removed. */
export const TotpInput = Type.String({
  pattern: '^[0-9 ]*$',
  minLength: 6,
  maxLength: 16,
  description: 'The six digits that the app shows.',
  examples: ['492 039'],
});
export const RecoveryCodeInput = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'One of the recovery codes, in any spelling: case, blanks and hyphens do not count.',
  examples: ['7KQ2-9TBX-4MVW-1D8P'],
});
const PendingToken = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: '`second_factor.token` of the refused sign-in.',
});

const RecoveryTokenInput = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: 'The token of the recovery link, after an administrator reset the factors.',
});

/** What proves a second factor. Exactly one of them. */
const proofFields = {
  totp: Type.Optional(TotpInput),
  recovery_code: Type.Optional(RecoveryCodeInput),
  passkey: Type.Optional(PasskeyAssertion),
};

export const SecondFactorBody = Type.Object(
  {
    token: PendingToken,
    ...proofFields,
    recovery_token: Type.Optional(RecoveryTokenInput),
    trust_device: Type.Optional(
      Type.Boolean({
        description:
          'For `TRUSTED_DEVICE_DAYS` the password alone signs in on this device. Ignored where `may_trust_device` is false.',
      }),
    ),
  },
  {
    title: 'SecondFactor',
    description: 'Exactly one proof.',
    examples: [{ token: 'q2wZ0mJt8QyJm1sVhXb3c7D4uK5nRf6gTa9eLpYxWoI', totp: '492039' }],
  },
);
export type SecondFactorBody = Type.Static<typeof SecondFactorBody>;

export const RecoveryMailBody = Type.Object({ token: PendingToken }, { title: 'RecoveryMail' });

export const TotpFactor = Type.Object(
  {
    created_at: Timestamp,
    last_used_at: Nullable(Timestamp),
    suspended: Type.Boolean({
      description: 'True after too many wrong codes in a row: set the app up anew.',
    }),
  },
  { title: 'TotpFactor' },
);

export const RecoveryCodesState = Type.Object(
  { left: Type.Integer({ description: 'Unused codes.' }), created_at: Timestamp },
  { title: 'RecoveryCodesState' },
);

export const AuthenticationContext = Type.Object(
  {
    acr: AcrValue,
    auth_time: Type.String({
      format: 'date-time',
      description: 'When the holder of this token last proved who they are.',
    }),
  },
  { title: 'AuthenticationContext' },
);

export const AccountRequirement = Type.Object(
  {
    required_acr: AcrValue,
    enforced_from: Nullable(Timestamp),
    met: Type.Boolean({ description: 'Whether a factor of the account reaches the level.' }),
  },
  {
    title: 'AccountRequirement',
    description: 'What the roles of the account and the settings require, now or from a time on.',
  },
);
export type AccountRequirement = Type.Static<typeof AccountRequirement>;

export const Factors = Type.Object(
  {
    totp: Nullable(TotpFactor),
    passkeys: Type.Array(Passkey),
    recovery_codes: Nullable(RecoveryCodesState),
    available: Type.Object(
      { totp: Type.Boolean(), passkey: Type.Boolean(), security_key: Type.Boolean() },
      { title: 'AvailableFactors', description: 'What can be set up here.' },
    ),
    requirement: Nullable(AccountRequirement),
    context: AuthenticationContext,
  },
  { title: 'Factors' },
);
export type Factors = Type.Static<typeof Factors>;
export const FactorsEnvelope = DataEnvelope(Factors);

const tokens = {
  access_token: Type.String(),
  token_type: Type.Literal('bearer'),
  refresh_token: Type.String(),
};
export const recoveryCodes = Type.Array(Type.String(), {
  description: 'Shown here once. Each signs in once, in the place of a factor.',
});

/** The answer to a change of one's own factors: the tokens replace those of the session. */
export const ChangedFactors = Type.Object(
  { factors: Factors, recovery_codes: Type.Optional(recoveryCodes), ...tokens },
  { title: 'ChangedFactors' },
);
export type ChangedFactors = Type.Static<typeof ChangedFactors>;
export const ChangedFactorsEnvelope = DataEnvelope(ChangedFactors);
export const AddedPasskeyEnvelope = DataEnvelope(
  Type.Object({ ...ChangedFactors.properties, passkey: Passkey }, { title: 'AddedPasskey' }),
);

export const TotpEnrolment = Type.Object(
  {
    secret: Type.String({ description: 'Base32, for typing into the app. Never shown again.' }),
    uri: Type.String({ description: 'For a QR code: `otpauth://totp/…`.' }),
    algorithm: Type.Literal('SHA1'),
    digits: Type.Literal(6),
    period: Type.Literal(30),
    expires_at: Timestamp,
  },
  { title: 'TotpEnrolment' },
);
export type TotpEnrolment = Type.Static<typeof TotpEnrolment>;
export const TotpEnrolmentEnvelope = DataEnvelope(TotpEnrolment);

export const ConfirmTotpBody = Type.Object({ totp: TotpInput }, { title: 'ConfirmTotp' });

export const RecoveryCodesEnvelope = DataEnvelope(
  Type.Object({ recovery_codes: recoveryCodes }, { title: 'RecoveryCodes' }),
);

export const StepUpOptionsBody = Type.Object(
  { acr: Type.Optional(AcrValue) },
  { title: 'StepUpOptionsRequest' },
);
export type StepUpOptionsBody = Type.Static<typeof StepUpOptionsBody>;

export const StepUpOptions = Type.Object(
  {
    methods: Type.Array(Type.Enum(['passkey', 'totp', 'recovery_code', 'password']), {
      description:
        'Ways that reach the level, the likeliest first. `password` only for an account that has one and no factor.',
    }),
    passkey: Type.Optional(PasskeyRequestOptions),
    expires_at: Timestamp,
  },
  { title: 'StepUpOptions' },
);
export type StepUpOptions = Type.Static<typeof StepUpOptions>;
export const StepUpOptionsEnvelope = DataEnvelope(StepUpOptions);

export const StepUpBody = Type.Object(
  { password: Type.Optional(PasswordInput), ...proofFields },
  { title: 'StepUp', description: 'Exactly one proof.', examples: [{ totp: '492039' }] },
);
export type StepUpBody = Type.Static<typeof StepUpBody>;

export const SteppedUpEnvelope = DataEnvelope(
  Type.Object({ ...tokens, ...AuthenticationContext.properties }, { title: 'SteppedUp' }),
);
