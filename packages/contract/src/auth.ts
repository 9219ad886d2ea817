// Bodies and answers of /auth.
// It must not decide a rule: which status an input earns is the server's business.
import Type from 'typebox';
import { EmailInput, PasswordInput, PersonNameInput } from './common.ts';
import { DataEnvelope } from './envelope.ts';
import { User } from './users.ts';

const TokenInput = Type.String({ minLength: 1, maxLength: 4096 });
/** Any text: what is no token of ours is an invalid link, however it is misshapen. */
const MailedTokenInput = Type.String();

export const LoginBody = Type.Object({ email: EmailInput, password: PasswordInput }, { title: 'Login' });
export type LoginBody = Type.Static<typeof LoginBody>;

export const RegisterBody = Type.Object(
  {
    email: EmailInput,
    password: PasswordInput,
    first_name: PersonNameInput('Ada'),
    last_name: PersonNameInput('Lovelace'),
  },
  { title: 'Register' },
);
export type RegisterBody = Type.Static<typeof RegisterBody>;

export const EmailBody = Type.Object({ email: EmailInput }, { title: 'EmailOnly' });
export type EmailBody = Type.Static<typeof EmailBody>;

export const VerifyEmailBody = Type.Object({ token: MailedTokenInput }, { title: 'VerifyEmail' });

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

export const LoginEnvelope = DataEnvelope(
  Type.Object(
    { access_token: Type.String(), token_type: TokenType, refresh_token: Type.String(), user: User },
    { title: 'LoginData' },
  ),
);
export const TokenPairEnvelope = DataEnvelope(TokenPair);
export const AccessTokenEnvelope = DataEnvelope(
  Type.Object({ access_token: Type.String(), token_type: TokenType }, { title: 'AccessToken' }),
);
export const CsrfTokenEnvelope = DataEnvelope(
  Type.Object({ csrf_token: Type.String() }, { title: 'CsrfToken' }),
);
