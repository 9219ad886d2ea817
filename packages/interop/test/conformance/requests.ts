// The modules of the Basic profile about repeated sign-ins, codes that come twice, addresses, request objects and refresh tokens.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { JWTPayload } from 'jose';
import {
  authorize,
  checkTokens,
  checkUserinfo,
  clockPasses,
  codeForm,
  codeOf,
  errorOf,
  exchange,
  type Module,
  NEEDS_A_PAGE,
  type Parameters,
  type Run,
  randomText,
  signIn,
  tokenRequest,
  userinfo,
} from './run.ts';

const askedToSignIn = (asked: readonly string[]): boolean =>
  asked.includes('sign_in') || asked.includes('reauthenticate');

/** Signs in twice. The second request must ask for the credentials again, and its ID token must say so. */
async function signInAgain(run: Run, parameters: Parameters, waitSeconds: number): Promise<JWTPayload> {
  const first = await signIn(run);
  const before = first.tokens.idToken.auth_time ?? first.tokens.idToken.iat;
  await clockPasses(Number(before) + waitSeconds);
  const second = await signIn(run, parameters);
  assert.ok(askedToSignIn(second.flow.arrival.asked), `asked ${second.flow.arrival.asked}`);
  const { auth_time: after } = second.tokens.idToken;
  if (after !== undefined && first.tokens.idToken.auth_time !== undefined)
    assert.ok(Number(after) > Number(first.tokens.idToken.auth_time), `${after} is not later`);
  return second.tokens.idToken;
}

/** Signs in twice. The second request must ask nothing, and be about the same sign-in. */
async function signInOnce(
  run: Run,
  first: Parameters,
  second: (idToken: string) => Parameters,
): Promise<JWTPayload[]> {
  const one = await signIn(run, first);
  const two = await signIn(run, second(one.tokens.answer.id_token));
  assert.deepEqual(two.flow.arrival.asked, []);
  assert.equal(two.tokens.idToken.sub, one.tokens.idToken.sub);
  assert.equal(two.tokens.idToken.auth_time, one.tokens.idToken.auth_time);
  return [one.tokens.idToken, two.tokens.idToken];
}

/** Uses a code twice, so many seconds later. Returns the tokens of the first time. */
async function useTwice(run: Run, seconds: number): Promise<string> {
  const flow = await authorize(run);
  const code = codeOf(run, flow);
  const tokens = await exchange(run, flow, { code });
  await run.provider.ageCodes(seconds);
  const again = await tokenRequest(run, codeForm(code));
  assert.equal(again.status, 400, again.text);
  assert.match(again.headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(again.body.error, 'invalid_grant');
  assert.match(again.body.error_description ?? '', /^[\x20\x21\x23-\x5B\x5D-\x7E]*$/);
  return tokens.answer.access_token;
}

/** A request object with the algorithm `none`. */
const unsigned = (claims: object): string =>
  `${[{ alg: 'none' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`;

/** Asserts that the provider took the request, or refused it with this error. */
async function assertTakenOrRefused(run: Run, parameters: Parameters, error: string): Promise<void> {
  const flow = await authorize(run, parameters);
  if (flow.arrival.kind === 'application' && flow.arrival.params.has('error'))
    assert.equal(errorOf(run, flow), error);
  else await exchange(run, flow);
}

export const requestModules: readonly Module[] = [
  {
    name: 'oidcc-prompt-login',
    checks: 'prompt=login asks for the credentials of somebody who is signed in, and auth_time is later',
    run: async (run) => {
      await signInAgain(run, { prompt: 'login' }, 1);
    },
  },
  {
    name: 'oidcc-prompt-none-not-logged-in',
    checks:
      'prompt=none without a session is refused at the application, with a state of 128 characters unchanged',
    async run(run) {
      const flow = await authorize(run, { prompt: 'none', state: randomText(96) });
      assert.ok(NEEDS_A_PAGE.includes(errorOf(run, flow)));
    },
  },
  {
    name: 'oidcc-prompt-none-logged-in',
    checks: 'prompt=none with a session asks nothing, about the same sign-in',
    run: async (run) => {
      await signInOnce(run, {}, () => ({ prompt: 'none' }));
    },
  },
  {
    name: 'oidcc-max-age-1',
    checks:
      'max_age=1 asks for the credentials after more than a second, and auth_time is there, later and recent',
    async run(run) {
      const { auth_time: at } = await signInAgain(run, { max_age: '1' }, 2);
      assert.ok(typeof at === 'number', 'no auth_time');
      assert.ok(Math.abs(Date.now() / 1_000 - at) < 60, String(at));
    },
  },
  {
    name: 'oidcc-max-age-10000',
    checks: 'max_age=10000 asks nothing a moment after the sign-in, and auth_time stays the same',
    async run(run) {
      const tokens = await signInOnce(run, { max_age: '15000' }, () => ({ max_age: '10000' }));
      for (const { auth_time: at } of tokens) assert.equal(typeof at, 'number');
    },
  },
  {
    name: 'oidcc-id-token-hint',
    checks: 'prompt=none with the ID token of the person as a hint asks nothing',
    run: async (run) => {
      await signInOnce(run, {}, (hint) => ({ prompt: 'none', id_token_hint: hint }));
    },
  },
  {
    name: 'oidcc-codereuse',
    checks: 'a code that comes a second time is refused with invalid_grant',
    run: async (run) => {
      await useTwice(run, 0);
    },
  },
  {
    name: 'oidcc-codereuse-30seconds',
    checks: 'the same thirty seconds later, and the access token of the first time has ended',
    async run(run) {
      const token = await useTwice(run, 30);
      const { status } = await userinfo(run, token);
      if (status < 400 || status > 499) run.warn(`userinfo answers ${status} to the token of the code`);
    },
  },
  {
    name: 'oidcc-ensure-registered-redirect-uri',
    checks: 'an address that is not registered gets a page, and no browser is sent there',
    async run(run) {
      const { arrival } = await authorize(run, {
        redirect_uri: `https://app.example.com/callback/${randomText()}`,
      });
      assert.equal(arrival.kind, 'page', JSON.stringify(arrival));
      assert.deepEqual(arrival.asked, []);
    },
  },
  {
    name: 'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported',
    checks: 'a request_uri is taken, or refused with request_uri_not_supported',
    run: (run) =>
      assertTakenOrRefused(
        run,
        { request_uri: 'https://app.example.com/request.jwt' },
        'request_uri_not_supported',
      ),
  },
  {
    name: 'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported',
    checks: 'an unsigned request object is taken, or refused with request_not_supported',
    run: (run) =>
      assertTakenOrRefused(run, { request: unsigned({ scope: 'openid' }) }, 'request_not_supported'),
  },
  {
    name: 'oidcc-ensure-request-object-with-redirect-uri',
    checks: 'an address outside of the request object that is not registered is never used',
    async run(run) {
      const flow = await authorize(run, {
        redirect_uri: 'https://app.example.com/callback/foreign',
        request: unsigned({ redirect_uri: 'https://app.example.com/callback' }),
      });
      if (flow.arrival.kind === 'application')
        assert.doesNotMatch(flow.arrival.address, /foreign/, 'led to the address that is not registered');
    },
  },
  {
    name: 'oidcc-refresh-token',
    checks: 'a refresh token gives new tokens about the same sign-in, and none to another application',
    async run(run) {
      const flow = await authorize(run, { scope: 'openid offline_access', prompt: 'consent' });
      const first = await exchange(run, flow);
      const { refresh_token: token } = first.answer;
      assert.match(token ?? '', /^[\x20-\x7E]+$/, 'there is no refresh token');
      assert.ok(run.metadata.grant_types_supported.includes('refresh_token'));
      const foreign = await tokenRequest(
        run,
        { grant_type: 'refresh_token', refresh_token: token },
        run.provider.other,
      );
      assert.equal(foreign.status, 400, foreign.text);
      assert.equal(foreign.body.error, 'invalid_grant');
      await clockPasses(Number(first.idToken.iat));
      const answer = await tokenRequest(run, {
        grant_type: 'refresh_token',
        refresh_token: token,
        scope: flow.sent.scope ?? '',
      });
      const second = await checkTokens(run, answer, flow);
      assert.equal(second.idToken.sub, first.idToken.sub);
      assert.deepEqual(second.idToken.aud, first.idToken.aud);
      assert.equal(second.idToken.auth_time, first.idToken.auth_time);
      assert.ok(Number(second.idToken.iat) > Number(first.idToken.iat));
      assert.notEqual(second.answer.access_token, first.answer.access_token);
      checkUserinfo(await userinfo(run, second.answer.access_token), second);
    },
  },
  {
    name: 'oidcc-ensure-request-with-valid-pkce-succeeds',
    checks: 'a sign-in with PKCE succeeds',
    async run(run) {
      const verifier = randomText(32);
      const challenge = createHash('sha256').update(verifier).digest('base64url');
      const flow = await authorize(run, { code_challenge: challenge, code_challenge_method: 'S256' });
      const tokens = await exchange(run, flow, { verifier });
      checkUserinfo(await userinfo(run, tokens.answer.access_token), tokens);
    },
  },
];
