// What the suites of tokens share: applications whose keys are loaded, people with a session, and grants as an authorization leaves
// them. It must not replace the authorization, which has tests of its own.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import type { Answer, Body, TestClient } from '@castellan/testing/client';
import { eventually, signIn, type TestService } from '@castellan/testing/harness';
import { watch } from '@castellan/testing/secret-watch';
import { basicOf, formRequest } from '@castellan/testing/service-accounts/token-services';
import { addPerson, type Person } from '@castellan/testing/users/people';
import { newId } from '../../src/platform/ids.ts';
import { createSecretText } from '../../src/platform/security/secret-text.ts';
import { makeApplication } from '../applications/fixture.ts';

export const REDIRECT = 'https://app.example.com/callback';

/** The record of an application with its secret. */
export type TestApplication = { id: string; client_id: string; client_secret?: string };

/** Creates an application with REDIRECT, and waits until every instance has the keys of applications. */
export async function addApplication(
  admin: TestClient,
  instances: readonly TestService[],
  fields: object = {},
): Promise<TestApplication> {
  const application: Body = await makeApplication(admin, { redirect_uris: [REDIRECT], ...fields });
  for (const { service } of instances)
    await eventually(
      () => (service.deps.keyRing.hasActiveApplication() ? true : undefined),
      'the keys of applications',
    );
  return application;
}

export type SignedIn = { person: Person; client: TestClient; sessionId: string };

/** Returns a new person who is signed in. */
export async function addSignedIn(
  service: TestService,
  state: Parameters<typeof addPerson>[1] = {},
): Promise<SignedIn> {
  const person = await addPerson(service, state);
  const client = await signIn(service, person);
  const [row] = await service.sql<{ id: string }>('select id from sessions where user_id = $1', [person.id]);
  assert.ok(row);
  return { person, client, sessionId: row.id };
}

export const newVerifier = (): string => randomBytes(32).toString('base64url');
const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url');

type GrantState = {
  scopes?: string[];
  offline?: boolean;
  nonce?: string | null;
  claims?: object | null;
  /** Null: none. */
  verifier?: string | null;
  dpopJkt?: string;
  /** Of the code. */
  expiresInSeconds?: number;
  acr?: string;
  amr?: string[];
};

export type TestGrant = { id: string; code: string; verifier: string | null };

/** Inserts a grant with a code, as an authorization does. */
export async function addGrant(
  service: TestService,
  application: TestApplication,
  { person, sessionId }: Pick<SignedIn, 'person' | 'sessionId'>,
  state: GrantState = {},
): Promise<TestGrant> {
  const id = newId();
  const code = createSecretText('cas_ac_');
  watch.note(code, 'code');
  const verifier = state.verifier === undefined ? newVerifier() : state.verifier;
  await service.sql(
    `insert into access_grants (id, application_id, user_id, session_id, user_epoch, offline, scopes, claims, nonce,
       redirect_uri, code_hash, code_challenge, code_expires_at, dpop_jkt, auth_time, acr, amr, expires_at)
     select $1, $2, u.id, $4, u.session_epoch, $5, $6, $7, $8, $9, $10, $11, now() + make_interval(secs => $12), $13, now(),
       $14, $15, now() + interval '30 days'
     from users u where u.id = $3`,
    [
      id,
      application.id,
      person.id,
      sessionId,
      state.offline ?? false,
      state.scopes ?? ['openid', 'profile', 'email'],
      state.claims ? JSON.stringify(state.claims) : null,
      state.nonce ?? null,
      REDIRECT,
      createHash('sha256').update(code).digest(),
      verifier === null ? null : challengeOf(verifier),
      state.expiresInSeconds ?? 60,
      state.dpopJkt ?? null,
      state.acr ?? 'aal1',
      state.amr ?? ['pwd'],
    ],
  );
  return { id, code, verifier };
}

type Headers = Record<string, string | null>;

/** Returns the credentials of an application: Basic with its secret, else the field of the form. */
export const credentialsOf = ({
  client_id,
  client_secret,
}: TestApplication): { form: object; headers: Headers } =>
  client_secret === undefined
    ? { form: { client_id }, headers: {} }
    : { form: {}, headers: basicOf(client_id, client_secret) };

/** Sends a form to a token service as this application. */
export function post(
  service: TestService,
  endpoint: 'token' | 'device_authorization' | 'introspect' | 'revoke',
  application: TestApplication | null,
  fields: Record<string, string>,
  headers: Headers = {},
): Promise<Answer> {
  const credentials = application ? credentialsOf(application) : { form: {}, headers: {} };
  return service
    .client()
    .request(
      'POST',
      `/api/v1/oauth/${endpoint}`,
      formRequest({ ...fields, ...credentials.form }, { ...credentials.headers, ...headers }),
    );
}

export const exchange = (
  service: TestService,
  application: TestApplication,
  { code, verifier }: Pick<TestGrant, 'code' | 'verifier'>,
  fields: Record<string, string> = {},
  headers: Headers = {},
): Promise<Answer> =>
  post(
    service,
    'token',
    application,
    {
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT,
      ...(verifier === null ? {} : { code_verifier: verifier }),
      ...fields,
    },
    headers,
  );

export const refresh = (
  service: TestService,
  application: TestApplication,
  refreshToken: string,
  fields: Record<string, string> = {},
): Promise<Answer> =>
  post(service, 'token', application, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    ...fields,
  });

export const userinfo = (service: TestService, token: string, headers: Headers = {}): Promise<Answer> =>
  service
    .client()
    .get('/api/v1/oauth/userinfo', { headers: { authorization: `Bearer ${token}`, ...headers } });

export type Tokens = { access_token: string; refresh_token: string; id_token: string };

/** Returns the tokens of a new grant. */
export async function tokensOf(
  service: TestService,
  application: TestApplication,
  who: SignedIn,
  state: GrantState = {},
): Promise<Tokens & { grant: TestGrant }> {
  const grant = await addGrant(service, application, who, state);
  const answer = await exchange(service, application, grant);
  assert.equal(answer.status, 200, answer.text);
  return { ...answer.body, grant };
}

/** Asserts an error of RFC 6749. */
export function assertError(answer: Answer, status: number, error: string): void {
  assert.deepEqual([answer.status, answer.body?.error], [status, error], answer.text);
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/);
}

/** Asserts that tokens, if any, are worth nothing: neither at userinfo, nor at introspection, nor for new ones. */
export async function assertDead(
  service: TestService,
  application: TestApplication,
  { access_token, refresh_token }: Partial<Tokens>,
): Promise<void> {
  if (access_token !== undefined) {
    assertError(await userinfo(service, access_token), 401, 'invalid_token');
    if (application.client_secret !== undefined)
      assert.equal(
        (await post(service, 'introspect', application, { token: access_token })).text,
        '{"active":false}',
      );
  }
  if (refresh_token !== undefined)
    assertError(await refresh(service, application, refresh_token), 400, 'invalid_grant');
}
