// What the attacks on OpenID Connect share: an application, people in browsers of their own, and authorization requests as a page
// sends them. It must not judge answers.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import type { Answer, TestClient } from '@castellan/testing/client';
import { signIn, type TestService } from '@castellan/testing/harness';
import type { TestApplication } from '@castellan/testing/openid/tokens';
import { basicOf, postForm } from '@castellan/testing/service-accounts/token-services';
import { type Account, addUser } from '@castellan/testing/sessions/accounts';

export const REDIRECT = 'https://app.example.com/callback';
export const AUTHORIZE = '/api/v1/oauth/authorize';
export const LOGOUT = '/api/v1/oauth/logout';
/** Where no limit of requests is part of the attack. */
export const UNLIMITED = { RATE_LIMIT_AUTHORIZE: 'off', RATE_LIMIT_APPLICATION: 'off' };

export type InBrowser = { user: Account; browser: TestClient; sessionId: string };

/** Returns a person who is signed in. There must be an application, so that the browser gets its cookie. */
export async function inBrowser(service: TestService): Promise<InBrowser> {
  const user = await addUser(service);
  const browser = await signIn(service, user);
  assert.ok(browser.cookies.get('castellan_sso'), 'no cookie of the browser');
  const [row] = await service.sql<{ id: string }>('select id from sessions where user_id = $1', [user.id]);
  assert.ok(row);
  return { user, browser, sessionId: row.id };
}

export const newVerifier = (): string => randomBytes(32).toString('base64url');
const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url');

export type Sent = Record<string, string | undefined>;

/** Returns the parameters of a request that is in order. Undefined leaves one out. */
export function parametersOf({ client_id }: TestApplication, verifier: string, changed: Sent = {}): string {
  const all: Sent = {
    client_id,
    redirect_uri: REDIRECT,
    response_type: 'code',
    scope: 'openid email',
    state: 's',
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
    ...changed,
  };
  const pairs = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return new URLSearchParams(pairs).toString();
}

/** Sends a request without a bearer token, as a navigation. */
export const visit = (browser: TestClient, address: string): Promise<Answer> =>
  browser.get(address, { headers: { authorization: null } });

export const locationOf = (answer: Answer): string => answer.headers.get('location') ?? '';
/** The parameters of the address that an answer leads to. */
export const fieldsOf = (answer: Answer): Record<string, string> =>
  Object.fromEntries(URL.parse(locationOf(answer), 'http://castellan.test')?.searchParams ?? []);

export const redeem = (
  service: TestService,
  { client_id, client_secret }: TestApplication,
  fields: Record<string, string>,
): Promise<Answer> =>
  postForm(
    service,
    'token',
    { grant_type: 'authorization_code', redirect_uri: REDIRECT, ...fields },
    basicOf(client_id, client_secret),
  );

export async function isSessionLive(service: TestService, sessionId: string): Promise<boolean> {
  const rows = await service.sql('select from sessions where id = $1 and revoked_at is null', [sessionId]);
  return rows.length === 1;
}
