// The library oidc-provider as a provider on a loopback port, with its state in memory and pages of one line.
// It must not be changed to pass a suite: it tells a wrong check from a wrong provider.
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Hooks } from '@castellan/testing/harness';
import { freePort } from '@castellan/testing/ports';
import Library from 'oidc-provider';
import { memoryAdapter } from './memory-adapter.ts';
import {
  type Application,
  type Asked,
  CALLBACK,
  type Provider,
  type Registration,
  SIGNED_OUT,
} from './provider.ts';

const EMAIL = 'ada@example.com';
const SUBJECT = '0b9ab5e0-3a3f-4d8e-9a57-2d8f6c0a7f11';
/** As the defaults of an application in Castellan. */
const ACCESS_TOKEN_SECONDS = 300;

const claims = {
  openid: ['sub'],
  profile: ['name', 'given_name', 'family_name', 'preferred_username', 'updated_at'],
  email: ['email', 'email_verified'],
  groups: ['groups'],
};
const person = {
  sub: SUBJECT,
  name: 'Ada Lovelace',
  given_name: 'Ada',
  family_name: 'Lovelace',
  preferred_username: EMAIL,
  updated_at: 1_700_000_000,
  email: EMAIL,
  email_verified: true,
  groups: ['Engineers'],
};

/** Starts the library until `t` ends. `configuration` is what it takes beside the usual one. */
export async function startLibrary(
  t: Hooks,
  { backchannelUrl, callbacks = [], signedOut = [], origin }: Registration = {},
  configuration: Record<string, unknown> = {},
): Promise<Provider> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const application = newApplication();
  const other = newApplication();
  const browserApp = newApplication();
  const registered = (one: Application, more: object = {}) => ({
    ...one,
    redirect_uris: [CALLBACK, ...callbacks],
    post_logout_redirect_uris: [SIGNED_OUT, ...signedOut],
    grant_types: ['authorization_code', 'refresh_token'],
    // The library takes the secret by one way only; `other` is for the second one.
    token_endpoint_auth_method: one === application ? 'client_secret_basic' : 'client_secret_post',
    ...more,
  });
  const { adapter, age } = memoryAdapter();
  const library = new Library(issuer, {
    adapter,
    clients: [
      registered(
        application,
        backchannelUrl
          ? { backchannel_logout_uri: backchannelUrl, backchannel_logout_session_required: true }
          : {},
      ),
      registered(other),
      { ...registered(browserApp), client_secret: undefined, token_endpoint_auth_method: 'none' },
    ],
    clientBasedCORS: (_context: unknown, asking: string) => asking === origin,
    jwks: { keys: [newKey()] },
    // The suites' browser keeps no cookie from a form that another site posts.
    cookies: {
      keys: [randomBytes(32).toString('hex')],
      long: { sameSite: 'none' },
      short: { sameSite: 'lax' },
    },
    enableHttpPostMethods: true,
    claims,
    pkce: { required: () => false },
    ttl: { AccessToken: ACCESS_TOKEN_SECONDS, IdToken: ACCESS_TOKEN_SECONDS },
    features: {
      devInteractions: { enabled: false },
      claimsParameter: { enabled: true },
      revocation: { enabled: true },
      introspection: { enabled: true },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: async (context: { body: string }, form: string) => {
          context.body = form;
        },
      },
    },
    // Its dispatcher refuses loopback addresses.
    fetch: (url: URL, { dispatcher: _, ...options }: RequestInit & { dispatcher?: unknown }) =>
      fetch(url, options),
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => person }),
    loadExistingGrant: grantAll,
    ...configuration,
  });
  const serve = library.callback();
  const server = createServer((request, response) => {
    const handle = request.url?.startsWith('/interaction/') ? interact(library) : serve;
    handle(request, response).catch((error: Error) => response.writeHead(500).end(error.message));
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    name: 'oidc-provider',
    issuer,
    application,
    other,
    browserApp,
    email: EMAIL,
    answer: async (_browser, page, asked) => answer(page, asked),
    ageCodes: async (seconds) => age(seconds),
  };
}

let applications = 0;
function newApplication(): Application {
  applications += 1;
  const client_secret = createHash('sha256').update(randomBytes(32)).digest('hex');
  return { client_id: `application-${applications}`, client_secret };
}

const newKey = () => ({
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  use: 'sig',
  kid: randomBytes(8).toString('hex'),
});

type GrantContext = {
  oidc: {
    client: { clientId: string };
    session: { accountId: string; grantIdFor(clientId: string): string | undefined };
    result?: { consent?: { grantId?: string } };
    params: { scope?: string };
    provider: Library & { Grant: { find(id: string): Promise<unknown> } };
  };
};

/** Nobody is asked whether an application of their own organisation may sign them in. */
async function grantAll({ oidc }: GrantContext): Promise<unknown> {
  const agreed = oidc.result?.consent?.grantId;
  if (agreed) return oidc.provider.Grant.find(agreed);
  return newGrant(oidc.provider, oidc.session.accountId, oidc.client.clientId, oidc.params.scope);
}

async function newGrant(library: Library, accountId: string, clientId: string, scope = 'openid') {
  const grant = new library.Grant({ accountId, clientId });
  grant.addOIDCScope(scope);
  grant.addOIDCClaims(Object.values(claims).flat());
  await grant.save();
  return grant;
}

/** GET tells what the page asks; POST answers it. */
const interact =
  (library: Library) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { prompt, params, session } = await library.interactionDetails(request, response);
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/plain' }).end(`asks: ${prompt.name}`);
      return;
    }
    await text(request);
    if (prompt.name === 'login')
      return library.interactionFinished(request, response, { login: { accountId: SUBJECT } });
    const accountId = session?.accountId ?? SUBJECT;
    const grant = new library.Grant({ accountId, clientId: params.client_id ?? '' });
    grant.addOIDCScope(params.scope ?? 'openid');
    grant.addOIDCClaims(Object.values(claims).flat());
    return library.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
  };

function answer(page: { address: string; text: string }, asked: Asked[]) {
  const prompt = /^asks: (\w+)$/.exec(page.text)?.[1];
  if (prompt !== undefined) {
    asked.push(prompt === 'login' ? 'sign_in' : 'consent');
    return { address: page.address, form: {} };
  }
  const form = /<form [^>]*action="([^"]+)"/.exec(page.text)?.[1];
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(page.text)?.[1];
  if (form === undefined || xsrf === undefined) return null;
  asked.push('sign_out');
  return { address: form, form: { xsrf, logout: 'yes' } };
}
