// What a client needs of a browser for passkeys. The entry `passkeys` has it, so that other clients carry no code for it.
import type { Passkey, PasskeyAssertion, PasskeyRequestOptions, User } from '../api.ts';
import type { CallOptions } from '../calls/operations.ts';
import type { AuthCalls, FactorsChange } from './auth-calls.ts';

export type PasskeySignInOptions = CallOptions & {
  /** Offers passkeys in the suggestions of a field with `autocomplete="username webauthn"`, instead of in a dialog. */
  conditional?: boolean | undefined;
};

export type PasskeyToAdd = {
  /** Default: `passkey`. */
  kind?: Passkey['kind'] | undefined;
  /** Default: the browser and its system. */
  name?: string | undefined;
};

/** The passkeys and security keys of the signed-in user. */
export type OwnPasskeys = {
  /** Lets the browser make one. Rejects with `passkey_cancelled`, `passkey_unsupported`, `passkey_taken` or a code of the service. */
  add(passkey?: PasskeyToAdd, options?: CallOptions): Promise<FactorsChange & { passkey: Passkey }>;
  rename(id: string, name: string, options?: CallOptions): Promise<Passkey>;
  remove(id: string, options?: CallOptions): Promise<FactorsChange>;
};

export type Ceremonies = {
  /**
   * Asks for a passkey or security key, for `auth.completeSignIn` or `auth.stepUp`. Rejects with `passkey_cancelled`,
   * `passkey_unsupported` or the reason of the signal.
   */
  get(
    request: PasskeyRequestOptions,
    options?: { signal?: AbortSignal | undefined },
  ): Promise<PasskeyAssertion>;
  /** For `auth.signInWithPasskey`. */
  signIn(calls: AuthCalls, options?: PasskeySignInOptions): Promise<User>;
  /** For `auth.factors.passkeys`. */
  own(calls: AuthCalls): OwnPasskeys;
};
