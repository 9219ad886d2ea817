// A client that behaves like a web page: it keeps cookies, fetches a CSRF token and sends its access token.
// It must not judge answers. Everything it adds can be overridden, to test what happens without it.
import { Agent, request as sendRequest } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { watch, watchAnswer } from './secret-watch.ts';

// `fetch` takes three times the CPU time, and the suites send some hundred thousand requests.
const agent = new Agent({ keepAlive: true });

// biome-ignore lint/suspicious/noExplicitAny: a test reads bodies of every shape and asserts on what it finds.
export type Body = any;
export type Answer = { status: number; headers: Headers; body: Body; text: string };

export type RequestOptions = {
  /** Sent as JSON. */
  json?: unknown;
  /** Sent unchanged. */
  raw?: string | Buffer<ArrayBuffer>;
  /** Null removes a header that would otherwise be sent. */
  headers?: Record<string, string | null>;
};

type Prepared = { headers: [string, string][]; body: string | Buffer<ArrayBuffer> | undefined };

export type TestClient = {
  readonly url: string;
  readonly cookies: Map<string, string>;
  /** Set by `login`; sent as the bearer token. */
  accessToken: string | null;
  refreshToken: string | null;
  /** Returns what `request` would send, for callers that send it by other means. */
  prepare(method: string, options?: RequestOptions): Promise<Prepared>;
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  get(path: string, options?: RequestOptions): Promise<Answer>;
  post(path: string, json?: unknown, options?: RequestOptions): Promise<Answer>;
  put(path: string, json?: unknown, options?: RequestOptions): Promise<Answer>;
  patch(path: string, json?: unknown, options?: RequestOptions): Promise<Answer>;
  delete(path: string, json?: unknown, options?: RequestOptions): Promise<Answer>;
  login(user: { email: string; password: string }): Promise<Answer>;
  /** The same browser against another instance. */
  at(url: string): TestClient;
};

type State = {
  cookies: Map<string, string>;
  csrfToken: string | null;
  accessToken: string | null;
  refreshToken: string | null;
};

export function createClient(
  url: string,
  state: State = { cookies: new Map(), csrfToken: null, accessToken: null, refreshToken: null },
): TestClient {
  async function prepare(method: string, options: RequestOptions = {}): Promise<Prepared> {
    const unsafe = !['GET', 'HEAD', 'OPTIONS'].includes(method);
    if (unsafe && state.csrfToken === null && options.headers?.['x-csrf-token'] === undefined) {
      const answer = await request('GET', '/api/v1/auth/csrf-token');
      state.csrfToken = answer.body?.data?.csrf_token ?? null;
    }
    const headers: Record<string, string | null> = {
      ...(unsafe && state.csrfToken ? { 'x-csrf-token': state.csrfToken } : {}),
      ...(state.accessToken ? { authorization: `Bearer ${state.accessToken}` } : {}),
      ...(state.cookies.size > 0
        ? { cookie: [...state.cookies].map(([name, value]) => `${name}=${value}`).join('; ') }
        : {}),
      ...(options.json === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    };
    watch.noteSent(options.json);
    return {
      headers: Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null),
      body: options.json === undefined ? options.raw : JSON.stringify(options.json),
    };
  }

  async function request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { headers, body } = await prepare(method, options);
    const answer = await send(method, `${url}${path}`, { headers, body });
    for (const cookie of answer.headers.getSetCookie()) keep(cookie);
    watchAnswer(answer);
    return answer;
  }

  function keep(cookie: string): void {
    const [pair = '', ...attributes] = cookie.split('; ');
    const name = pair.slice(0, pair.indexOf('='));
    if (attributes.some((one) => /^(max-age=0|expires=thu, 01 jan 1970)/i.test(one)))
      state.cookies.delete(name);
    else {
      state.cookies.set(name, pair.slice(name.length + 1));
      watch.note(pair.slice(name.length + 1), `cookie ${name}`);
    }
  }

  const withBody =
    (method: string) =>
    (path: string, json?: unknown, options: RequestOptions = {}) =>
      request(method, path, json === undefined ? options : { ...options, json });

  return {
    url,
    cookies: state.cookies,
    get accessToken() {
      return state.accessToken;
    },
    set accessToken(token) {
      state.accessToken = token;
    },
    get refreshToken() {
      return state.refreshToken;
    },
    set refreshToken(token) {
      state.refreshToken = token;
    },
    prepare,
    request,
    get: (path, options) => request('GET', path, options),
    post: withBody('POST'),
    put: withBody('PUT'),
    patch: withBody('PATCH'),
    delete: withBody('DELETE'),
    async login({ email, password }) {
      const answer = await request('POST', '/api/v1/auth/login', {
        json: { email, password },
        headers: { authorization: null },
      });
      if (answer.status === 200) {
        state.accessToken = answer.body.data.access_token;
        state.refreshToken = answer.body.data.refresh_token;
      }
      return answer;
    },
    at: (other) => createClient(other, state),
  };
}

/** Sends what `fetch` would send, and follows no redirect. Rejects as `fetch` does when there is no complete answer. */
function send(method: string, url: string, { headers, body }: Prepared): Promise<Answer> {
  const given = new Set(headers.map(([name]) => name.toLowerCase()));
  const added = Object.entries({
    accept: '*/*',
    'accept-encoding': 'gzip, deflate',
    'content-type': typeof body === 'string' ? 'text/plain;charset=UTF-8' : undefined,
    // Without it, node:http sends the body of a DELETE as the next request.
    'content-length': body === undefined ? undefined : Buffer.byteLength(body),
  }).filter(([name, value]) => value !== undefined && !given.has(name));
  const all = Object.fromEntries([...added, ...headers]);
  return new Promise((resolve, reject) => {
    const refuse = (cause: Error): void => reject(new TypeError('there was no complete answer', { cause }));
    const request = sendRequest(url, { method, headers: all, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', refuse);
      response.on('end', () => {
        const received = new Headers();
        for (const [name, values = []] of Object.entries(response.headersDistinct))
          for (const value of values) received.append(name, value);
        const sent = Buffer.concat(chunks);
        const text = new TextDecoder().decode(
          response.headers['content-encoding'] === 'gzip' && sent.length > 0 ? gunzipSync(sent) : sent,
        );
        resolve({ status: response.statusCode ?? 0, headers: received, text, body: parse(text) });
      });
    });
    request.on('error', refuse);
    request.end(body);
  });
}

function parse(text: string): Body {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
