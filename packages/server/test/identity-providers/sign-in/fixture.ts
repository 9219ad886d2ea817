// What the suites of sign-ins by a provider share: a provider of the stand-in issuer, and a browser that goes there and comes back.
// It must not judge answers.
import assert from 'node:assert/strict';
import type { Answer, TestClient } from '@castellan/testing/client';
import { newEmail, signIn, type TestService } from '@castellan/testing/harness';
import type { Issuer } from '@castellan/testing/openid/issuer';
import { codeOf, enrol, forgetStep } from '@castellan/testing/second-factors/app';
import { newId } from '../../../src/platform/ids.ts';

type Fields = Record<string, unknown> & {
  role_ids?: string[];
  role_mapping?: { claim: string; equals: string; role_id: string }[];
};

export type Provider = { id: string; slug: string; issuer: Issuer };

let counter = 0;

/** Inserts a provider of the issuer that trusts addresses of example.com and makes accounts for them, unless `fields` say otherwise. */
export async function addProvider(
  { service, sql }: TestService,
  issuer: Issuer,
  { role_ids = [], role_mapping = [], ...fields }: Fields = {},
): Promise<Provider> {
  counter += 1;
  const id = newId();
  const slug = `provider-${counter}`;
  const secret = issuer.client.secret;
  await service.deps.db
    .insertInto('identity_providers')
    .values({
      id,
      slug,
      name: `Provider ${counter}`,
      kind: 'oidc',
      issuer: issuer.issuer,
      client_id: issuer.client.id,
      client_auth: 'client_secret_basic',
      secret_sealed: secret === null ? null : service.deps.providerVault.sealSecret(id, secret),
      scopes: ['openid', 'profile', 'email'],
      position: counter,
      sign_up: 'domains',
      domains: ['example.com'],
      required_for_domains: false,
      tenants: [],
      email_trust: 'domains',
      connect: 'confirm',
      allow_superusers: false,
      mapping: 'creation',
      sync_names: false,
      acr_mapping: '{}',
      logout: 'here',
      extra_parameters: '{}',
      ...fields,
    })
    .execute();
  for (const role of role_ids)
    await sql('insert into identity_provider_roles (provider_id, role_id) values ($1, $2)', [id, role]);
  for (const [position, { claim, equals, role_id }] of role_mapping.entries())
    await sql(
      'insert into identity_role_mappings (provider_id, position, claim, equals, role_id) values ($1, $2, $3, $4, $5)',
      [id, position, claim, equals, role_id],
    );
  return { id, slug, issuer };
}

/** Somebody at the issuer whom nobody knows here yet. */
export const somebody = (claims: Record<string, unknown> = {}) => ({
  sub: newId(),
  email: newEmail('there'),
  email_verified: true,
  given_name: 'Grace',
  family_name: 'Hopper',
  ...claims,
});

/** Begins a sign-in and returns where the browser is sent. */
export async function begin(client: TestClient, provider: Provider, body: object = {}): Promise<string> {
  const answer = await client.post(`/api/v1/auth/providers/${provider.slug}/start`, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data.redirect_to;
}

/** Brings to the callback what the issuer answered. */
export const comeBack = (
  client: TestClient,
  { slug }: Provider,
  { parameters }: { parameters: URLSearchParams },
): Promise<Answer> => client.get(`/api/v1/auth/providers/${slug}/callback?${parameters}`);

/** Signs the person in at the issuer, and comes back. */
export async function signInThere(
  client: TestClient,
  provider: Provider,
  person: { sub: string },
  body: object = {},
): Promise<Answer> {
  const url = await begin(client, provider, body);
  provider.issuer.person = person;
  return comeBack(client, provider, provider.issuer.approve(url));
}

/** Returns the parameters of the page that the answer leads to. */
export function pageOf(answer: Answer): Record<string, string> {
  assert.equal(answer.status, 303, answer.text);
  const location = new URL(answer.headers.get('location') ?? '');
  assert.equal(location.origin + location.pathname, 'http://castellan.test/provider');
  assert.equal(answer.text, '');
  return Object.fromEntries(location.searchParams);
}

/** Returns whom the browser is signed in as by its refresh cookie; null if it is not. */
export async function accountOf(client: TestClient): Promise<{ id: string; email: string } | null> {
  const token = await client.post('/api/v1/auth/new_access_token', {});
  if (token.status !== 200) return null;
  const bearer = { authorization: `Bearer ${token.body.data.access_token}` };
  const me = await client.get('/api/v1/users/me', { headers: bearer });
  assert.equal(me.status, 200, me.text);
  return me.body.data;
}

/** Sets up an app for the account. Returns what makes its codes. */
export async function addFactor(
  service: TestService,
  person: { id: string; email: string; password: string },
): Promise<() => string> {
  const { secret } = await enrol(await signIn(service, person));
  await forgetStep(service, person);
  return () => codeOf(secret);
}

type Event = {
  action: string;
  actor_id: string | null;
  resource_id: string;
  details: Record<string, unknown>;
};

/** Returns the audit entries of a request, oldest first. */
export const entriesOf = ({ sql }: TestService, answer: Answer): Promise<Event[]> =>
  sql<Event>(
    `select action, actor_id, resource_id, details - 'address' - 'request_id' - 'user_agent' as details from audit_logs
     where details->>'request_id' = $1 order by "timestamp", id`,
    [answer.headers.get('x-request-id')],
  );
