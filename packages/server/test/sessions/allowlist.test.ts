// What an access token has to be: one of ours in every byte, in force, and on the allowlist at this very moment.
import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { after, test } from 'node:test';
import { createSigner, type TokenClaims } from '../../src/platform/security/jwt.ts';
import type { Answer } from '../client.ts';
import { eventually, signIn, startTestService } from '../harness.ts';
import { addUser } from './accounts.ts';
import { hashOf, openSigner, readToken } from './own-tokens.ts';

const service = await startTestService({ after });
const client = await signIn(service, await addUser(service));
const given = client.accessToken as string;
const { header, claims } = readToken(given);
const sign = await openSigner(service);
const [publicKey] = (await service.client().get('/.well-known/jwks.json')).body.keys;

const send = (authorization: string | null): Promise<Answer> =>
  service.client().get('/api/v1/users/me', { headers: { authorization } });
const bearer = (token: string): Promise<Answer> => send(`Bearer ${token}`);

function assertRefused(answer: Answer, code: string): void {
  assert.equal(answer.status, 401, answer.text);
  assert.equal(answer.body.code, code);
  const expected = code === 'token_missing' ? 'Bearer' : 'Bearer error="invalid_token"';
  assert.equal(answer.headers.get('www-authenticate'), expected);
}

test('a token whose row is removed is refused as revoked, though its signature is valid and it has not expired', async () => {
  const { accessToken } = await signIn(service, await addUser(service));
  assert.equal((await bearer(accessToken as string)).status, 200);
  await service.sql('delete from session_tokens where token_hash = $1', [hashOf(accessToken as string)]);
  const answer = await bearer(accessToken as string);
  assertRefused(answer, 'token_revoked');
  assert.match(answer.body.detail, /revoked/);
});

test('a token that our key signed and that was never given out is refused as revoked', async () => {
  assertRefused(await bearer(sign({ ...claims, jti: crypto.randomUUID() })), 'token_revoked');
});

test('a token is refused when its session row is revoked, even while its own row is left', async () => {
  const user = await addUser(service);
  const { accessToken } = await signIn(service, user);
  await service.sql('update sessions set revoked_at = now() where user_id = $1', [user.id]);
  assertRefused(await bearer(accessToken as string), 'token_revoked');
});

test('a token whose row has expired by the database’s time is refused', async () => {
  const { accessToken } = await signIn(service, await addUser(service));
  await service.sql('update session_tokens set expires_at = now() where token_hash = $1', [
    hashOf(accessToken as string),
  ]);
  assert.equal((await bearer(accessToken as string)).status, 401);
});

test('a token’s row counts for its owner only', async () => {
  const [one, other] = [await addUser(service), await addUser(service)];
  const { accessToken } = await signIn(service, one);
  await service.sql('update session_tokens set user_id = $2 where token_hash = $1', [
    hashOf(accessToken as string),
    other.id,
  ]);
  assertRefused(await bearer(accessToken as string), 'token_revoked');
});

test('an access token opens nothing from the moment it expires, and says so', async () => {
  const brief = await service.another({ ACCESS_TOKEN_EXPIRE_MINUTES: '0.02' });
  const { accessToken } = await signIn(brief, await addUser(service));
  const answer = await eventually(async () => {
    const got = await brief.client().get('/api/v1/users/me', {
      headers: { authorization: `Bearer ${accessToken}` },
    });
    return got.status === 401 ? got : undefined;
  }, 'the token to expire');
  assertRefused(answer, 'token_expired');
  const { exp, iat } = readToken(accessToken as string).claims;
  assert.equal(exp - iat, 1);
});

test('a signed token that expired long ago is refused as expired', async () => {
  const past = { iat: claims.iat - 7_200, nbf: claims.iat - 7_200, exp: claims.iat - 3_600 };
  assertRefused(await bearer(sign({ ...claims, ...past })), 'token_expired');
});

for (const [what, change] of [
  ['from another issuer', { iss: 'https://elsewhere.example' }],
  ['for another audience', { aud: 'https://elsewhere.example' }],
  ['of the refresh kind', { type: 'refresh' }],
  ['that is not yet valid', { nbf: claims.iat + 3_600, exp: claims.exp + 7_200 }],
  ['issued in the future', { iat: claims.iat + 3_600, exp: claims.exp + 7_200 }],
] as [string, Partial<TokenClaims>][])
  test(`a token ${what} is invalid, though our key signed it`, async () => {
    assertRefused(await bearer(sign({ ...claims, ...change })), 'token_invalid');
  });

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const [headerPart, claimsPart, signaturePart] = given.split('.') as [string, string, string];
const foreign = generateKeyPairSync('ed25519').privateKey;
const victim = crypto.randomUUID();

/** The last of 86 characters has four bits that decode to nothing: sixteen spellings of one signature. */
const respelled = (): string => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(given.at(-1) as string);
  return given.slice(0, -1) + alphabet[last ^ 1];
};

for (const [what, token] of [
  [
    'signed by another key under our kid',
    createSigner({ kid: String(header.kid), privateKey: foreign }).sign(claims),
  ],
  [
    'signed by another key under its own kid',
    createSigner({ kid: 'mine', privateKey: foreign }).sign(claims),
  ],
  ['with the algorithm none', `${encode({ ...header, alg: 'none' })}.${claimsPart}.`],
  [
    'with the algorithm none and the old signature',
    `${encode({ ...header, alg: 'none' })}.${claimsPart}.${signaturePart}`,
  ],
  ['with an HMAC by our public key', hmacToken()],
  ['with another subject', `${headerPart}.${encode({ ...claims, sub: victim })}.${signaturePart}`],
  ['with a longer life', `${headerPart}.${encode({ ...claims, exp: claims.exp + 86_400 })}.${signaturePart}`],
  ['with another spelling of the same signature', respelled()],
  ['with padding', `${given}==`],
  ['without its signature', `${headerPart}.${claimsPart}.`],
  ['with two parts', `${headerPart}.${claimsPart}`],
  ['with four parts', `${given}.${signaturePart}`],
  ['of one letter', 'x'],
  ['of dots', '...'],
  ['that is JSON of no object', `${headerPart}.${encode(null)}.${signaturePart}`],
  ['that names no user', `${headerPart}.${encode({ ...claims, sub: 'admin' })}.${signaturePart}`],
  ['of 10,000 characters', 'x'.repeat(10_000)],
] as const)
  test(`a token ${what} is invalid`, async () => {
    assertRefused(await bearer(token), 'token_invalid');
  });

/** The classic confusion of algorithms: the public key, which everybody has, as the secret of an HMAC. */
function hmacToken(): string {
  const signed = `${encode({ ...header, alg: 'HS512' })}.${claimsPart}`;
  const mac = createHmac('sha512', Buffer.from(publicKey.x, 'base64url')).update(signed).digest('base64url');
  return `${signed}.${mac}`;
}

for (const [what, authorization, code] of [
  ['no header', null, 'token_missing'],
  ['another scheme', `Basic ${given}`, 'token_invalid'],
  ['the token without a scheme', given, 'token_invalid'],
  ['the scheme without a token', 'Bearer', 'token_invalid'],
  ['two tokens', `Bearer ${given} ${given}`, 'token_invalid'],
] as const)
  test(`${what} is refused with ${code}`, async () => {
    assertRefused(await send(authorization), code);
  });

test('the scheme may be written in any case', async () => {
  assert.equal((await send(`bearer ${given}`)).status, 200);
  assert.equal((await send(`BEARER ${given}`)).status, 200);
});

test('a token in a cookie or in the address opens nothing', async () => {
  const byCookie = await service
    .client()
    .get('/api/v1/users/me', { headers: { cookie: `access_token=${given}` } });
  assertRefused(byCookie, 'token_missing');
  assertRefused(await service.client().get(`/api/v1/users/me?access_token=${given}`), 'token_missing');
});

test('the token that all the forgeries were made of still opens', async () => {
  assert.equal((await bearer(given)).status, 200);
});

test('200 requests at once with live, revoked and forged tokens each get the answer of their own token', async () => {
  const clients = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const user = await addUser(service);
      return { user, signedIn: await signIn(service, user) };
    }),
  );
  for (const { signedIn } of clients.slice(0, 2)) await signedIn.post('/api/v1/auth/logout');
  await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      if (index % 10 === 9) return assertRefused(await bearer(respelled()), 'token_invalid');
      const one = clients[index % 6] as (typeof clients)[number];
      const answer = await bearer(one.signedIn.accessToken as string);
      if (index % 6 < 2) assertRefused(answer, 'token_revoked');
      else assert.equal(answer.body.data.id, one.user.id);
    }),
  );
});
