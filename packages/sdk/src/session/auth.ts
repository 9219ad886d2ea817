// Signing in and out, and the account of the person at the browser. Tokens go to the session, never to the caller.
import type { Login, PasswordPolicy, PasswordResetConfirm, Register, User, VerifyEmail } from '../api.ts';
import type { CallOptions, InputOf, Operation, ResultOf } from '../calls/operations.ts';
import { CastellanError } from '../errors.ts';
import type { ServiceFetch } from './service-fetch.ts';
import type { Session, SessionEvent, SessionState } from './session.ts';

export type Auth = {
  readonly state: SessionState;
  /** The id of the signed-in user; null if nobody is. */
  readonly subject: string | null;
  /** Calls the listener after each change, in this or another tab. Returns the function that ends it. */
  subscribe(listener: (event: SessionEvent) => void): () => void;
  /**
   * Continues the session of this browser. Call it when the app starts. It sends nothing if there is no session, or if
   * another tab has the access token. Rejects, and leaves the state `unknown`, if the service cannot be reached.
   */
  restore(): Promise<SessionState>;
  signIn(credentials: Login, options?: CallOptions): Promise<User>;
  /** Ends this session, in this browser even if the call fails. */
  signOut(options?: CallOptions): Promise<void>;
  /** Ends every session of the user, in this browser even if the call fails. */
  signOutEverywhere(options?: CallOptions): Promise<void>;
  /** Ends every session of the user and starts a new one here. */
  changePassword(
    passwords: { current_password: string; new_password: string },
    options?: CallOptions,
  ): Promise<User>;
  /** Sends a mail with a link that verifies the email. Signing in works after that. */
  register(account: Register, options?: CallOptions): Promise<User>;
  verifyEmail(link: VerifyEmail, options?: CallOptions): Promise<User>;
  resendVerificationEmail(email: string, options?: CallOptions): Promise<void>;
  /** Sends a mail with a link to set a new password, if an active account has this email. */
  requestPasswordReset(email: string, options?: CallOptions): Promise<void>;
  /** Ends every session of the user. */
  resetPassword(reset: PasswordResetConfirm, options?: CallOptions): Promise<void>;
  passwordPolicy(options?: CallOptions): Promise<PasswordPolicy>;
  /**
   * Calls one of your services with the access token. It is like the global `fetch`, and replaces a token that has expired. Only
   * the origin of the page and those of the option `services` get the token; a redirect is an error.
   */
  fetch: ServiceFetch;
};

type Run = <O extends Operation>(operation: O, input: InputOf<O>) => Promise<ResultOf<O>>;

export function createAuth(session: Session, run: Run, fetch: ServiceFetch): Auth {
  async function end(
    operation: 'POST /api/v1/auth/logout' | 'POST /api/v1/auth/logout/all',
    options: CallOptions,
  ): Promise<void> {
    const key = session.currentKey();
    try {
      if (key !== null || session.token !== null) await run(operation, options);
    } catch (error) {
      // Without a session there is nothing left to end.
      if (!(error instanceof CastellanError) || error.status !== 401) throw error;
    } finally {
      session.end(key, 'signed_out');
    }
  }

  async function begin<O extends 'POST /api/v1/auth/login' | 'POST /api/v1/auth/change_password'>(
    operation: O,
    input: InputOf<O>,
  ): Promise<User> {
    const { data } = await run(operation, input);
    session.begin(data.access_token);
    return data.user;
  }

  return {
    get state() {
      return session.state;
    },
    get subject() {
      return session.subject;
    },
    subscribe: (listener) => session.subscribe(listener),
    restore: () => session.restore(),
    signIn: (body, options = {}) =>
      session.inTurn(() => begin('POST /api/v1/auth/login', { ...options, body }), options.signal),
    signOut: (options = {}) => session.inTurn(() => end('POST /api/v1/auth/logout', options)),
    signOutEverywhere: (options = {}) => session.inTurn(() => end('POST /api/v1/auth/logout/all', options)),
    changePassword: (body, options = {}) =>
      session.inTurn(() => begin('POST /api/v1/auth/change_password', { ...options, body }), options.signal),
    register: async (body, options) => (await run('POST /api/v1/auth/register', { ...options, body })).data,
    verifyEmail: async (body, options) =>
      (await run('POST /api/v1/auth/verify-email', { ...options, body })).data,
    resendVerificationEmail: async (email, options) => {
      await run('POST /api/v1/auth/resend-verification-email', { ...options, body: { email } });
    },
    requestPasswordReset: async (email, options) => {
      await run('POST /api/v1/auth/password-reset/request', { ...options, body: { email } });
    },
    resetPassword: async (body, options) => {
      await run('POST /api/v1/auth/password-reset/confirm', { ...options, body });
    },
    passwordPolicy: async (options) => (await run('GET /api/v1/auth/password-policy', { ...options })).data,
    fetch,
  };
}
