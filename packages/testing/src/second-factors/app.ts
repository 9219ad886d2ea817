// An authenticator app for tests: makes codes of a secret by RFC 6238, and sets itself up at the service.
// It must not use the service's own code: it computes with node:crypto.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { Answer, TestClient } from '../client.ts';
import { signIn, type TestService } from '../harness.ts';
import { type Account, addUser } from '../sessions/accounts.ts';

const STEP_MS = 30_000;

function bytesOf(base32: string): Buffer {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...base32].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** Returns the code of a secret (base32) for the step that is `steps` away from now. */
export function codeOf(secret: string, steps = 0): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / STEP_MS) + steps));
  const mac = createHmac('sha1', bytesOf(secret)).update(counter).digest();
  const at = (mac.at(-1) ?? 0) & 0xf;
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

/** Returns a well-formed code that is wrong now. */
export function wrongCodeOf(secret: string): string {
  const right = [-2, -1, 0, 1, 2].map((steps) => codeOf(secret, steps));
  return (
    ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !right.includes(code)) ?? ''
  );
}

export type AppUser = Account & {
  secret: string;
  recoveryCodes: string[];
  /** Signed in, with the tokens that setting up the app left. */
  client: TestClient;
};

/** Takes over the tokens of an answer. */
export function keepTokens(client: TestClient, { body }: Answer): void {
  client.accessToken = body.data.access_token;
  client.refreshToken = body.data.refresh_token;
}

/** Lets the next code of the app count, whichever was accepted before. */
export const forgetStep = (
  service: Pick<TestService, 'sql'>,
  { id }: Pick<Account, 'id'>,
): Promise<unknown> => service.sql('update totp_factors set last_step = 0 where user_id = $1', [id]);

/** Sets up an app for the signed-in user of the client. */
export async function enrol(client: TestClient): Promise<{ secret: string; recoveryCodes: string[] }> {
  const begun = await client.post('/api/v1/auth/factors/totp');
  assert.equal(begun.status, 201, begun.text);
  const { secret } = begun.body.data;
  const confirmed = await client.post('/api/v1/auth/factors/totp/confirm', { totp: codeOf(secret) });
  assert.equal(confirmed.status, 200, confirmed.text);
  keepTokens(client, confirmed);
  return { secret, recoveryCodes: confirmed.body.data.recovery_codes ?? [] };
}

/** Returns a user with an authenticator app, whose next code counts. */
export async function addAppUser(service: TestService): Promise<AppUser> {
  const account = await addUser(service);
  const client = await signIn(service, account);
  const enrolled = await enrol(client);
  await forgetStep(service, account);
  return { ...account, ...enrolled, client };
}

/** Sends the right password and returns the token of the second step. */
export async function beginSignIn(client: TestClient, { email, password }: Account): Promise<string> {
  const answer = await client.post('/api/v1/auth/login', { email, password });
  assert.equal(answer.body.code, 'second_factor_required', answer.text);
  return answer.body.second_factor.token;
}

export const completeSignIn = (
  client: TestClient,
  token: string,
  proof: Record<string, unknown>,
): Promise<Answer> => client.post('/api/v1/auth/login/second-factor', { token, ...proof });
