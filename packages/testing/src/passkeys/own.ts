// A browser with an authenticator in software, for tests: adds passkeys to accounts and signs in with them.
// It must not verify anything: the service does.
import assert from 'node:assert/strict';
import type { Answer, Body, TestClient } from '../client.ts';
import { signIn, type TestService } from '../harness.ts';
import { keepTokens } from '../second-factors/app.ts';
import { type Account, addUser } from '../sessions/accounts.ts';
import {
  type AssertionTweaks,
  type Authenticator,
  createAuthenticator,
  type RegistrationTweaks,
} from './authenticator.ts';

/** The address of services whose tests use passkeys. */
export const PASSKEY_URL = 'https://castellan.test';
export const PASSKEY_HOST = 'castellan.test';

export const newAuthenticator = (
  options: { isSynced?: boolean; verifiesUser?: boolean } = {},
): Authenticator => createAuthenticator({ rpId: PASSKEY_HOST, origin: PASSKEY_URL, ...options });

type Kind = 'passkey' | 'security_key';

/** Sends what the authenticator makes of the options. The caller judges the answer. */
export async function tryRegister(
  client: TestClient,
  authenticator: Authenticator,
  { kind = 'passkey', name, tweaks }: { kind?: Kind; name?: string; tweaks?: RegistrationTweaks } = {},
): Promise<Answer> {
  const begun = await client.post('/api/v1/auth/factors/passkeys/options', { kind });
  assert.equal(begun.status, 200, begun.text);
  const passkey = authenticator.register(begun.body.data.passkey, tweaks);
  return client.post('/api/v1/auth/factors/passkeys', {
    kind,
    ...(name === undefined ? {} : { name }),
    passkey,
  });
}

/** Adds a passkey to the signed-in user of the client, whose tokens are replaced. Returns `data` of the answer. */
export async function register(
  client: TestClient,
  authenticator: Authenticator,
  options: Parameters<typeof tryRegister>[2] = {},
): Promise<Body> {
  const answer = await tryRegister(client, authenticator, options);
  assert.equal(answer.status, 201, answer.text);
  keepTokens(client, answer);
  return answer.body.data;
}

export type PasskeyUser = Account & {
  authenticator: Authenticator;
  passkeyId: string;
  recoveryCodes: string[];
  /** Signed in, with the tokens that adding the passkey left. */
  client: TestClient;
};

/** Returns a user with one passkey, or one security key. */
export async function addPasskeyUser(
  service: TestService,
  { kind = 'passkey', ...options }: { kind?: Kind; isSynced?: boolean; verifiesUser?: boolean } = {},
): Promise<PasskeyUser> {
  const account = await addUser(service);
  const client = await signIn(service, account);
  const authenticator = newAuthenticator(options);
  const { passkey, recovery_codes: recoveryCodes } = await register(client, authenticator, { kind });
  return { ...account, authenticator, passkeyId: passkey.id, recoveryCodes, client };
}

/** Returns the options of a sign-in by a passkey alone. */
export async function signInOptions(client: TestClient): Promise<Body> {
  const answer = await client.post('/api/v1/auth/login/passkey/options', {});
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data.passkey;
}

/** Signs in with a passkey alone. The caller judges the answer. */
export async function passkeySignIn(
  client: TestClient,
  authenticator: Authenticator,
  tweaks: AssertionTweaks = {},
): Promise<Answer> {
  const passkey = authenticator.assert(await signInOptions(client), tweaks);
  return client.post('/api/v1/auth/login/passkey', { passkey });
}

/** Sends the right password and returns the second step that it opened. */
export async function beginSecondStep(client: TestClient, { email, password }: Account): Promise<Body> {
  const answer = await client.post('/api/v1/auth/login', { email, password });
  assert.equal(answer.body.code, 'second_factor_required', answer.text);
  return answer.body.second_factor;
}

/** Confirms in the session with the passkey. The caller judges the answer. */
export async function passkeyStepUp(
  client: TestClient,
  authenticator: Authenticator,
  tweaks: AssertionTweaks = {},
): Promise<Answer> {
  const options = await client.post('/api/v1/auth/step-up/options', {});
  assert.equal(options.status, 200, options.text);
  const passkey = authenticator.assert(options.body.data.passkey, tweaks);
  return client.post('/api/v1/auth/step-up', { passkey });
}

/** Makes every token of the user older than a fresh proof may be. */
export const age = async (service: Pick<TestService, 'sql'>, { id }: Pick<Account, 'id'>): Promise<void> => {
  await service.sql(
    "update session_tokens set auth_time = auth_time - interval '11 minutes' where user_id = $1",
    [id],
  );
  await service.sql(
    "update sessions set created_at = created_at - interval '11 minutes' where user_id = $1",
    [id],
  );
};
