// Every kind of credential at every place that takes one: it opens its own place and no other.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { basicOf, clientToken, postForm } from '@castellan/testing/service-accounts/token-services';
import { startWithAdmin } from '../applications/fixture.ts';
import { allowed, poll } from './device/fixture.ts';
import {
  addApplication,
  addGrant,
  addSignedIn,
  exchange,
  post,
  refresh,
  type TestApplication,
  tokensOf,
  userinfo,
} from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const web = await addApplication(admin, [service], { scopes: ['openid'] });
const elliptic = await addApplication(admin, [service], { id_token_signing_alg: 'ES256' });
const account = await addServiceAccount(service, { permissions: ['token.introspect', 'user.read'] });
const tv = await addApplication(admin, [service], { type: 'device', redirect_uris: [] });
const who = await addSignedIn(service, { superuser: true });
const { client: signedIn } = await addSignedIn(service);
const identifier = 'https://orders.example.com';
const made = await admin.post('/api/v1/api-resources', { identifier, name: 'Orders' });
const resources = [{ resource_id: made.body.data.id, permission_ids: [] }];
const forResource = await addApplication(admin, [service], { resources });

/** Returns an access token for the API resource. */
async function resourceToken(): Promise<string> {
  const granted = await addGrant(service, forResource, who);
  await service.sql('update access_grants set resources = $2 where id = $1', [
    granted.id,
    JSON.stringify(resources),
  ]);
  return (await exchange(service, forResource, granted, { resource: identifier })).body.access_token;
}
const verifier = 'v'.repeat(43);

type Kind = { text: string; opens: string[] };
const bearer = (text: string): { headers: Record<string, string> } => ({
  headers: { authorization: `Bearer ${text}` },
});

/** Makes one of each, because some places use them up. */
async function makeKinds(): Promise<Record<string, Kind>> {
  const session = await service.client().post('/api/v1/auth/login', who.person);
  const tokens = await tokensOf(service, web, who);
  const others = await tokensOf(service, elliptic, who);
  const grant = await addGrant(service, web, who, { verifier });
  const refreshToken = session.body.data.refresh_token;
  return {
    'access token of a session': { text: session.body.data.access_token, opens: ['API', 'introspection'] },
    'refresh token of a session': { text: refreshToken, opens: ['refresh of a session'] },
    'API key': { text: account.key, opens: ['API', 'introspection', 'service account'] },
    'access token of a service account': {
      text: await clientToken(service, account),
      opens: ['API', 'introspection'],
    },
    'secret of an application': { text: web.client_secret ?? '', opens: ['application'] },
    code: { text: grant.code, opens: ['code'] },
    'device code': { text: (await allowed(service, tv, signedIn)).device_code, opens: ['device code'] },
    'access token of an application': { text: tokens.access_token, opens: ['userinfo', 'introspection'] },
    'access token for an API resource': { text: await resourceToken(), opens: ['introspection'] },
    'refresh token of an application': { text: tokens.refresh_token, opens: ['refresh of an application'] },
    'ID token signed with RS256': { text: tokens.id_token, opens: [] },
    'ID token signed with ES256': { text: others.id_token, opens: [] },
  };
}

/** Each returns whether the text opened the place, and the answer. */
const places: Record<string, (text: string) => Promise<{ isOpen: boolean; answer: Answer }>> = {
  API: async (text) => {
    const answer = await service.client().get('/api/v1/users', bearer(text));
    return { isOpen: answer.status === 200, answer };
  },
  'refresh of a session': async (text) => {
    const answer = await service.client().post('/api/v1/auth/refresh', { refresh_token: text });
    return { isOpen: answer.status === 200, answer };
  },
  userinfo: async (text) => {
    const answer = await userinfo(service, text);
    return { isOpen: answer.status === 200, answer };
  },
  introspection: async (text) => {
    const answer = await postForm(service, 'introspect', { token: text }, basicOf(account.id, account.key));
    return { isOpen: answer.body.active, answer };
  },
  code: async (text) => {
    const answer = await exchange(service, web, { code: text, verifier });
    return { isOpen: answer.status === 200, answer };
  },
  'device code': async (text) => {
    const answer = await poll(service, tv, { device_code: text });
    return { isOpen: answer.status === 200, answer };
  },
  'refresh of an application': async (text) => {
    const answer = await refresh(service, web, text);
    return { isOpen: answer.status === 200, answer };
  },
  application: async (text) => {
    const as: TestApplication = { ...web, client_secret: text };
    const answer = await post(service, 'introspect', as, { token: 'x' });
    return { isOpen: answer.status === 200, answer };
  },
  'service account': async (text) => {
    const answer = await postForm(
      service,
      'token',
      { grant_type: 'client_credentials' },
      basicOf(account.id, text),
    );
    return { isOpen: answer.status === 200, answer };
  },
};

for (const [place, present] of Object.entries(places))
  test(`${place}: only what is made for it opens it`, async () => {
    for (const [kind, { text, opens }] of Object.entries(await makeKinds())) {
      const { isOpen, answer } = await present(text);
      assert.equal(isOpen, opens.includes(place), `${kind}: ${answer.status} ${answer.text}`);
      assert.ok(answer.status < 500, answer.text);
    }
  });

test('a token of an application at the API is token_invalid, whatever its account may do', async () => {
  const kinds = await makeKinds();
  for (const [kind, { text, opens }] of Object.entries(kinds)) {
    if (opens.includes('API') || kind === 'refresh token of a session') continue;
    for (const path of ['/api/v1/users/me', '/api/v1/users']) {
      const answer = await service.client().get(path, bearer(text));
      assert.deepEqual([answer.status, answer.body.code], [401, 'token_invalid'], kind);
    }
  }
});
