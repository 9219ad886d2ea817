// How the parts of `auth` call the service. It must hold no code.
import type { ChangedFactors, Operations, User } from '../api.ts';
import type { InputOf, Operation } from '../calls/operations.ts';

type AuthOperation = Extract<
  Operation,
  `${string} /api/v1/auth/${string}` | `${string} /api/v1/users/me/${'applications' | 'identities'}${string}`
>;

/** Operations whose result has `data`. The others return no more than a message. */
type Telling = {
  [O in AuthOperation]: Operations[O]['result'] extends { data: unknown } ? O : never;
}[AuthOperation];

type DataOf<O extends Telling> = Operations[O]['result']['data'];

/** Operations that start a session. */
type SigningIn =
  | 'POST /api/v1/auth/login'
  | 'POST /api/v1/auth/login/second-factor'
  | 'POST /api/v1/auth/login/passkey'
  | 'POST /api/v1/auth/change_password';

/** Operations that return new tokens of the session. */
type Renewing = {
  [O in Telling]: DataOf<O> extends { access_token: string; refresh_token: string } ? O : never;
}[Telling];

type TokenName = 'access_token' | 'token_type' | 'refresh_token';

/** What a change of the factors returns. `recovery_codes` come with the first factor only, and are shown once. */
export type FactorsChange = Omit<ChangedFactors, TokenName>;

export type AuthCalls = {
  /** Returns the `data` of the result. */
  run: {
    <O extends Telling>(operation: O, input?: InputOf<O>): Promise<DataOf<O>>;
    <O extends Exclude<AuthOperation, Telling>>(operation: O, input?: InputOf<O>): Promise<void>;
  };
  /** Runs the operation in turn, and adopts the new session. */
  begin<O extends SigningIn>(operation: O, input: InputOf<O>): Promise<User>;
  /** Runs the operation, and adopts the new tokens of the session. Returns the rest. */
  renew<O extends Renewing>(operation: O, input?: InputOf<O>): Promise<Omit<DataOf<O>, TokenName>>;
};
