// What an access token needs to be accepted: it must not have expired, and it must be on the allowlist.
// Forged tokens are tested in the hardening suite.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { eventually, signIn, startTestService } from '@castellan/testing/harness';
import { addUser } from '@castellan/testing/sessions/accounts';
import { hashOf, readToken } from '@castellan/testing/sessions/own-tokens';

const service = await startTestService({ after });
const client = await signIn(service, await addUser(service));
const given = client.accessToken as string;

const send = (authorization: string | null): Promise<Answer> =>
  service.client().get('/api/v1/users/me', { headers: { authorization } });
const bearer = (token: string): Promise<Answer> => send(`Bearer ${token}`);

function assertRefused(answer: Answer, code: string): void {
  assert.equal(answer.status, 401, answer.text);
  assert.equal(answer.body.code, code);
  const expected = code === 'token_missing' ? 'Bearer' : 'Bearer error="invalid_token"';
  assert.equal(answer.headers.get('www-authenticate'), expected);
}

test('a token without a row is refused as revoked, although its signature is valid and it has not expired', async () => {
  const { accessToken } = await signIn(service, await addUser(service));
  assert.equal((await bearer(accessToken as string)).status, 200);
  await service.sql('delete from session_tokens where token_hash = $1', [hashOf(accessToken as string)]);
  const answer = await bearer(accessToken as string);
  assertRefused(answer, 'token_revoked');
  assert.match(answer.body.detail, /revoked/);
});

test('a token of a revoked session is refused, even while its own row is left', async () => {
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

test('a token’s row counts only for its owner', async () => {
  const [one, other] = [await addUser(service), await addUser(service)];
  const { accessToken } = await signIn(service, one);
  await service.sql('update session_tokens set user_id = $2 where token_hash = $1', [
    hashOf(accessToken as string),
    other.id,
  ]);
  assertRefused(await bearer(accessToken as string), 'token_revoked');
});

test('an access token is refused from the moment it expires, with that reason', async () => {
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

/** The last of 86 characters has four bits that decode to nothing, so one signature has sixteen spellings. */
const respelled = (): string => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(given.at(-1) as string);
  return given.slice(0, -1) + alphabet[last ^ 1];
};

test('the scheme may be written in upper or lower case', async () => {
  assert.equal((await send(`bearer ${given}`)).status, 200);
  assert.equal((await send(`BEARER ${given}`)).status, 200);
});

test('200 parallel requests with live, revoked and forged tokens each get the answer for their own token', async () => {
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
