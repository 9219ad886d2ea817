// Signing in and out, and the account of the person at the browser. Tokens go to the session, never to the caller.
import type {
  AccessWithdrawn,
  IdentityDisconnected,
  Login,
  OwnApplication,
  OwnIdentities,
  PasswordPolicy,
  PasswordResetConfirm,
  PublicIdentityProvider,
  Redirect,
  Register,
  SecondFactor,
  StartProvider,
  SteppedUp,
  StepUp,
  StepUpOptions,
  User,
  VerifyEmail,
} from '../api.ts';
import type { CallOptions } from '../calls/operations.ts';
import { CastellanError } from '../errors.ts';
import type { Acr } from '../levels.ts';
import type { AuthCalls } from './auth-calls.ts';
import type { Ceremonies, PasskeySignInOptions } from './ceremonies.ts';
import { createFactors, type OwnFactorCalls } from './factors.ts';
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
  /**
   * Rejects with `second_factor_required` if the password is right and the account has a second factor: complete the sign-in with
   * `error.secondFactor.token`.
   */
  signIn(credentials: Login, options?: CallOptions): Promise<User>;
  /**
   * Takes the second step of a sign-in. After `second_factor_invalid` it can be tried again; after `sign_in_expired`, sign in from
   * the start.
   */
  completeSignIn(proof: SecondFactor, options?: CallOptions): Promise<User>;
  /**
   * Signs in with a passkey and without a password. Needs the option `passkeys` of the client. Rejects with `passkey_cancelled`,
   * `passkey_unsupported` or a code of the service. With `conditional` it waits until somebody picks a passkey, or `signal` aborts.
   */
  signInWithPasskey(options?: PasskeySignInOptions): Promise<User>;
  /** Reads how the signed-in user can prove a level, or any that suffices. */
  stepUpWays(acr?: Acr, options?: CallOptions): Promise<StepUpOptions>;
  /** Proves again who the signed-in user is. The session goes on, in every tab, with tokens that carry the proof. */
  stepUp(proof: StepUp, options?: CallOptions): Promise<Pick<SteppedUp, 'acr' | 'auth_time'>>;
  /** The second factors of the signed-in user. */
  readonly factors: OwnFactorCalls;
  /**
   * Ends this session, in this browser even if the call fails. If the session began at a provider that people are signed out of, too, returns
   * its address: send the browser there.
   */
  signOut(options?: CallOptions): Promise<string | undefined>;
  /** Ends every session of the user, in this browser even if the call fails. */
  signOutEverywhere(options?: CallOptions): Promise<void>;
  /** Ends every session of the user and starts a new one here. */
  changePassword(
    passwords: { current_password: string; new_password: string },
    options?: CallOptions,
  ): Promise<User>;
  /** Sends an operation that answers with new tokens of the session, and goes on with them. Returns the rest of its data. */
  renew: AuthCalls['renew'];
  /** Sends a mail with a link that verifies the email. Signing in works after that. */
  register(account: Register, options?: CallOptions): Promise<User>;
  verifyEmail(link: VerifyEmail, options?: CallOptions): Promise<User>;
  resendVerificationEmail(email: string, options?: CallOptions): Promise<void>;
  /** Sends a mail with a link to set a new password, if an active account has this email. */
  requestPasswordReset(email: string, options?: CallOptions): Promise<void>;
  /** Ends every session of the user. */
  resetPassword(reset: PasswordResetConfirm, options?: CallOptions): Promise<void>;
  passwordPolicy(options?: CallOptions): Promise<PasswordPolicy>;
  /** Lists the applications that the signed-in user signs in to with this account, or agreed to, by name. */
  applications(options?: CallOptions): Promise<OwnApplication[]>;
  /** Ends all access of an application to the account, and withdraws the consent. The user can sign in to it again. */
  endApplication(id: string, options?: CallOptions): Promise<AccessWithdrawn>;
  /** Lists the identity providers that the sign-in page shows, in its order. */
  providers(options?: CallOptions): Promise<PublicIdentityProvider[]>;
  /**
   * Begins a sign-in with a provider. Returns its address: send the browser there with `location.assign`. It comes back to the pages of
   * the service, which lead on to `next`, a path of the service's origin. Rejects with `provider_unavailable` while it does not answer.
   */
  startProvider(slug: string, purpose?: StartProvider, options?: CallOptions): Promise<string>;
  /** Lists the identities that the signed-in user signs in with, and the providers that can still be connected. */
  identities(options?: CallOptions): Promise<OwnIdentities>;
  /**
   * Begins to connect a provider to the account, like `startProvider`. Needs a fresh proof: see `auth.stepUp`. The service leads back to its page
   * of the account.
   */
  connect(slug: string, options?: CallOptions): Promise<string>;
  /**
   * Takes an identity away from the account, and ends the sessions that began with it. Needs a fresh proof. Rejects with
   * `last_sign_in_method` if there is no other way to sign in.
   */
  disconnect(id: string, options?: CallOptions): Promise<IdentityDisconnected>;
  /**
   * Calls one of your services with the access token. It is like the global `fetch`, and replaces a token that has expired. Only
   * the origin of the page and those of the option `services` get the token; a redirect is an error. If the service asks for a
   * stronger or newer proof (RFC 9470), the option `onStepUp` of the client is called.
   */
  fetch: ServiceFetch;
};

type Parts = { run: AuthCalls['run']; fetch: ServiceFetch; passkeys: Ceremonies | undefined };

export function createAuth(session: Session, { run, fetch, passkeys }: Parts): Auth {
  const ceremonies = (): Ceremonies => {
    if (passkeys) return passkeys;
    throw new TypeError('Pass passkeys to createClient.');
  };

  async function end(
    operation: 'POST /api/v1/auth/logout',
    options: CallOptions,
  ): Promise<string | undefined>;
  async function end(operation: 'POST /api/v1/auth/logout/all', options: CallOptions): Promise<void>;
  async function end(
    operation: 'POST /api/v1/auth/logout' | 'POST /api/v1/auth/logout/all',
    options: CallOptions,
  ): Promise<unknown> {
    const key = session.currentKey();
    try {
      // Only some answers have data, so the type of `run` promises none.
      if (key ?? session.token)
        return ((await run(operation, options)) as Partial<Redirect> | undefined)?.redirect_to;
    } catch (error) {
      // Without a session there is nothing left to end.
      if (!(error instanceof CastellanError) || error.status !== 401) throw error;
    } finally {
      session.end(key, 'signed_out');
    }
  }

  const calls: AuthCalls = {
    run,
    begin: (operation, input) =>
      session.inTurn(async () => {
        const { access_token, user } = await run(operation, input);
        session.begin(access_token);
        return user;
      }, input.signal),
    // Not in turn: it may wait for a step-up, which renews the session, too.
    async renew(operation, input) {
      const { access_token, token_type, refresh_token, ...rest } = await run(operation, input);
      if (session.subject === null) throw new CastellanError('session_changed', 'The session has ended.');
      session.begin(access_token);
      // The type of what is left of an operation's data, which the compiler cannot follow.
      return rest as never;
    },
  };
  const { begin, renew } = calls;

  return {
    get state() {
      return session.state;
    },
    get subject() {
      return session.subject;
    },
    subscribe: (listener) => session.subscribe(listener),
    restore: () => session.restore(),
    signIn: (body, options) => begin('POST /api/v1/auth/login', { ...options, body }),
    completeSignIn: (body, options) => begin('POST /api/v1/auth/login/second-factor', { ...options, body }),
    signInWithPasskey: async (options) => ceremonies().signIn(calls, options),
    stepUpWays: (acr, options) =>
      run('POST /api/v1/auth/step-up/options', { ...options, body: acr ? { acr } : {} }),
    stepUp: (body, options) => renew('POST /api/v1/auth/step-up', { ...options, body }),
    renew,
    factors: createFactors(calls, ceremonies),
    signOut: (options = {}) => session.inTurn(() => end('POST /api/v1/auth/logout', options)),
    signOutEverywhere: (options = {}) => session.inTurn(() => end('POST /api/v1/auth/logout/all', options)),
    changePassword: (body, options) => begin('POST /api/v1/auth/change_password', { ...options, body }),
    register: (body, options) => run('POST /api/v1/auth/register', { ...options, body }),
    verifyEmail: (body, options) => run('POST /api/v1/auth/verify-email', { ...options, body }),
    resendVerificationEmail: (email, options) =>
      run('POST /api/v1/auth/resend-verification-email', { ...options, body: { email } }),
    requestPasswordReset: (email, options) =>
      run('POST /api/v1/auth/password-reset/request', { ...options, body: { email } }),
    resetPassword: (body, options) => run('POST /api/v1/auth/password-reset/confirm', { ...options, body }),
    passwordPolicy: (options) => run('GET /api/v1/auth/password-policy', options),
    applications: (options) => run('GET /api/v1/users/me/applications', options),
    endApplication: (application_id, options) =>
      run('DELETE /api/v1/users/me/applications/{application_id}', { ...options, path: { application_id } }),
    providers: (options) => run('GET /api/v1/auth/providers', options),
    startProvider: async (slug, body = {}, options) =>
      (await run('POST /api/v1/auth/providers/{slug}/start', { ...options, path: { slug }, body }))
        .redirect_to,
    identities: (options) => run('GET /api/v1/users/me/identities', options),
    connect: async (provider, options) =>
      (await run('POST /api/v1/users/me/identities', { ...options, body: { provider } })).redirect_to,
    disconnect: (identity_id, options) =>
      run('DELETE /api/v1/users/me/identities/{identity_id}', { ...options, path: { identity_id } }),
    fetch,
  };
}
