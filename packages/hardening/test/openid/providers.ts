// What the attacks through identity providers share: providers of a stand-in issuer, as a superuser writes them, and browsers that go
// there and come back. It must not judge what a sign-in came to.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Answer, TestClient } from '@castellan/testing/client';
import type { Hooks, TestService } from '@castellan/testing/harness';
import { type Issuer, type IssuerOptions, startIssuer } from '@castellan/testing/openid/issuer';

/** Where no limit of requests is part of the attack. */
export const UNLIMITED = { RATE_LIMIT_PROVIDER_START: 'off', SIGN_IN_ALERTS: 'off' };

export const PROVIDERS = '/api/v1/identity-providers';

export type Provider = { id: string; slug: string; issuer: Issuer };

/** P-256, made for this test. */
const APPLE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvYnYfhkYJN9Ei+os
iGersIjAKBKwsS6a5Yg+iaXBsImhRANCAAQRnIeOOKj7KjmplMehSVUwIrEJ9SN7
J3i1t7eWzH2nLXJM0q94+VIjS2zVQadcOMo2IJrKA2iFa+uxPiqqn+5N
-----END PRIVATE KEY-----
`;

const ofKind: Readonly<Record<string, object>> = {
  microsoft: { issuer: 'https://login.microsoftonline.com/organizations/v2.0' },
  apple: { client_secret: undefined, team_id: 'A1B2C3D4E5', key_id: 'F6G7H8I9J0', private_key: APPLE_KEY },
};

/**
 * Returns a provider that a superuser created. It believes verified addresses of example.com, connects by them and makes accounts for
 * them: the widest trust that there is, unless `fields` say otherwise.
 */
export async function addProvider(admin: TestClient, issuer: Issuer, fields: object = {}): Promise<Provider> {
  const { kind = 'oidc' } = fields as { kind?: string };
  const made = await admin.post(PROVIDERS, {
    slug: `at-${randomUUID().slice(0, 8)}`,
    name: 'Acme',
    kind,
    ...(kind === 'oidc' ? { issuer: issuer.issuer } : {}),
    client_id: issuer.client.id,
    client_secret: issuer.client.secret,
    domains: ['example.com'],
    email_trust: 'domains',
    connect: 'trusted',
    sign_up: 'domains',
    ...ofKind[kind],
    ...fields,
  });
  assert.equal(made.status, 201, made.text);
  return { id: made.body.data.id, slug: made.body.data.slug, issuer };
}

/** Starts an issuer of a kind with fixed hosts, and has the service look for them there. */
export async function startKind(
  hooks: Hooks,
  { providerAddresses }: Pick<TestService, 'providerAddresses'>,
  kind: NonNullable<IssuerOptions['kind']>,
): Promise<Issuer> {
  const issuer = await startIssuer(hooks, { kind });
  for (const [origin, url] of issuer.addresses) providerAddresses.set(origin, url);
  return issuer;
}

export async function beginAt(client: TestClient, { slug }: Provider, body: object = {}): Promise<string> {
  const answer = await client.post(`/api/v1/auth/providers/${slug}/start`, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data.redirect_to;
}

/** Brings what the issuer answered, as a navigation. */
export const comeBack = (
  client: TestClient,
  { slug }: Provider,
  parameters: URLSearchParams,
): Promise<Answer> =>
  client.get(`/api/v1/auth/providers/${slug}/callback?${parameters}`, { headers: { authorization: null } });

/** Signs this person in at the issuer, and comes back. */
export async function signInThere(
  client: TestClient,
  provider: Provider,
  person: Record<string, unknown>,
): Promise<Answer> {
  const url = await beginAt(client, provider);
  const { issuer } = provider;
  issuer.person = { ...issuer.person, sub: randomUUID(), ...person };
  return comeBack(client, provider, issuer.approve(url).parameters);
}

/** Returns `signed_in`, `pending` or `failed`. */
export const resultOf = (answer: Answer): string | null =>
  URL.parse(answer.headers.get('location') ?? '', 'http://castellan.test')?.searchParams.get('result') ??
  null;

/** Returns whom the browser is signed in as; null if it is not. */
export async function accountOf(client: TestClient): Promise<string | null> {
  const answer = await client.post('/api/v1/auth/new_access_token', {}, { headers: { authorization: null } });
  if (answer.status !== 200) return null;
  const bearer = { authorization: `Bearer ${answer.body.data.access_token}` };
  return (await client.get('/api/v1/users/me', { headers: bearer })).body.data.id;
}

/** Returns how many identities the account has, and how many live sessions. */
export async function heldBy(
  { sql }: TestService,
  userId: string,
): Promise<[identities: number, sessions: number]> {
  const [row] = await sql<{ identities: number; sessions: number }>(
    `select (select count(*)::integer from identities where user_id = u.id) as identities,
       (select count(*)::integer from sessions s where s.user_id = u.id
        and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)) as sessions
     from users u where u.id = $1`,
    [userId],
  );
  assert.ok(row);
  return [row.identities, row.sessions];
}
