// Castellan as a provider on a loopback port: the real service, with applications made by its API.
// It must not read the service's state, except to let codes grow older.
import assert from 'node:assert/strict';
import type { Body } from '@castellan/testing/client';
import { createClient } from '@castellan/testing/client';
import { ADMIN, type Hooks, signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { addApplication } from '@castellan/testing/openid/tokens';
import { freePort } from '@castellan/testing/ports';
import { addPerson, type Person } from '@castellan/testing/users/people';
import type { Browser } from './browser.ts';
import { type Asked, CALLBACK, type Provider, type Registration, SIGNED_OUT } from './provider.ts';

const scopes = ['openid', 'profile', 'email', 'roles', 'groups', 'offline_access'];

/** `totp`: makes the codes of their app, if they have set one up. */
type Owner = Person & { totp?: () => string };

type Castellan = Provider & {
  service: TestService;
  person: Owner;
};

/** Starts the service until `t` ends. */
export async function startCastellan(
  t: Hooks,
  { backchannelUrl, callbacks = [], signedOut = [], origin }: Registration = {},
  environment: Record<string, string> = {},
): Promise<Castellan> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const service = await startTestService(t, {
    PORT: String(port),
    PUBLIC_URL: issuer,
    CONCURRENT_SESSION_LIMIT: '0',
    RATE_LIMIT_AUTHORIZE: 'off',
    ...environment,
  });
  const admin = await signIn(service, ADMIN);
  const fields = {
    redirect_uris: [CALLBACK, ...callbacks],
    post_logout_redirect_uris: [SIGNED_OUT, ...signedOut],
    scopes,
  };
  const web = { ...fields, require_pkce: false };
  const told = backchannelUrl ? { backchannel_logout_url: backchannelUrl } : {};
  const [application, other, browserApp] = [
    await addApplication(service, admin, { ...web, ...told }),
    await addApplication(service, admin, web),
    await addApplication(service, admin, {
      ...fields,
      type: 'spa',
      allowed_origins: origin ? [origin] : [],
    }),
  ];
  const person = await addPerson(service);
  const pick = ({ client_id, client_secret }: typeof application) => ({ client_id, client_secret });
  return {
    name: 'Castellan',
    issuer,
    application: pick(application),
    other: pick(other),
    browserApp: { client_id: browserApp.client_id },
    email: person.email,
    service,
    person,
    answer: (browser, { address }, asked) => answer(browser, issuer, person, address, asked),
    async ageCodes(seconds) {
      await service.sql(
        `update access_grants set code_expires_at = code_expires_at - make_interval(secs => $1),
           code_used_at = code_used_at - make_interval(secs => $1)`,
        [seconds],
      );
    },
  };
}

/** Answers a page by the calls that it sends. */
async function answer(browser: Browser, issuer: string, person: Owner, address: string, asked: Asked[]) {
  const id = new URL(address).searchParams.get('interaction');
  if (id === null) return null;
  const client = createClient(issuer);
  for (const [name, value] of browser.cookies) client.cookies.set(name, value);
  const path = `/api/v1/oauth/interactions/${id}`;
  const found = await client.get(path);
  if (found.status !== 200) return null;
  const { step }: Body = found.body.data;
  asked.push(step);
  const next = await take(client, path, step, person, id);
  browser.cookies.clear();
  for (const [name, value] of client.cookies) browser.cookies.set(name, value);
  return { address: next };
}

async function take(
  client: ReturnType<typeof createClient>,
  path: string,
  step: string,
  person: Owner,
  id: string,
): Promise<string> {
  if (step === 'sign_in') {
    const signedIn = await client.login(person);
    assert.equal(signedIn.status, 200, signedIn.text);
    return `/api/v1/oauth/authorize?interaction=${id}`;
  }
  const [operation, body] = answers[step] ?? [];
  assert.ok(operation, `nobody knows what to do at ${step}`);
  const given = await client.post(`${path}/${operation}`, body?.(person));
  assert.equal(given.status, 200, given.text);
  return given.body.data.redirect_to;
}

const answers: Record<string, [operation: string, body: (person: Owner) => object]> = {
  reauthenticate: ['reauthenticate', ({ password }) => ({ password })],
  step_up: ['reauthenticate', ({ totp }) => ({ totp: totp?.() })],
  select_account: ['account', () => ({ decision: 'continue' })],
  consent: ['consent', () => ({ decision: 'allow' })],
  sign_out: ['sign-out', () => ({ decision: 'sign_out' })],
};
