import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { Body } from '../client.ts';
import { startIssuer } from './issuer.ts';

const verifier = 'a'.repeat(43);
const challenge = createHash('sha256').update(verifier).digest('base64url');
const redirectUri = 'http://castellan.test/callback';
const question = `?${new URLSearchParams({ redirect_uri: redirectUri, state: 's', nonce: 'n', code_challenge: challenge })}`;

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

test('a code counts once, with its redirect URI and its verifier, and says who signed in', async (t) => {
  const issuer = await startIssuer(t, { path: '/realms/acme' });
  const document: Body = await (await fetch(`${issuer.issuer}/.well-known/openid-configuration`)).json();
  assert.equal(document.issuer, issuer.issuer);
  const exchange = async (code: string, more: object = {}) => {
    const form = { code, redirect_uri: redirectUri, code_verifier: verifier, ...more };
    const answer = await fetch(document.token_endpoint, { method: 'POST', body: new URLSearchParams(form) });
    const body: Body = await answer.json();
    return { status: answer.status, body };
  };
  const newCode = () => {
    const { parameters } = issuer.approve(`${document.authorization_endpoint}${question}`);
    assert.equal(parameters.get('state'), 's');
    assert.equal(parameters.get('iss'), issuer.issuer);
    return parameters.get('code') ?? '';
  };
  const code = newCode();
  const { status, body } = await exchange(code);
  assert.equal(status, 200);
  const { iss, aud, sub, nonce } = claimsOf(body.id_token);
  assert.deepEqual(
    { iss, aud, sub, nonce },
    { iss: issuer.issuer, aud: 'castellan', sub: 'ada-1815', nonce: 'n' },
  );
  assert.equal((await exchange(code)).status, 400);
  assert.equal((await exchange(newCode(), { code_verifier: 'b'.repeat(43) })).status, 400);
  assert.equal((await exchange(newCode(), { redirect_uri: `${redirectUri}/` })).status, 400);

  const headers = { authorization: `Bearer ${body.access_token}` };
  issuer.misbehaviour = { userinfo: { sub: 'somebody-else', email: undefined } };
  const person: Body = await (await fetch(document.userinfo_endpoint, { headers })).json();
  assert.deepEqual([person.sub, 'email' in person], ['somebody-else', false]);
  assert.equal((await fetch(document.userinfo_endpoint)).status, 401);
  assert.equal(claimsOf(issuer.logoutToken({ sub: undefined, sid: 'x' })).sid, 'x');
});
