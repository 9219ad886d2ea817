// Schemas of the request bodies and responses of /auth.
// They contain no rules: the server decides which error an input gets.
import Type from 'typebox';
import { UnmetRequirement } from './access/requirements.ts';
import { EmailInput, FirstNameInput, LastNameInput, PasswordInput } from './http/common.ts';
import { DataEnvelope } from './http/envelope.ts';
import { User } from './users.ts';

const TokenInput = Type.String({ minLength: 1, maxLength: 4096 });
/** Any text, so that a malformed token gets the error of an invalid link. */
const MailedTokenInput = Type.String();

export const LoginBody = Type.Object({ email: EmailInput, password: PasswordInput }, { title: 'Login' });
export type LoginBody = Type.Static<typeof LoginBody>;

export const RegisterBody = Type.Object(
  {
    email: EmailInput,
    password: PasswordInput,
    first_name: FirstNameInput,
    last_name: LastNameInput,
  },
  { title: 'Register' },
);
export type RegisterBody = Type.Static<typeof RegisterBody>;

export const EmailBody = Type.Object({ email: EmailInput }, { title: 'EmailOnly' });
export type EmailBody = Type.Static<typeof EmailBody>;

export const VerifyEmailBody = Type.Object(
  { token: MailedTokenInput, new_password: Type.Optional(PasswordInput) },
  {
    title: 'VerifyEmail',
    description:
      '`new_password` replaces the password chosen at registration and ends every session and mailed link of the account.',
  },
);
export type VerifyEmailBody = Type.Static<typeof VerifyEmailBody>;

export const DeclineRegistrationBody = Type.Object(
  { token: MailedTokenInput },
  { title: 'DeclineRegistration' },
);

export const CheckLinkBody = Type.Object(
  {
    purpose: Type.Enum([
      'verify_email',
      'reset_password',
      'invitation',
      'change_email',
      'revert_email',
      'undo_deletion',
    ]),
    token: MailedTokenInput,
  },
  { title: 'CheckLink' },
);
export type CheckLinkBody = Type.Static<typeof CheckLinkBody>;

export const ChangeEmailBody = Type.Object(
  {
    new_email: EmailInput,
    current_password: Type.Optional(PasswordInput),
  },
  {
    title: 'ChangeEmail',
    description:
      'Without `current_password`, and always for an account with a second factor, the caller must have confirmed who they are a moment ago.',
  },
);
export type ChangeEmailBody = Type.Static<typeof ChangeEmailBody>;

export const EmailLinkBody = Type.Object({ token: MailedTokenInput }, { title: 'EmailLink' });

export const ResetConfirmBody = Type.Object(
  { token: MailedTokenInput, new_password: PasswordInput },
  { title: 'PasswordResetConfirm' },
);
export type ResetConfirmBody = Type.Static<typeof ResetConfirmBody>;

export const ChangePasswordBody = Type.Object(
  { current_password: PasswordInput, new_password: PasswordInput },
  { title: 'ChangePassword' },
);
export type ChangePasswordBody = Type.Static<typeof ChangePasswordBody>;

export const RefreshBody = Type.Object({ refresh_token: TokenInput }, { title: 'Refresh' });

/** The cookie is read first; the body serves clients that keep no cookies. */
export const NewAccessTokenBody = Type.Union(
  [Type.Object({ refresh_token: Type.Optional(TokenInput) }), Type.Null()],
  { title: 'NewAccessToken' },
);

const TokenType = Type.Literal('bearer');

export const TokenPair = Type.Object(
  { access_token: Type.String(), token_type: TokenType, refresh_token: Type.String() },
  { title: 'TokenPair' },
);
export type TokenPair = Type.Static<typeof TokenPair>;

export const SignedOutEnvelope = Type.Object(
  {
    data: Type.Optional(
      Type.Object({
        redirect_to: Type.String({ description: 'Where to send the browser to sign out at the provider.' }),
      }),
    ),
    message: Type.String(),
  },
  { title: 'SignedOut' },
);

export const LoginEnvelope = DataEnvelope(
  Type.Object(
    {
      access_token: Type.String(),
      token_type: TokenType,
      refresh_token: Type.String(),
      user: User,
      second_factor: Type.Optional(UnmetRequirement),
    },
    { title: 'LoginData' },
  ),
);
export const TokenPairEnvelope = DataEnvelope(TokenPair);
export const AccessTokenEnvelope = DataEnvelope(
  Type.Object({ access_token: Type.String(), token_type: TokenType }, { title: 'AccessToken' }),
);
export const LinkState = Type.Object(
  {
    valid: Type.Boolean({ description: 'True if the token would be accepted now.' }),
    already_verified: Type.Boolean({
      description:
        'True for a verification link whose email address is already verified, for an invitation that was accepted, and for a link of a new email address that was confirmed and is still that of the account.',
    }),
    declinable: Type.Boolean({
      description: 'True for a verification link of a registration that can be declined.',
    }),
    email: Type.Optional(
      Type.String({
        description:
          'The email address of the account; for a link that changes it, the one that the account gets. Present only if `valid` is true.',
      }),
    ),
    first_name: Type.Optional(
      Type.String({
        description: 'Of a valid invitation. Empty if the invitation has no name.',
      }),
    ),
    last_name: Type.Optional(
      Type.String({
        description: 'Of a valid invitation. Empty if the invitation has no name.',
      }),
    ),
    passkey: Type.Optional(
      Type.Boolean({
        description: 'Of a valid invitation: whether a passkey can accept it, in the place of a password.',
      }),
    ),
  },
  { title: 'LinkState' },
);
export type LinkState = Type.Static<typeof LinkState>;
export const LinkStateEnvelope = DataEnvelope(LinkState);
export const passwordPolicyNames = ['spec', 'nist'] as const;
export type PasswordPolicyName = (typeof passwordPolicyNames)[number];

export const passwordRuleCodes = [
  'too_short',
  'too_long',
  'missing_uppercase',
  'missing_lowercase',
  'missing_digit',
  'missing_special',
  'too_common',
  'common',
  'breached',
  'sequential_run',
  'repeated_run',
  'too_weak',
  'reused',
] as const;
export type PasswordRuleCode = (typeof passwordRuleCodes)[number];

export const PasswordRule = Type.Object(
  {
    code: Type.Enum([...passwordRuleCodes]),
    message: Type.String({ description: 'The sentence with which a refusal reports the rule.' }),
    parameters: Type.Object(
      {
        min_length: Type.Optional(
          Type.Integer({ description: 'Unicode code points after normalization to NFC.' }),
        ),
        max_length: Type.Optional(
          Type.Integer({ description: 'Unicode code points after normalization to NFC.' }),
        ),
        pattern: Type.Optional(
          Type.String({
            description:
              'Matches a character that the password must contain: a regular expression of JavaScript with the flag `u`.',
          }),
        ),
        list_size: Type.Optional(Type.Integer({ description: 'Number of common passwords on the list.' })),
        run_length: Type.Optional(Type.Integer({ description: 'Length of the shortest refused run.' })),
        min_strength: Type.Optional(Type.Integer({ description: 'Minimum zxcvbn score, 1 to 4.' })),
        history_count: Type.Optional(
          Type.Integer({ description: 'Former passwords that are refused, besides the current one.' }),
        ),
      },
      { description: 'What the rule compares with. A rule has only its own parameters.' },
    ),
  },
  { title: 'PasswordRule' },
);
export type PasswordRule = Type.Static<typeof PasswordRule>;

export const PasswordPolicyEnvelope = DataEnvelope(
  Type.Object(
    {
      policy: Type.Enum([...passwordPolicyNames], {
        description: 'With `nist`, no rule is about kinds of characters or runs of them (NIST SP 800-63B).',
      }),
      rules: Type.Array(PasswordRule, { description: 'In the order in which a refusal reports them.' }),
    },
    { title: 'PasswordPolicy' },
  ),
);
export const CsrfTokenEnvelope = DataEnvelope(
  Type.Object({ csrf_token: Type.String() }, { title: 'CsrfToken' }),
);
