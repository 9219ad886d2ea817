// The steps that the conformance modules share: an authorization, an exchange, a call of userinfo, and what must be true of each.
// It must not know which provider it asks.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import type { Body } from '@castellan/testing/client';
import { watch } from '@castellan/testing/secret-watch';
import { basicOf, formRequest } from '@castellan/testing/service-accounts/token-services';
import { createLocalJWKSet, decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose';
import type { Answer, Browser } from '../providers/browser.ts';
import {
  type Application,
  type Arrival,
  CALLBACK,
  newBrowser,
  type Provider,
  walk,
} from '../providers/provider.ts';

export type Run = {
  provider: Provider;
  browser: Browser;
  metadata: Body;
  keys: { keys: Body[] };
  /** Says what a provider should do and does not have to. */
  warn(text: string): void;
};

export type Module = {
  /** The name in the suite of the OpenID Foundation. */
  name: string;
  /** What it checks, in one sentence. */
  checks: string;
  run(run: Run): Promise<void>;
};

/** Returns what the provider says about itself, which a module must not change. */
export async function discover(provider: Provider): Promise<Pick<Run, 'metadata' | 'keys'>> {
  const read = async (address: string): Promise<Body> => {
    const { pathname } = new URL(address);
    const answer = await newBrowser(provider).request('GET', pathname);
    assert.equal(answer.status, 200, `${address}: ${answer.text}`);
    return answer.body;
  };
  const metadata = await read(`${provider.issuer}/.well-known/openid-configuration`);
  return { metadata, keys: await read(metadata.jwks_uri) };
}

/** Parameters of a request. `undefined` leaves one out. */
export type Parameters = Record<string, string | undefined>;

const present = (parameters: Parameters): Record<string, string> =>
  Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

export type Flow = { sent: Record<string, string>; arrival: Arrival; application: Application };

export type AuthorizationOptions = {
  application?: Application;
  method?: 'GET' | 'POST';
  /** Changes the order of the parameters in the address. */
  isReversed?: boolean;
};

/** Sends the person's browser to the provider with the parameters that every module sends, and these. */
export async function authorize(
  { provider, browser, metadata }: Run,
  parameters: Parameters = {},
  { application = provider.application, method = 'GET', isReversed = false }: AuthorizationOptions = {},
): Promise<Flow> {
  const sent = present({
    client_id: application.client_id,
    redirect_uri: CALLBACK,
    scope: 'openid',
    state: randomText(),
    nonce: randomText(),
    response_type: 'code',
    ...parameters,
  });
  const entries = isReversed ? Object.entries(sent).reverse() : Object.entries(sent);
  const address = metadata.authorization_endpoint;
  const arrival =
    method === 'POST'
      ? await walk(provider, browser, address, sent)
      : await walk(provider, browser, `${address}?${new URLSearchParams(entries)}`);
  return { sent, arrival, application };
}

export const randomText = (bytes = 16): string => randomBytes(bytes).toString('base64url');

/** Returns where the browser has arrived at the application, with its state and the right issuer. */
function atApplication(run: Run, { sent, arrival }: Flow): URLSearchParams {
  assert.ok(arrival.kind === 'application', `led to a page: ${JSON.stringify(arrival).slice(0, 500)}`);
  assert.ok(arrival.address.startsWith(sent.redirect_uri ?? CALLBACK), arrival.address);
  assert.equal(arrival.params.get('state'), sent.state ?? null);
  if (run.metadata.authorization_response_iss_parameter_supported || arrival.params.has('iss'))
    assert.equal(arrival.params.get('iss'), run.provider.issuer);
  assert.equal(new URL(arrival.address).hash, '');
  for (const [name] of arrival.params)
    assert.equal(arrival.params.getAll(name).length, 1, `${name} occurs more than once`);
  return arrival.params;
}

/** Returns the code of an authorization that succeeded. */
export function codeOf(run: Run, flow: Flow): string {
  const params = atApplication(run, flow);
  assert.equal(params.get('error'), null, String(params));
  const code = params.get('code');
  assert.ok(code, String(params));
  watch.note(code, 'code');
  const unknown = [...params.keys()].filter(
    (name) => !['code', 'state', 'iss', 'session_state'].includes(name),
  );
  if (unknown.length > 0) run.warn(`unexpected parameters of the answer: ${unknown}`);
  return code;
}

/** Returns the error that the provider sent to the application. */
export function errorOf(run: Run, flow: Flow): string {
  const params = atApplication(run, flow);
  const error = params.get('error');
  assert.ok(error, String(params));
  assert.equal(params.get('code'), null);
  assert.match(params.get('error_description') ?? '', /^[\x20\x21\x23-\x5B\x5D-\x7E]*$/);
  const known = ['error', 'error_description', 'error_uri', 'state', 'iss', 'session_state'];
  const unknown = [...params.keys()].filter((name) => !known.includes(name));
  if (unknown.length > 0) run.warn(`unexpected parameters of the error: ${unknown}`);
  return error;
}

/** Errors of `prompt=none` that say that somebody has to do something. */
export const NEEDS_A_PAGE: readonly string[] = [
  'login_required',
  'interaction_required',
  'account_selection_required',
  'consent_required',
];

export type Tokens = { answer: Body; idToken: JWTPayload };

type Method = 'basic' | 'post';

/** Sends a form to the token endpoint. */
export const tokenRequest = (
  run: Run,
  form: Record<string, string>,
  application: Application = run.provider.application,
  method: Method = application === run.provider.other ? 'post' : 'basic',
): Promise<Answer> => {
  const { pathname } = new URL(run.metadata.token_endpoint);
  const body = method === 'basic' ? form : { ...form, ...application };
  const headers = method === 'basic' ? basicOf(application.client_id, application.client_secret) : {};
  return newBrowser(run.provider).request('POST', pathname, formRequest(body, headers));
};

export const codeForm = (code: string, more: Record<string, string> = {}): Record<string, string> => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: CALLBACK,
  ...more,
});

/** Exchanges the code of the flow, and checks the answer and the ID token. */
export async function exchange(
  run: Run,
  flow: Flow,
  { verifier, code = codeOf(run, flow) }: { verifier?: string; code?: string } = {},
): Promise<Tokens> {
  const form = codeForm(code, verifier === undefined ? {} : { code_verifier: verifier });
  const answer = await tokenRequest(run, form, flow.application);
  return checkTokens(run, answer, flow, flow.sent.nonce);
}

/** Asserts what RFC 6749, section 5.1, says about the answer. Returns it with the claims of the ID token. */
export async function checkTokens(run: Run, answer: Answer, flow: Flow, nonce?: string): Promise<Tokens> {
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/);
  const { access_token: token, token_type: type, expires_in: seconds, id_token: idToken } = answer.body;
  assert.match(token, /^[\x20-\x7E]{22,}$/);
  assert.match(type, /^bearer$/i);
  if (seconds === undefined) run.warn('no expires_in');
  else assert.ok(Number.isInteger(seconds) && seconds > 0);
  return { answer: answer.body, idToken: await checkIdToken(run, idToken, flow, token, nonce) };
}

/** Asserts what OpenID Connect Core, sections 2 and 3.1.3.7, says about an ID token. */
async function checkIdToken(
  run: Run,
  idToken: unknown,
  { application }: Flow,
  accessToken: string,
  nonce?: string,
): Promise<JWTPayload> {
  assert.ok(typeof idToken === 'string', 'there is no ID token');
  const { payload } = await jwtVerify(idToken, createLocalJWKSet(run.keys), {
    issuer: run.provider.issuer,
    audience: application.client_id,
    clockTolerance: 5,
    maxTokenAge: 300,
    requiredClaims: ['sub', 'exp', 'iat'],
  });
  assert.match(payload.sub ?? '', /^[\x20-\x7E]{1,255}$/);
  if (nonce !== undefined) assert.equal(payload.nonce, nonce);
  if (payload.azp !== undefined) assert.equal(payload.azp, application.client_id);
  if (payload.at_hash !== undefined) assert.equal(payload.at_hash, halfHash(accessToken));
  checkStandardClaims(payload);
  return payload;
}

/** The left half of SHA-256, as RS256 and ES256 want it. */
const halfHash = (text: string): string =>
  createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url');

export const headerOf = (idToken: string) => decodeProtectedHeader(idToken);

const texts = [
  'name given_name family_name middle_name nickname preferred_username profile picture website email gender',
  'birthdate zoneinfo locale phone_number acr azp nonce at_hash sid jti',
].flatMap((line) => line.split(' '));

/** Asserts the types of OpenID Connect Core, section 5.1. */
function checkStandardClaims(claims: Record<string, unknown>): void {
  for (const name of texts)
    if (claims[name] !== undefined)
      assert.ok(typeof claims[name] === 'string' && claims[name] !== '', `${name} is no text`);
  for (const name of ['email_verified', 'phone_number_verified'])
    if (claims[name] !== undefined) assert.equal(typeof claims[name], 'boolean', name);
  for (const name of ['auth_time', 'updated_at'])
    if (claims[name] !== undefined) {
      const seconds = Number(claims[name]);
      assert.equal(typeof claims[name], 'number', name);
      assert.ok(
        seconds > 0 && seconds < Date.now() / 1_000 + 60,
        `${name}: ${seconds} is no time in seconds`,
      );
    }
}

export type UserinfoMethod = 'GET' | 'POST with a header' | 'POST with a form';

/** Asks userinfo in one of its three ways. */
export function userinfo(run: Run, token: string, method: UserinfoMethod = 'GET'): Promise<Answer> {
  const { pathname } = new URL(run.metadata.userinfo_endpoint);
  const browser = newBrowser(run.provider);
  const authorization = `Bearer ${token}`;
  if (method === 'GET') return browser.request('GET', pathname, { headers: { authorization } });
  if (method === 'POST with a form')
    return browser.request('POST', pathname, formRequest({ access_token: token }));
  return browser.request('POST', pathname, { headers: { authorization } });
}

/** Asserts that userinfo answers with claims of the same person as the ID token. Returns them. */
export function checkUserinfo(answer: Answer, { idToken }: Tokens): Record<string, unknown> {
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(answer.body.sub, idToken.sub);
  checkStandardClaims(answer.body);
  return answer.body;
}

/** Signs in, exchanges the code and asks userinfo: what most modules begin with. */
export async function signIn(run: Run, parameters: Parameters = {}, options: AuthorizationOptions = {}) {
  const flow = await authorize(run, parameters, options);
  const tokens = await exchange(run, flow);
  const claims = checkUserinfo(await userinfo(run, tokens.answer.access_token), tokens);
  return { flow, tokens, claims };
}

/** Waits until the clock has passed a second, because times in ID tokens are whole seconds. */
export async function clockPasses(second: number): Promise<void> {
  while (Date.now() < (second + 1) * 1_000)
    await new Promise((resolve) => setTimeout(resolve, (second + 1) * 1_000 - Date.now()));
}
