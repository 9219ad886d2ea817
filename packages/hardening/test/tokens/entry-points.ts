// Every entry point that takes a session token, and the refusal that it may answer. Requests are raw bytes: a client
// library would correct a forged token or refuse to send it. It must not make tokens.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { TokenKind } from '@castellan/server/platform/security/jwt';
import type { Answer } from '@castellan/testing/client';
import type { TestService } from '@castellan/testing/harness';
import { parse } from '@castellan/testing/volley';

export type EntryPoint = {
  name: string;
  kind: TokenKind;
  carrier: 'header' | 'cookie' | 'body';
  present(url: string, browser: Browser, token: string): Promise<Answer>;
};

/** The CSRF cookie and token of a browser that is not signed in. */
export type Browser = {
  cookie: string;
  csrfToken: string;
  /** Header lines that a proxy in between adds. */
  lines?: string[];
};

export async function openBrowser(service: TestService): Promise<Browser> {
  const client = service.client();
  const answer = await client.get('/api/v1/auth/csrf-token');
  return { cookie: `csrf_token=${client.cookies.get('csrf_token')}`, csrfToken: answer.body.data.csrf_token };
}

// Longer than any answer takes, so that a request that hangs fails.
const ANSWER_TIMEOUT_MS = 60_000;

/** Sends one request on its own connection, with the header lines unchanged. */
export function send(url: string, start: string, lines: string[], body?: string): Promise<Answer> {
  const { hostname, port, host } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const chunks: Buffer[] = [];
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const finish = (error?: Error): void => {
    socket.destroy();
    try {
      if (chunks.length === 0) throw error ?? new Error(`no answer to ${start}`);
      resolve(parse(Buffer.concat(chunks)));
    } catch (failure) {
      reject(failure);
    }
  };
  socket.setTimeout(ANSWER_TIMEOUT_MS, () => finish(new Error(`no answer to ${start} in time`)));
  socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
  // An oversized request is answered and its connection closed before all of it was sent.
  socket.on('error', finish);
  socket.on('end', () => finish());
  const typed = lines.some((line) => line.startsWith('content-type:'));
  const json = body === undefined || typed ? [] : ['content-type: application/json'];
  const length = body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  const head = [`${start} HTTP/1.1`, `host: ${host}`, 'connection: close', ...json, ...length, ...lines];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body ?? ''}`);
  return promise;
}

const asSender = (browser: Browser, ...cookies: string[]): string[] => [
  `cookie: ${[browser.cookie, ...cookies].join('; ')}`,
  `x-csrf-token: ${browser.csrfToken}`,
  ...(browser.lines ?? []),
];

const bearer = (name: string, start: string): EntryPoint => ({
  name,
  kind: 'access',
  carrier: 'header',
  present: (url, browser, token) =>
    send(url, start, [
      `authorization: Bearer ${token}`,
      ...(start.startsWith('GET') ? [] : asSender(browser)),
    ]),
});

const byBody = (name: string, path: string): EntryPoint => ({
  name,
  kind: 'refresh',
  carrier: 'body',
  present: (url, browser, token) =>
    send(url, `POST ${path}`, asSender(browser), JSON.stringify({ refresh_token: token })),
});

export const entryPoints: readonly EntryPoint[] = [
  bearer('the own account', 'GET /api/v1/users/me'),
  bearer('the list of users', 'GET /api/v1/users/list'),
  bearer('logging out everywhere', 'POST /api/v1/auth/logout/all'),
  byBody('/auth/refresh', '/api/v1/auth/refresh'),
  byBody('/auth/new_access_token by body', '/api/v1/auth/new_access_token'),
  {
    name: '/auth/new_access_token by cookie',
    kind: 'refresh',
    carrier: 'cookie',
    present: (url, browser, token) =>
      send(url, 'POST /api/v1/auth/new_access_token', asSender(browser, `refresh_token=${token}`)),
  },
];

/** Signs out with this access token and a refresh cookie. */
export const logOutWith = (
  url: string,
  browser: Browser,
  accessToken: string,
  cookie: string,
): Promise<Answer> =>
  send(url, 'POST /api/v1/auth/logout', [
    `authorization: Bearer ${accessToken}`,
    ...asSender(browser, `refresh_token=${cookie}`),
  ]);

// The exact body except request_id: an answer that revealed which check failed would differ.
const bodies: Readonly<Record<string, string>> = {
  token_missing: 'Sign in: send Authorization: Bearer <access token>.',
  token_invalid: 'The access token is invalid.',
  token_revoked: 'The access token has been revoked. Sign in again.',
  token_expired: 'The access token has expired. Refresh it.',
  refresh_token_invalid: 'The refresh token is invalid or has expired. Sign in again.',
};

/** Checks that this is the only refusal with this code, in status, body, headers and cookies. */
export function assertUniformRefusal(answer: Answer, code: string, what: string): void {
  assert.equal(answer.status, 401, `${what}: ${answer.status} ${answer.text}`);
  const { request_id, ...body } = answer.body;
  assert.deepEqual(body, { code, detail: bodies[code] }, what);
  assert.equal(request_id, answer.headers.get('x-request-id'), what);
  const challenge = code !== 'token_missing';
  assert.equal(
    answer.headers.get('www-authenticate'),
    challenge ? 'Bearer error="invalid_token"' : 'Bearer',
    what,
  );
  assert.deepEqual(answer.headers.getSetCookie(), [], what);
}
