// Every kind of text that the service makes or takes, at every place that takes one: it opens its own places and no others, at
// either instance. It must not know how a text is built.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { eventually } from '@castellan/testing/harness';
import {
  assertionClaims,
  assertionFields,
  newProofKey,
  publicKeyOf,
  secondsNow,
  signedJwt,
} from '@castellan/testing/openid/proofs';
import { addApplication } from '@castellan/testing/openid/tokens';
import { portOf } from '@castellan/testing/ports';
import { scenariosOf } from '@castellan/testing/scenario';
import { watch } from '@castellan/testing/secret-watch';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import {
  basicOf,
  clientToken,
  formRequest,
  postForm,
} from '@castellan/testing/service-accounts/token-services';
import { openPair } from '../fixture.ts';
import {
  AUTHORIZE,
  fieldsOf,
  inBrowser,
  LOGOUT,
  newVerifier,
  parametersOf,
  redeem,
  UNLIMITED,
  visit,
} from './fixture.ts';

const scenario = scenariosOf('tokens');
const { service, twin, admin } = await openPair({ after }, { ...UNLIMITED, CONCURRENT_SESSION_LIMIT: '0' });
const issuer = service.service.deps.settings.publicUrl;

const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';

let logoutToken = '';
const endpoint = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (part: string) => {
    body += part;
  });
  request.on('end', () => {
    logoutToken = new URLSearchParams(body).get('logout_token') ?? '';
    watch.note(logoutToken, 'logout token');
    response.end();
  });
});
endpoint.listen(0, '127.0.0.1');
await once(endpoint, 'listening');
after(() => {
  endpoint.closeAllConnections();
  endpoint.close();
});

const application = await addApplication(service, admin, {
  backchannel_logout_url: `http://127.0.0.1:${portOf(endpoint)}/`,
});
await addApplication(twin, admin);
const { client_id: television } = await addApplication(service, admin, { type: 'device', redirect_uris: [] });
const key = newProofKey('ES256');
const signer = await addApplication(service, admin, {
  auth_method: 'private_key_jwt',
  jwks: { keys: [publicKeyOf(key)] },
});
const account = await addServiceAccount(service, { permissions: ['token.introspect', 'user.read'] });
const person = await inBrowser(service);
const verifier = newVerifier();

/** Returns a code of the person. */
async function newCode(): Promise<string> {
  const answer = await visit(person.browser, `${AUTHORIZE}?${parametersOf(application, verifier)}`);
  return fieldsOf(answer).code ?? assert.fail();
}
const asApplication = basicOf(application.client_id, application.client_secret);
async function newDeviceCode(): Promise<string> {
  const answer = await postForm(service, 'device_authorization', { scope: 'openid', client_id: television });
  return answer.body.device_code ?? assert.fail(answer.text);
}
const PUSHED = 'urn:ietf:params:oauth:request_uri:';
async function newPushedId(): Promise<string> {
  const { client_id: _id, ...form } = Object.fromEntries(
    new URLSearchParams(parametersOf(application, verifier)),
  );
  const answer = await postForm(service, 'par', form, asApplication);
  return answer.body.request_uri?.slice(PUSHED.length) ?? assert.fail(answer.text);
}
const newAssertion = (): string =>
  signedJwt(
    key,
    { alg: key.alg, kid: key.kid, typ: 'JWT' },
    { ...assertionClaims(signer.client_id, issuer) },
  );

/** Makes one of each, because some places use them up, with the places that each opens. */
async function makeKinds(): Promise<Record<string, { text: string; opens: string[] }>> {
  const session = await service.client().post('/api/v1/auth/login', person.user);
  const tokens = (await redeem(service, application, { code: await newCode(), code_verifier: verifier }))
    .body;
  const ended = await inBrowser(service);
  const { code = '' } = fieldsOf(
    await visit(ended.browser, `${AUTHORIZE}?${parametersOf(application, verifier)}`),
  );
  await redeem(service, application, { code, code_verifier: verifier });
  logoutToken = '';
  await ended.browser.post('/api/v1/auth/logout');
  await eventually(() => (logoutToken === '' ? undefined : true), 'the logout token');
  const asked = await visit(
    person.browser,
    `${AUTHORIZE}?${parametersOf(application, verifier, { prompt: 'login' })}`,
  );
  const proof = signedJwt(
    key,
    { typ: 'dpop+jwt', alg: key.alg, jwk: key.jwk },
    { jti: randomUUID(), htm: 'POST', htu: `${issuer}/api/v1/oauth/token`, iat: secondsNow() },
  );
  return {
    'access token of a session': { text: session.body.data.access_token, opens: ['API', 'introspection'] },
    'refresh token of a session': {
      text: session.body.data.refresh_token,
      opens: ['refresh of a session', 'cookie of the refresh token'],
    },
    'cookie of a browser': {
      text: person.browser.cookies.get('castellan_sso') ?? '',
      opens: ['cookie of a browser'],
    },
    'API key': { text: account.key, opens: ['API', 'introspection', 'service account'] },
    'access token of a service account': {
      text: await clientToken(service, account),
      opens: ['API', 'introspection'],
    },
    'secret of an application': { text: application.client_secret, opens: ['application'] },
    'assertion of an application': { text: newAssertion(), opens: ['assertion'] },
    'proof of a key': { text: proof, opens: [] },
    code: { text: await newCode(), opens: ['code'] },
    'access token of an application': {
      text: tokens.access_token,
      opens: ['userinfo', 'form of userinfo', 'introspection'],
    },
    'refresh token of an application': { text: tokens.refresh_token, opens: ['refresh of an application'] },
    'ID token': { text: tokens.id_token, opens: ['hint'] },
    'logout token': { text: logoutToken, opens: [] },
    'id of an interaction': { text: fieldsOf(asked).interaction ?? '', opens: ['interaction'] },
    'code of a device': { text: await newDeviceCode(), opens: ['device'] },
    'id of a pushed request': { text: await newPushedId(), opens: ['pushed request'] },
    'id of an application': { text: application.client_id, opens: [] },
  };
}

const bearer = (text: string) => ({ headers: { authorization: `Bearer ${text}` } });
const isOk = ({ status }: Answer): boolean => status === 200;
/** Returns a browser at the other instance that has nothing but this cookie. */
function withCookie(name: string, text: string): TestClient {
  const client = twin.client();
  client.cookies.set(name, text);
  return client;
}
type Place = { present(text: string): Promise<Answer>; isOpen(answer: Answer): boolean };
const places: Readonly<Record<string, Place>> = {
  API: {
    present: (text) => twin.client().get('/api/v1/users', bearer(text)),
    isOpen: ({ status }) => status !== 401,
  },
  userinfo: { present: (text) => twin.client().get('/api/v1/oauth/userinfo', bearer(text)), isOpen: isOk },
  'form of userinfo': {
    present: (text) =>
      twin.client().request('POST', '/api/v1/oauth/userinfo', formRequest({ access_token: text })),
    isOpen: isOk,
  },
  'query of userinfo': {
    present: (text) => twin.client().get(`/api/v1/oauth/userinfo?access_token=${encodeURIComponent(text)}`),
    isOpen: isOk,
  },
  introspection: {
    present: (text) => postForm(twin, 'introspect', { token: text }, basicOf(account.id, account.key)),
    isOpen: ({ body }) => body.active === true,
  },
  'refresh of a session': {
    present: (text) => twin.client().post('/api/v1/auth/refresh', { refresh_token: text }),
    isOpen: isOk,
  },
  'cookie of the refresh token': {
    present: (text) => withCookie('refresh_token', text).post('/api/v1/auth/new_access_token', {}),
    isOpen: isOk,
  },
  'cookie of a browser': {
    present: (text) =>
      withCookie('castellan_sso', text).get(
        `${AUTHORIZE}?${parametersOf(application, verifier, { prompt: 'none' })}`,
      ),
    isOpen: (answer) => fieldsOf(answer).code !== undefined,
  },
  interaction: {
    present: (text) => twin.client().get(`/api/v1/oauth/interactions/${encodeURIComponent(text)}`),
    isOpen: isOk,
  },
  'pushed request': {
    present: (text) =>
      twin
        .client()
        .get(
          `${AUTHORIZE}?${new URLSearchParams({ client_id: application.client_id, request_uri: `${PUSHED}${text}` })}`,
        ),
    isOpen: ({ status }) => status === 303,
  },
  device: {
    present: (text) =>
      postForm(twin, 'token', { grant_type: DEVICE, device_code: text, client_id: television }),
    isOpen: ({ body }) => body.error === 'authorization_pending',
  },
  code: {
    present: (text) => redeem(twin, application, { code: text, code_verifier: verifier }),
    isOpen: isOk,
  },
  'refresh of an application': {
    present: (text) =>
      postForm(twin, 'token', { grant_type: 'refresh_token', refresh_token: text }, asApplication),
    isOpen: isOk,
  },
  application: {
    present: (text) => postForm(twin, 'introspect', { token: 'x' }, basicOf(application.client_id, text)),
    isOpen: isOk,
  },
  'service account': {
    present: (text) =>
      postForm(twin, 'token', { grant_type: 'client_credentials' }, basicOf(account.id, text)),
    isOpen: isOk,
  },
  assertion: {
    present: (text) => postForm(twin, 'introspect', { token: 'x', ...assertionFields(text) }),
    isOpen: isOk,
  },
  hint: {
    present: (text) => twin.client().get(`${LOGOUT}?id_token_hint=${encodeURIComponent(text)}`),
    isOpen: ({ status }) => status === 303,
  },
};

scenario(
  'seventeen kinds of tokens, secrets and ids open seventeen places exactly where they belong, at another instance than made them',
  async (tally) => {
    for (const [place, { present, isOpen }] of Object.entries(places))
      for (const [kind, { text, opens }] of Object.entries(await makeKinds())) {
        assert.ok(text, kind);
        const answer = await present(text);
        assert.equal(
          isOpen(answer),
          opens.includes(place),
          `${kind} at ${place}: ${answer.status} ${answer.text}`,
        );
        assert.ok(answer.status < 500, answer.text);
        tally.tried();
        tally.held(2);
      }
  },
);
