// Passkeys and security keys in browsers: the dialogs of the browser, and the suggestions of a sign-in field.
import type {
  PasskeyAssertion,
  PasskeyCreationOptions,
  PasskeyRegistration,
  PasskeyRequestOptions,
  User,
} from './api.ts';
import { CastellanError } from './errors.ts';
import { runAlone, unsupported } from './passkeys/dialog.ts';
import { renewalSignal, STALE } from './passkeys/renewal.ts';
import {
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  sendSignal,
  startAuthentication,
  startRegistration,
} from './passkeys/webauthn.ts';
import type { AuthCalls } from './session/auth-calls.ts';
import type { Ceremonies, PasskeySignInOptions } from './session/ceremonies.ts';

export type { Ceremonies } from './session/ceremonies.ts';

/** Tells whether this browser knows passkeys and security keys at all. */
export const supportsPasskeys = (): boolean => browserSupportsWebAuthn();

/** Tells whether this browser can offer passkeys in the suggestions of a sign-in field. */
export const supportsConditional = (): Promise<boolean> => browserSupportsWebAuthnAutofill();

/** The passkeys of this browser, for the option `passkeys` of `createClient`. */
export const passkeys: Ceremonies = {
  get: async (request, { signal } = {}) => ask(request, signal),
  async signIn(calls, { conditional = false, ...options } = {}) {
    if (conditional) return signInConditionally(calls, options);
    if (!supportsPasskeys()) throw unsupported();
    const request = await readRequest(calls, options);
    return complete(calls, await ask(request, options.signal), { request, options });
  },
  own: (calls) => ({
    async add({ kind = 'passkey', name } = {}, options = {}) {
      if (!supportsPasskeys()) throw unsupported();
      const { passkey: request } = await calls.run('POST /api/v1/auth/factors/passkeys/options', {
        ...options,
        body: { kind },
      });
      const passkey = await runAlone(() => register(request), options.signal);
      return calls.renew('POST /api/v1/auth/factors/passkeys', {
        ...options,
        body: { kind, passkey, ...(name !== undefined && { name }) },
      });
    },
    rename: (passkey_id, name, options) =>
      calls.run('PUT /api/v1/auth/factors/passkeys/{passkey_id}', {
        ...options,
        path: { passkey_id },
        body: { name },
      }),
    remove: (passkey_id, options) =>
      calls.renew('DELETE /api/v1/auth/factors/passkeys/{passkey_id}', { ...options, path: { passkey_id } }),
  }),
};

function ask(
  request: PasskeyRequestOptions,
  signal: AbortSignal | undefined,
  isConditional = false,
): Promise<PasskeyAssertion> {
  if (!supportsPasskeys()) throw unsupported();
  return runAlone(() => authenticate(request, isConditional), signal);
}

const readRequest = async (calls: AuthCalls, options: PasskeySignInOptions): Promise<PasskeyRequestOptions> =>
  (await calls.run('POST /api/v1/auth/login/passkey/options', { ...options, body: {} })).passkey;

async function signInConditionally(calls: AuthCalls, options: PasskeySignInOptions): Promise<User> {
  if (!(await supportsConditional())) throw unsupported();
  for (;;) {
    const request = await readRequest(calls, options);
    const renewal = renewalSignal(options.signal);
    try {
      const passkey = await ask(request, renewal.signal, true);
      return await complete(calls, passkey, { request, options });
    } catch (error) {
      if (error !== STALE) throw error;
    } finally {
      renewal.stop();
    }
  }
}

/** Tells the browser about a passkey that no longer exists, so that it stops offering it. */
async function complete(
  calls: AuthCalls,
  passkey: PasskeyAssertion,
  { request, options }: { request: PasskeyRequestOptions; options: PasskeySignInOptions },
): Promise<User> {
  try {
    return await calls.begin('POST /api/v1/auth/login/passkey', { ...options, body: { passkey } });
  } catch (error) {
    if (error instanceof CastellanError && error.code === 'passkey_unknown')
      // Few browsers listen, and nothing depends on it.
      await sendSignal({
        signalName: 'unknownCredential',
        rpID: request.rpId,
        credentialID: passkey.id,
      }).catch(() => {});
    throw error;
  }
}

// The service gets the members that it reads. Browsers add others.

async function authenticate(
  request: PasskeyRequestOptions,
  isConditional: boolean,
): Promise<PasskeyAssertion> {
  const { id, rawId, response, clientExtensionResults } = await startAuthentication({
    optionsJSON: request,
    useBrowserAutofill: isConditional,
  });
  const { clientDataJSON, authenticatorData, signature, userHandle } = response;
  return {
    id,
    rawId,
    type: 'public-key',
    response: { clientDataJSON, authenticatorData, signature, ...(userHandle && { userHandle }) },
    clientExtensionResults: { ...clientExtensionResults },
  };
}

async function register(request: PasskeyCreationOptions): Promise<PasskeyRegistration> {
  const { id, rawId, response, clientExtensionResults } = await startRegistration({ optionsJSON: request });
  const { clientDataJSON, attestationObject, transports } = response;
  return {
    id,
    rawId,
    type: 'public-key',
    response: { clientDataJSON, attestationObject, ...(transports && { transports }) },
    clientExtensionResults: { ...clientExtensionResults },
  };
}
