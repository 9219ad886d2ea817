// Castellan between two sides: its people come from another Castellan, and from oidc-provider, and its sign-outs reach both ways.
// It must not look into the providers, but at what their pages ask.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { addApplication } from '@castellan/testing/openid/tokens';
import { freePort } from '@castellan/testing/ports';
import { codeOf, enrol, forgetStep } from '@castellan/testing/second-factors/app';
import { basicOf, postForm } from '@castellan/testing/service-accounts/token-services';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { addPerson } from '@castellan/testing/users/people';
import { type Browser, createBrowser } from '../providers/browser.ts';
import { startCastellan } from '../providers/castellan.ts';
import { startLibrary } from '../providers/oidc-provider.ts';
import { CALLBACK, newBrowser, type Provider, walk } from '../providers/provider.ts';

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const pathOf = (slug: string, name: string): string => `/api/v1/auth/providers/${slug}/${name}`;

/** Two records of one provider: an identity of the one is unknown to the other. */
const slugsOf = (name: Provider['name']) => [name.toLowerCase(), `${name.toLowerCase()}-again`] as const;

const registrationOf = (name: Provider['name']) => {
  const slugs = slugsOf(name);
  return {
    callbacks: slugs.map((slug) => url + pathOf(slug, 'callback')),
    signedOut: slugs.map((slug) => url + pathOf(slug, 'signed-out')),
    backchannelUrl: url + pathOf(slugs[0], 'backchannel-logout'),
  };
};

const upstream = await startCastellan({ after }, registrationOf('Castellan'));
const library = await startLibrary({ after }, registrationOf('oidc-provider'));
const service = await startTestService(
  { after },
  { PORT: String(port), PUBLIC_URL: url, CONCURRENT_SESSION_LIMIT: '0', RATE_LIMIT_AUTHORIZE: 'off' },
);
const admin = await signIn(service, ADMIN);
for (const { name, issuer, application } of [upstream, library])
  for (const slug of slugsOf(name)) {
    const made = await admin.post('/api/v1/identity-providers', {
      slug,
      name: slug,
      kind: 'oidc',
      issuer,
      ...application,
      client_auth: 'client_secret_basic',
      sign_up: 'domains',
      email_trust: 'domains',
      domains: ['example.com'],
      acr_mapping: { aal2: 'aal2' },
      logout: 'upstream',
    });
    assert.equal(made.status, 201, made.text);
  }

/** Goes to the provider and comes back. Returns the page that it leads to, and what the provider asked. */
async function comeBackFrom(provider: Provider, client: TestClient, there: Browser, address: string) {
  const arrival = await walk(provider, there, address);
  assert.ok(arrival.kind === 'application', JSON.stringify(arrival));
  const { origin, pathname, search } = new URL(arrival.address);
  assert.equal(origin, url);
  const answer = await client.get(pathname + search);
  assert.equal(answer.status, 303, answer.text);
  const { pathname: path, searchParams } = new URL(answer.headers.get('location') ?? '', url);
  const page: Record<string, string> = { path, ...Object.fromEntries(searchParams) };
  return { page, asked: arrival.asked };
}

/** Signs in by the provider with the session that the browser may have there. */
async function signInBy(
  provider: Provider,
  there: Browser,
  { slug = slugsOf(provider.name)[0], body = {} }: { slug?: string; body?: object } = {},
) {
  const client = service.client();
  const begun = await client.post(pathOf(slug, 'start'), body);
  assert.equal(begun.status, 200, begun.text);
  const { asked, page } = await comeBackFrom(provider, client, there, begun.body.data.redirect_to);
  const token = await client.post('/api/v1/auth/new_access_token', {});
  assert.equal(token.status, 200, JSON.stringify(page));
  client.accessToken = token.body.data.access_token;
  const me = await client.get('/api/v1/users/me');
  return { client, id: me.body.data.id as string, email: me.body.data.email as string, asked, page };
}

const signedIn = { path: '/provider', result: 'signed_in' };
const stateOf = async (client: TestClient) => (await client.get('/api/v1/users/me')).status;

for (const provider of [upstream, library]) {
  test(`a person of ${provider.name} gets an account, signs in again, and connects another`, async () => {
    const there = newBrowser(provider);
    const first = await signInBy(provider, there);
    assert.equal(first.asked[0], 'sign_in');
    assert.deepEqual([first.page, first.email], [signedIn, provider.email]);

    const second = await signInBy(provider, there);
    assert.deepEqual([second.id, second.page, second.asked], [first.id, signedIn, []]);

    const person = await addPerson(service);
    const client = await signIn(service, person);
    const slug = slugsOf(provider.name)[1];
    const begun = await client.post('/api/v1/users/me/identities', { provider: slug });
    assert.equal(begun.status, 200, begun.text);
    const { page } = await comeBackFrom(provider, client, there, begun.body.data.redirect_to);
    assert.equal(page.result, 'connected');
    assert.equal((await signInBy(provider, there, { slug })).id, person.id);
  });

  test(`a sign-out goes on to ${provider.name}, which asks for the next sign-in`, async () => {
    const there = newBrowser(provider);
    const { client } = await signInBy(provider, there);
    const out = await client.post('/api/v1/auth/logout');
    assert.equal(out.status, 200, out.text);
    assert.equal(await stateOf(client), 401);
    const { page } = await comeBackFrom(provider, client, there, out.body.data.redirect_to);
    assert.deepEqual(page, { path: '/sign-out' });
    assert.equal((await signInBy(provider, there)).asked[0], 'sign_in');
  });
}

test('a session that an administrator ends there ends here, and no other does', async () => {
  const [there, elsewhere] = [newBrowser(upstream), newBrowser(upstream)];
  const { client } = await signInBy(upstream, there);
  const { client: other } = await signInBy(upstream, elsewhere);
  const operator = await signIn(upstream.service, ADMIN);
  const path = `/api/v1/users/${upstream.person.id}/sessions`;
  const { sid } = await providerSessionOf(client);
  const [session] = await upstream.service.sql<{ session_id: string }>(
    'select session_id from application_sessions where sid = $1',
    [sid],
  );
  const ended = await operator.delete(`${path}/${session?.session_id}`);
  assert.equal(ended.status, 200, ended.text);
  await eventually(async () => ((await stateOf(client)) === 401 ? true : undefined), 'the end here');
  assert.equal(await stateOf(other), 200);
  const [entry] = await service.sql<{ details: object }>(
    `select details - 'address' - 'request_id' - 'user_agent' - 'session_ids' as details from audit_logs
     where action = 'session_revoked' and details->>'reason' = 'provider_logout' order by "timestamp" desc limit 1`,
  );
  assert.deepEqual(entry?.details, {
    reason: 'provider_logout',
    provider: 'castellan',
    sessions_ended: 1,
  });
});

test('a session that has ended here before is told to end, and that is no error', async () => {
  const there = newBrowser(upstream);
  const { client } = await signInBy(upstream, there);
  const { sid } = await providerSessionOf(client);
  const out = await client.post('/api/v1/auth/logout');
  await comeBackFrom(upstream, client, there, out.body.data.redirect_to);
  const [notice] = await eventually(async () => {
    const rows = await upstream.service.sql<{ state: string; status: number }>(
      "select state, status from logout_notices where sid = $1 and state <> 'waiting'",
      [sid],
    );
    return rows.length > 0 ? rows : undefined;
  }, 'the answer to a notice');
  assert.deepEqual(notice, { state: 'sent', status: 200 });
});

/** Returns what the session of this browser began with. */
async function providerSessionOf({ accessToken }: TestClient): Promise<{ sid: string; proof: string }> {
  const { claims } = readToken(accessToken ?? '');
  const [row] = await service.sql<{ sid: string; proof: string }>(
    'select provider_sid as sid, proof from sessions where id = $1',
    [claims.sid],
  );
  assert.ok(row);
  return row;
}

/** Returns a browser of the person of Castellan, who has an app: it is trusted, so its session is proved by the password alone. */
async function signInWithTrustedDevice(): Promise<Browser> {
  const { person } = upstream;
  const { secret } = await enrol(await signIn(upstream.service, person));
  person.totp = () => codeOf(secret);
  const client = upstream.service.client();
  const asked = await client.login(person);
  const { token } = asked.body.second_factor;
  await forgetStep(upstream.service, person);
  const trusted = await client.post('/api/v1/auth/login/second-factor', {
    token,
    totp: person.totp(),
    trust_device: true,
  });
  assert.equal(trusted.status, 200, trusted.text);
  await forgetStep(upstream.service, person);
  assert.equal((await client.login(person)).status, 200);
  return createBrowser(upstream.issuer, client.cookies);
}

test('a second factor that an application asks for is proved at the provider, and told to the application', async () => {
  const there = await signInWithTrustedDevice();
  const application = await addApplication(service, admin, {
    redirect_uris: [CALLBACK],
    require_pkce: false,
  });
  const asking = new URLSearchParams({
    client_id: application.client_id,
    redirect_uri: CALLBACK,
    response_type: 'code',
    scope: 'openid',
    acr_values: 'aal2',
  });
  const page = await service.client().get(`/api/v1/oauth/authorize?${asking}`);
  const { searchParams } = new URL(page.headers.get('location') ?? '');
  const interaction_id = searchParams.get('interaction') ?? '';
  const shown = await service.client().get(`/api/v1/oauth/interactions/${interaction_id}`);
  const [slug] = slugsOf(upstream.name);
  assert.equal(shown.body.data.step, 'sign_in');
  assert.ok(shown.body.data.providers.some((one: { slug: string }) => one.slug === slug));

  const { client, asked, page: next } = await signInBy(upstream, there, { body: { interaction_id } });
  assert.deepEqual(asked, ['step_up']);
  const onward = `/api/v1/oauth/authorize?interaction=${interaction_id}`;
  assert.deepEqual(next, { ...signedIn, next: onward });
  assert.equal((await providerSessionOf(client)).proof, 'provider+mfa');
  const answer = await client.get(onward, { headers: { authorization: null } });
  const code = new URL(answer.headers.get('location') ?? '').searchParams.get('code');
  const tokens = await postForm(
    service,
    'token',
    { grant_type: 'authorization_code', code: code ?? '', redirect_uri: CALLBACK },
    basicOf(application.client_id, application.client_secret),
  );
  assert.equal(tokens.status, 200, tokens.text);
  assert.equal(readToken(tokens.body.id_token).claims.acr, 'aal2');
});
