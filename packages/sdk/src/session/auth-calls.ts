// How the parts of `auth` call the service. It must hold no code.
import type { User } from '../api.ts';
import type { CallOptions } from '../calls/operations.ts';
import type { AuthOperations } from './factor-operations.ts';

type AuthOperation = keyof AuthOperations;
type AuthInput<O extends AuthOperation> = Pick<
  AuthOperations[O],
  Extract<keyof AuthOperations[O], 'path' | 'body'>
> &
  CallOptions;

/** Operations that start a session. */
type SigningIn =
  | 'POST /api/v1/auth/login'
  | 'POST /api/v1/auth/login/second-factor'
  | 'POST /api/v1/auth/login/passkey'
  | 'POST /api/v1/auth/change_password';

/** Operations that return new tokens of the session. */
type Renewing = {
  [O in AuthOperation]: AuthOperations[O]['result'] extends {
    data: { access_token: string; refresh_token: string };
  }
    ? O
    : never;
}[AuthOperation];

type DataOf<O extends AuthOperation> = AuthOperations[O]['result']['data'];
type TokenName = 'access_token' | 'token_type' | 'refresh_token';

export type AuthCalls = {
  /** Returns the `data` of the result. */
  run<O extends AuthOperation>(operation: O, input?: AuthInput<O>): Promise<DataOf<O>>;
  /** Runs the operation in turn, and adopts the new session. */
  begin<O extends SigningIn>(operation: O, input: AuthInput<O>): Promise<User>;
  /** Runs the operation, and adopts the new tokens of the session. Returns the rest. */
  renew<O extends Renewing>(operation: O, input?: AuthInput<O>): Promise<Omit<DataOf<O>, TokenName>>;
};
