// The modules of the profiles RP-Initiated Logout and Back-Channel Logout.
import assert from 'node:assert/strict';
import { eventually } from '@castellan/testing/harness';
import { createLocalJWKSet, decodeJwt, jwtVerify, SignJWT } from 'jose';
import { type Arrival, SIGNED_OUT, walk } from '../providers/provider.ts';
import {
  authorize,
  errorOf,
  type Module,
  NEEDS_A_PAGE,
  type Parameters,
  type Run,
  randomText,
  signIn,
} from './run.ts';

type SignOut = { arrival: Arrival; sent: Record<string, string>; idToken: string };

/** Signs in, and sends the browser to sign out with what `change` makes of the usual parameters. */
async function signOut(
  run: Run,
  change: (usual: Record<string, string>) => Parameters | Promise<Parameters> = (usual) => usual,
): Promise<SignOut> {
  const { tokens } = await signIn(run);
  const idToken = tokens.answer.id_token;
  const wanted = await change({
    id_token_hint: idToken,
    post_logout_redirect_uri: SIGNED_OUT,
    state: randomText(96),
  });
  const sent = Object.fromEntries(
    Object.entries(wanted).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const address = `${run.metadata.end_session_endpoint}?${new URLSearchParams(sent)}`;
  return { arrival: await walk(run.provider, run.browser, address), sent, idToken };
}

/** Asserts that the browser came back with exactly the state that was sent, and that nobody is signed in any more. */
async function assertBack(run: Run, { arrival, sent }: SignOut): Promise<void> {
  assert.ok(arrival.kind === 'application', JSON.stringify(arrival).slice(0, 500));
  assert.ok(arrival.address.startsWith(SIGNED_OUT), arrival.address);
  assert.equal(arrival.params.get('state'), sent.state ?? null);
  const others = [...arrival.params.keys()].filter((name) => name !== 'state');
  if (others.length > 0) run.warn(`unexpected parameters of the sign-out: ${others}`);
  await assertSignedOut(run);
}

async function assertSignedOut(run: Run): Promise<void> {
  const error = errorOf(run, await authorize(run, { prompt: 'none' }));
  assert.ok(NEEDS_A_PAGE.includes(error), error);
}

/** Sends a changed request that must end at a page, whatever the person answers there. */
const ending = (
  name: string,
  checks: string,
  change: (usual: Record<string, string>, run: Run) => Parameters | Promise<Parameters>,
  isSignedOut = false,
): Module => ({
  name,
  checks,
  async run(run) {
    const { arrival } = await signOut(run, (usual) => change(usual, run));
    assert.equal(arrival.kind, 'page', JSON.stringify(arrival));
    if (isSignedOut) await assertSignedOut(run);
  },
});

/** Signs the claims of an ID token with a key that the provider does not know. */
const forged = ({ id_token_hint: idToken = '' }: Record<string, string>): Promise<string> =>
  new SignJWT(decodeJwt(idToken))
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(randomText(32)));

/** The same claims without a signature. */
const stripped = ({ id_token_hint: idToken = '' }: Record<string, string>): string =>
  `${Buffer.from('{"alg":"none"}').toString('base64url')}.${idToken.split('.')[1]}.`;

export const rpInitiatedModules: readonly Module[] = [
  {
    name: 'oidcc-rp-initiated-logout',
    checks: 'a sign-out leads back to the registered address with the state, and ends the session',
    run: async (run) => assertBack(run, await signOut(run)),
  },
  ending(
    'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri',
    'an address that is not registered gets a page',
    (usual) => ({ ...usual, post_logout_redirect_uri: `${SIGNED_OUT}/${randomText()}` }),
  ),
  ending(
    'oidcc-rp-initiated-logout-modified-id-token-hint',
    'a hint without its signature gets a page',
    (usual) => ({ ...usual, id_token_hint: stripped(usual) }),
  ),
  ending(
    'oidcc-rp-initiated-logout-no-id-token-hint',
    'an address without a hint gets a page, and nobody is sent there',
    (usual) => ({ ...usual, id_token_hint: undefined }),
  ),
  ending(
    'oidcc-rp-initiated-logout-no-params',
    'a sign-out without parameters ends at a page that says so, and ends the session',
    () => ({}),
    true,
  ),
  ending(
    'oidcc-rp-initiated-logout-no-post-logout-redirect-uri',
    'a sign-out with a hint and no address ends at a page that says so, and ends the session',
    (usual) => ({ ...usual, post_logout_redirect_uri: undefined }),
    true,
  ),
  {
    name: 'oidcc-rp-initiated-logout-no-state',
    checks: 'a sign-out without state leads back without one',
    run: async (run) => assertBack(run, await signOut(run, (usual) => ({ ...usual, state: undefined }))),
  },
  ending(
    'oidcc-rp-initiated-logout-only-state',
    'a sign-out with a state alone ends at a page, and ends the session',
    ({ state }) => ({ state }),
    true,
  ),
  ending(
    'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri',
    'the registered address with a query is another address, and gets a page',
    (usual) => ({ ...usual, post_logout_redirect_uri: `${SIGNED_OUT}?foo=bar` }),
  ),
  ending(
    'oidcc-rp-initiated-logout-bad-id-token-hint',
    'a hint that somebody else signed gets a page',
    async (usual) => ({ ...usual, id_token_hint: await forged(usual) }),
  ),
];

/** The event of a logout token. */
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** Returns the module. `received` has the bodies that the application got at its address for sign-outs. */
export const backchannelModules = (received: readonly string[]): readonly Module[] => [
  {
    name: 'oidcc-backchannel-rp-initiated-logout',
    checks: 'a sign-out tells the application with a signed logout token about the session of the ID token',
    async run(run) {
      const signedOut = await signOut(run);
      const { sub, sid } = decodeJwt(signedOut.idToken);
      assert.equal(typeof sid, 'string', 'the ID token names no session');
      const claims = await eventually(async () => {
        for (const body of received) {
          const form = new URLSearchParams(body);
          const token = form.get('logout_token') ?? '';
          if (decodeJwt(token).sid !== sid) continue;
          assert.deepEqual([...form.keys()], ['logout_token']);
          return jwtVerify(token, createLocalJWKSet(run.keys), {
            issuer: run.provider.issuer,
            audience: run.provider.application.client_id,
            requiredClaims: ['iat', 'exp', 'jti', 'events'],
          });
        }
        return undefined;
      }, 'the logout token');
      assert.equal(claims.payload.sub, sub);
      assert.equal(claims.payload.nonce, undefined);
      assert.equal(claims.protectedHeader.typ, 'logout+jwt');
      assert.deepEqual(Object.keys(claims.payload.events ?? {}), [EVENT]);
      await assertBack(run, signedOut);
    },
  },
];
