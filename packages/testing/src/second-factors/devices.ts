// The device cookie in tests: what it holds, and sign-ins that leave it.
// It must not read how the service stores a token: only HTTP answers and SQL.
import assert from 'node:assert/strict';
import type { Answer, TestClient } from '../client.ts';
import type { TestService } from '../harness.ts';
import type { Account } from '../sessions/accounts.ts';
import { type AppUser, beginSignIn, codeOf, completeSignIn, forgetStep, keepTokens } from './app.ts';

/** Returns the tokens of the device cookie, newest first. */
export const deviceTokens = ({ cookies }: TestClient): string[] => cookies.get('device')?.split('.') ?? [];

/** Returns a browser without tokens and CSRF that has this device cookie. */
export function browserWith(service: TestService, tokens: readonly string[]): TestClient {
  const client = service.client();
  client.cookies.set('device', tokens.join('.'));
  return client;
}

/** Signs in with the password and a code of the app. The browser knows the device afterwards. */
export async function signInByApp(
  service: TestService,
  client: TestClient,
  user: AppUser,
  more: Record<string, unknown> = {},
): Promise<Answer> {
  await forgetStep(service, user);
  client.accessToken = null;
  const token = await beginSignIn(client, user);
  const answer = await completeSignIn(client, token, { totp: codeOf(user.secret), ...more });
  assert.equal(answer.status, 200, answer.text);
  keepTokens(client, answer);
  await forgetStep(service, user);
  return answer;
}

/** Returns a browser that the user trusts. */
export async function trustedBrowser(service: TestService, user: AppUser): Promise<TestClient> {
  const client = service.client();
  await signInByApp(service, client, user, { trust_device: true });
  return client;
}

/** Returns what the password alone comes to in this browser: 200, or the code of the refusal. */
export async function passwordAlone(
  client: TestClient,
  { email, password }: Account,
): Promise<number | string> {
  const answer = await client.post(
    '/api/v1/auth/login',
    { email, password },
    { headers: { authorization: null } },
  );
  return answer.status === 200 ? 200 : answer.body.code;
}

export type DeviceRow = {
  id: string;
  network: string;
  failures: number;
  code_failures: number;
  trusted: boolean;
};

export const devicesOf = (service: TestService, { id }: Pick<Account, 'id'>): Promise<DeviceRow[]> =>
  service.sql<DeviceRow>(
    `select d.id, d.network, d.failures, d.code_failures,
       coalesce(d.trusted_until > now() and d.trusted_epoch = u.session_epoch, false) as trusted
     from devices d join users u on u.id = d.user_id where u.id = $1 order by d.last_used_at desc`,
    [id],
  );
