// An identity provider in the process of the test, on a loopback port. It answers as its kind's documents say, unless it is told to
// misbehave. It signs with node:crypto, so that the library which verifies is not its own judge.
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Hooks } from '../harness.ts';
import { portOf } from '../ports.ts';
import { watch } from '../secret-watch.ts';
import { type Endpoint, type IssuerKind, layoutOf, type Person } from './issuer-kinds.ts';
import { encodePart, newProofKey, type ProofKey, publicKeyOf, secondsNow, signedJwt } from './proofs.ts';

type Members = Record<string, unknown>;

/** What an endpoint does instead of answering. `hang`: it never answers. `dead`: it closes the connection. `large`: 10 MB. */
type Trouble = 'hang' | 'dead' | 'large' | 'redirect' | 'error';

/** How an issuer differs from a good one. Members that are undefined are left out of documents and tokens. */
type Misbehaviour = {
  /** Members of the discovery document. */
  metadata?: Members;
  /** Claims and header members of ID tokens. */
  idToken?: Members;
  header?: Members;
  /** `none`: unsigned. `foreign`: by a key with the `kid` of the published one. `unpublished`: by a key that is in no document. */
  signature?: 'none' | 'foreign' | 'unpublished';
  /** Members of userinfo. */
  userinfo?: Members;
  /** Members of the token endpoint's answer. */
  token?: Members;
  /** Members of the answer that the browser brings. */
  response?: Members;
  /** Seconds by which the clock of the issuer is fast. */
  clock?: number;
  trouble?: Partial<Record<Endpoint, Trouble>>;
};

export type IssuerOptions = {
  kind?: IssuerKind;
  /** Ends the path of an `oidc` issuer, such as `/` or `/realms/acme`. Default: nothing. */
  path?: string;
  client?: { id: string; secret: string | null };
  /** Claims that only userinfo has. */
  onlyInUserinfo?: readonly string[];
  person?: Person;
};

/** A request that an endpoint got. */
type Asked = { endpoint: Endpoint; headers: IncomingMessage['headers']; form: URLSearchParams };

export type Issuer = {
  /** As in the document, and in tokens. */
  issuer: string;
  /** Where the server listens, without a slash at the end. */
  url: string;
  /** For the fixed hosts of a kind: what is at each of them is here. */
  addresses: ReadonlyMap<string, string>;
  client: { id: string; secret: string | null };
  /** Who signs in next. */
  person: Person;
  misbehaviour: Misbehaviour;
  asked: Asked[];
  /** Signs `person` in: returns what the browser brings to the redirect URI, in answer to the URL that it was sent to. */
  approve(url: string): { redirectUri: string; parameters: URLSearchParams };
  /** Answers the URL with an error, as when the person refuses. */
  refuse(url: string, error?: string): { redirectUri: string; parameters: URLSearchParams };
  /** Replaces the published key. */
  rotate(): void;
  /** Returns a logout token of this issuer. Claims that are undefined are left out. */
  logoutToken(claims?: Members, header?: Members): string;
};

type Code = { redirectUri: string; challenge: string | null; nonce: string | null; person: Person };

const LARGE_BYTES = 10_000_000;
const ID_TOKEN_SECONDS = 300;

const given = (members: Members): Members =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** Starts an issuer until `t` ends. */
export async function startIssuer(t: Hooks, options: IssuerOptions = {}): Promise<Issuer> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${portOf(server)}`;
  const layout = layoutOf(options.kind ?? 'oidc', `${url}${options.path ?? ''}`);
  const codes = new Map<string, Code>();
  const accessTokens = new Map<string, Person>();
  let key = newProofKey('ES256');
  const stranger = newProofKey('ES256');

  const issuer: Issuer = {
    issuer: layout.issuer,
    url,
    addresses: new Map(layout.origins.map((origin) => [origin, url])),
    client: options.client ?? { id: 'castellan', secret: 'secret-of-the-stand-in' },
    person: options.person ?? layout.person,
    misbehaviour: {},
    asked: [],
    approve(asked) {
      const { searchParams } = new URL(asked);
      const code = randomBytes(16).toString('hex');
      watch.note(code, 'code of an issuer');
      codes.set(code, {
        redirectUri: searchParams.get('redirect_uri') ?? '',
        challenge: searchParams.get('code_challenge'),
        nonce: searchParams.get('nonce'),
        person: issuer.person,
      });
      return answer(searchParams, { code, ...layout.response?.() });
    },
    refuse: (asked, error = 'access_denied') => answer(new URL(asked).searchParams, { error }),
    rotate() {
      key = newProofKey('ES256');
    },
    logoutToken: (claims = {}, header = {}) =>
      signedJwt(
        key,
        given({ alg: 'ES256', kid: key.kid, typ: 'logout+jwt', ...header }),
        given({
          iss: layout.issuerOf(issuer.person),
          aud: issuer.client.id,
          iat: now(),
          exp: now() + 120,
          jti: randomUUID(),
          events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
          sub: issuer.person.sub,
          ...claims,
        }),
      ),
  };

  const now = (): number => secondsNow() + (issuer.misbehaviour.clock ?? 0);

  function answer(request: URLSearchParams, more: Members) {
    const { response = {} } = issuer.misbehaviour;
    const parameters = new URLSearchParams();
    const members = given({
      state: request.get('state') ?? undefined,
      iss: layout.iss,
      ...more,
      ...response,
    });
    for (const [name, value] of Object.entries(members)) parameters.set(name, String(value));
    return { redirectUri: request.get('redirect_uri') ?? '', parameters };
  }

  function idTokenOf({ person, nonce }: Code): string {
    const { idToken = {}, header = {}, signature } = issuer.misbehaviour;
    const hidden = new Set(options.onlyInUserinfo ?? []);
    const claims = given({
      ...Object.fromEntries(Object.entries(person).filter(([name]) => !hidden.has(name))),
      iss: layout.issuerOf(person),
      aud: issuer.client.id,
      iat: now(),
      exp: now() + ID_TOKEN_SECONDS,
      nonce: nonce ?? undefined,
      ...idToken,
    });
    const parts = { alg: 'ES256', kid: key.kid, typ: 'JWT', ...header };
    if (signature === 'none') return `${encodePart({ ...parts, alg: 'none' })}.${encodePart(claims)}.`;
    const signer: ProofKey = signature === undefined ? key : stranger;
    const kid = signature === 'unpublished' ? stranger.kid : parts.kid;
    return signedJwt(signer, given({ ...parts, kid }), claims);
  }

  function tokenAnswer(form: URLSearchParams): [status: number, body: Members] {
    const code = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (!code || code.redirectUri !== form.get('redirect_uri') || code.challenge !== challenge)
      return layout.isPlainOAuth
        ? [200, { error: 'bad_verification_code', error_description: 'The code is incorrect or expired.' }]
        : [400, { error: 'invalid_grant' }];
    const accessToken = randomBytes(16).toString('hex');
    watch.note(accessToken, 'access token of an issuer');
    accessTokens.set(accessToken, code.person);
    const { token = {} } = issuer.misbehaviour;
    const idToken = layout.isPlainOAuth ? {} : { id_token: idTokenOf(code) };
    return [200, given({ access_token: accessToken, token_type: 'bearer', ...idToken, ...token })];
  }

  function bodyOf(endpoint: Endpoint, asked: Asked): [status: number, body: unknown] {
    const { metadata = {}, userinfo = {} } = issuer.misbehaviour;
    if (endpoint === 'discovery') return [200, given({ ...layout.metadata, ...metadata })];
    if (endpoint === 'jwks') return [200, { keys: [{ ...publicKeyOf(key), use: 'sig', alg: 'ES256' }] }];
    if (endpoint === 'token') return tokenAnswer(asked.form);
    if (endpoint === 'api') return [200, {}];
    const person = accessTokens.get(/^Bearer (.+)$/.exec(asked.headers.authorization ?? '')?.[1] ?? '');
    if (!person) return [401, { error: 'invalid_token' }];
    if (endpoint === 'emails') return [200, userinfo.emails ?? person.emails];
    const { emails: _emails, ...claims } = { ...person, ...userinfo } as Members;
    return [200, given(claims)];
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(request));
    const address = new URL(request.url ?? '/', url);
    const endpoint = layout.endpoints.get(address.pathname);
    response.setHeader('date', new Date(now() * 1_000).toUTCString());
    if (!endpoint && address.pathname === layout.authorizePath) {
      const { redirectUri, parameters } = issuer.approve(address.href);
      response.writeHead(303, { location: `${redirectUri}?${parameters}` }).end();
      return;
    }
    if (!endpoint) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
      return;
    }
    const asked = { endpoint, headers: request.headers, form };
    issuer.asked.push(asked);
    const trouble = issuer.misbehaviour.trouble?.[endpoint];
    if (trouble) return makeTrouble(trouble, request, response);
    const [status, body] = bodyOf(endpoint, asked);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  server.on('request', (request, response) => void serve(request, response));
  return issuer;
}

function makeTrouble(trouble: Trouble, request: IncomingMessage, response: ServerResponse): void {
  if (trouble === 'dead') request.socket.destroy();
  if (trouble === 'redirect') response.writeHead(302, { location: 'http://127.0.0.1/elsewhere' }).end();
  if (trouble === 'error') response.writeHead(503, { 'content-type': 'text/plain' }).end('no');
  if (trouble === 'large')
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ filler: 'x'.repeat(LARGE_BYTES) }));
}
