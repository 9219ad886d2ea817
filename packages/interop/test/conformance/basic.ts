// The modules of the Basic profile about tokens, userinfo and scopes, and those that only must not be refused.
import assert from 'node:assert/strict';
import type { JWTPayload } from 'jose';
import {
  authorize,
  checkUserinfo,
  codeOf,
  errorOf,
  exchange,
  headerOf,
  type Module,
  type Parameters,
  type Run,
  signIn,
  tokenRequest,
  type UserinfoMethod,
  userinfo,
} from './run.ts';

/** OpenID Connect Core, section 5.4. */
const claimsOfScope: Record<string, readonly string[]> = {
  profile: [
    'name given_name family_name middle_name nickname preferred_username profile picture website gender birthdate',
    'zoneinfo locale updated_at',
  ].flatMap((line) => line.split(' ')),
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified'],
};

/** What an ID token may have whatever was asked. */
const always = 'iss sub aud exp iat auth_time nonce acr amr azp at_hash c_hash s_hash nbf jti sid'.split(' ');

function warnAboutOthers(run: Run, idToken: JWTPayload, scope: string): void {
  const expected = [...always, ...scope.split(' ').flatMap((one) => claimsOfScope[one] ?? [])];
  const others = Object.keys(idToken).filter((name) => !expected.includes(name));
  if (others.length > 0) run.warn(`the ID token has claims that were not requested: ${others}`);
}

/** RFC 6749, section 10.10, asks for 128 bits. */
function assertHardToGuess(code: string): void {
  assert.ok(code.length >= 22, `${code.length} characters`);
  const counts = [...new Set(code)].map((one) => code.split(one).length - 1);
  const bits = counts.reduce((sum, count) => sum - count * Math.log2(count / code.length), 0);
  assert.ok(bits >= 96, `${bits} bits in the characters of the code`);
}

const withScope = (name: string, scope: string, isReversed = false): Module => ({
  name,
  checks: `userinfo has claims of the scopes ${scope}, with the types that the standard gives them`,
  async run(run) {
    const wanted = scope.split(' ');
    const order = isReversed ? [...wanted].reverse() : wanted;
    const { tokens, claims } = await signIn(run, { scope: order.join(' ') }, { isReversed });
    for (const one of wanted.filter((each) => each !== 'openid'))
      if (!claimsOfScope[one]?.some((claim) => claims[claim] !== undefined))
        run.warn(
          run.metadata.scopes_supported.includes(one)
            ? `userinfo has no claim of ${one}`
            : `discovery does not name ${one}`,
        );
    if (wanted.includes('profile')) return;
    if (tokens.idToken.name !== undefined) run.warn('the ID token has a name that was not requested');
    if (claims.name !== undefined) run.warn('userinfo has a name that was not requested');
    if (wanted.includes('email') && tokens.idToken.email !== undefined)
      run.warn('the ID token has the email, which belongs in userinfo');
  },
});

const accepted = (name: string, what: string, parameters: Parameters): Module => ({
  name,
  checks: `a request with ${what} succeeds`,
  run: async (run) => {
    await signIn(run, parameters);
  },
});

const askingUserinfo = (name: string, method: UserinfoMethod): Module => ({
  name,
  checks: `userinfo answers a ${method} as JSON about the person of the ID token`,
  async run(run) {
    const tokens = await exchange(run, await authorize(run));
    checkUserinfo(await userinfo(run, tokens.answer.access_token, method), tokens);
  },
});

export const basicModules: readonly Module[] = [
  {
    name: 'oidcc-server',
    checks: 'a sign-in: the answer, the code, the tokens, the ID token with its signature, and userinfo',
    async run(run) {
      const flow = await authorize(run);
      assertHardToGuess(codeOf(run, flow));
      const tokens = await exchange(run, flow);
      checkUserinfo(await userinfo(run, tokens.answer.access_token), tokens);
      warnAboutOthers(run, tokens.idToken, 'openid');
    },
  },
  {
    name: 'oidcc-response-type-missing',
    checks: 'a request without response_type is refused, at the application or by a page',
    async run(run) {
      const flow = await authorize(run, { response_type: undefined });
      if (flow.arrival.kind === 'page') assert.equal(flow.arrival.status, 400);
      else assert.match(errorOf(run, flow), /^(invalid_request|unsupported_response_type)$/);
    },
  },
  {
    name: 'oidcc-idtoken-signature',
    checks: 'an ID token names its key, and is signed with RS256 where no algorithm was chosen',
    async run(run) {
      const { answer } = await exchange(run, await authorize(run));
      const { alg, kid } = headerOf(answer.id_token);
      assert.equal(alg, 'RS256');
      assert.ok(run.keys.keys.some((key) => key.kid === kid));
    },
  },
  {
    name: 'oidcc-idtoken-unsigned',
    checks: 'no ID token without a signature is announced',
    async run({ metadata }) {
      assert.ok(!metadata.id_token_signing_alg_values_supported.includes('none'));
    },
  },
  askingUserinfo('oidcc-userinfo-get', 'GET'),
  askingUserinfo('oidcc-userinfo-post-header', 'POST with a header'),
  askingUserinfo('oidcc-userinfo-post-body', 'POST with a form'),
  {
    name: 'oidcc-ensure-request-without-nonce-succeeds-for-code-flow',
    checks: 'a request without nonce succeeds, and its ID token has none',
    async run(run) {
      const { tokens } = await signIn(run, { nonce: undefined });
      assert.equal(tokens.idToken.nonce, undefined);
    },
  },
  withScope('oidcc-scope-profile', 'openid profile'),
  withScope('oidcc-scope-email', 'openid email'),
  withScope('oidcc-scope-address', 'openid address'),
  withScope('oidcc-scope-phone', 'openid phone'),
  withScope('oidcc-scope-all', 'openid email phone address profile'),
  withScope('oidcc-alternate-happy-flow', 'openid email', true),
  accepted('oidcc-display-page', 'display=page', { display: 'page' }),
  accepted('oidcc-display-popup', 'display=popup', { display: 'popup' }),
  accepted('oidcc-ensure-request-with-unknown-parameter-succeeds', 'an unknown parameter', {
    extra: 'foobar',
  }),
  {
    name: 'oidcc-login-hint',
    checks: 'a request with login_hint succeeds',
    run: async (run) => {
      await signIn(run, { login_hint: run.provider.email });
    },
  },
  accepted('oidcc-ui-locales', 'ui_locales of a language that the provider may not have', {
    ui_locales: 'se',
  }),
  accepted('oidcc-claims-locales', 'claims_locales', { claims_locales: 'se' }),
  {
    name: 'oidcc-ensure-request-with-acr-values-succeeds',
    checks: 'a request with the announced acr_values succeeds, and the ID token has one of them',
    async run(run) {
      const values: string[] = run.metadata.acr_values_supported ?? ['1', '2'];
      const { tokens } = await signIn(run, { acr_values: values.join(' ') });
      if (!values.includes(String(tokens.idToken.acr))) run.warn(`acr is ${tokens.idToken.acr}`);
    },
  },
  {
    name: 'oidcc-ensure-post-request-succeeds',
    checks: 'an authorization request by POST succeeds',
    run: async (run) => {
      await signIn(run, {}, { method: 'POST' });
    },
  },
  {
    name: 'oidcc-server-client-secret-post',
    checks: 'a sign-in with the secret in the form',
    async run(run) {
      const application = run.provider.other;
      const flow = await authorize(run, {}, { application });
      const answer = await tokenRequest(
        run,
        {
          grant_type: 'authorization_code',
          code: codeOf(run, flow),
          redirect_uri: flow.sent.redirect_uri ?? '',
        },
        application,
        'post',
      );
      assert.equal(answer.status, 200, answer.text);
      assert.ok(run.metadata.token_endpoint_auth_methods_supported.includes('client_secret_post'));
    },
  },
  {
    name: 'oidcc-claims-essential',
    checks: 'a name that the claims parameter asks userinfo for is in userinfo, and not in the ID token',
    async run(run) {
      const claims = JSON.stringify({ userinfo: { name: { essential: true } } });
      const { tokens, claims: told } = await signIn(run, { claims });
      if (told.name === undefined) run.warn('userinfo has no name');
      if (tokens.idToken.name !== undefined) run.warn('the ID token has a name that was asked of userinfo');
    },
  },
];
