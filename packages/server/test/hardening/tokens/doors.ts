// Every place where a session token enters the service, and what a refused one may be answered there.
// It must not make tokens. Requests go out as raw bytes: a client library would tidy a forgery or refuse to send it.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { TokenKind } from '../../../src/platform/security/jwt.ts';
import type { Answer } from '../../client.ts';
import type { TestService } from '../../harness.ts';
import { parse } from '../volley.ts';

export type Door = {
  name: string;
  kind: TokenKind;
  carrier: 'header' | 'cookie' | 'body';
  knock(url: string, browser: Browser, token: string): Promise<Answer>;
};

/** A browser without account: what a state-changing request needs to be looked at. */
export type Browser = {
  cookie: string;
  csrfToken: string;
  /** Header lines of what is in between. */
  lines?: string[];
};

export async function openBrowser(service: TestService): Promise<Browser> {
  const client = service.client();
  const answer = await client.get('/api/v1/auth/csrf-token');
  return { cookie: `csrf_token=${client.cookies.get('csrf_token')}`, csrfToken: answer.body.data.csrf_token };
}

// Longer than any answer takes, shorter than the service's own time-outs: a request that hangs is a finding.
const ANSWER_TIMEOUT_MS = 20_000;

/** One request on a connection of its own, the header lines as they are. */
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
  // An oversized request is answered and cut off while the rest of it is still on its way.
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

const bearer = (name: string, start: string): Door => ({
  name,
  kind: 'access',
  carrier: 'header',
  knock: (url, browser, token) =>
    send(url, start, [
      `authorization: Bearer ${token}`,
      ...(start.startsWith('GET') ? [] : asSender(browser)),
    ]),
});

const byBody = (name: string, path: string): Door => ({
  name,
  kind: 'refresh',
  carrier: 'body',
  knock: (url, browser, token) =>
    send(url, `POST ${path}`, asSender(browser), JSON.stringify({ refresh_token: token })),
});

export const doors: readonly Door[] = [
  bearer('the own account', 'GET /api/v1/users/me'),
  bearer('the list of users', 'GET /api/v1/users/list'),
  bearer('logging out everywhere', 'POST /api/v1/auth/logout/all'),
  byBody('/auth/refresh', '/api/v1/auth/refresh'),
  byBody('/auth/new_access_token by body', '/api/v1/auth/new_access_token'),
  {
    name: '/auth/new_access_token by cookie',
    kind: 'refresh',
    carrier: 'cookie',
    knock: (url, browser, token) =>
      send(url, 'POST /api/v1/auth/new_access_token', asSender(browser, `refresh_token=${token}`)),
  },
];

/** Logs out with this access token and that refresh cookie. */
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

// The whole body but for request_id, word for word: an answer that said which check failed would differ.
const bodies: Readonly<Record<string, string>> = {
  token_missing: 'Sign in: send Authorization: Bearer <access token>.',
  token_invalid: 'The access token is invalid.',
  token_revoked: 'The access token has been revoked. Sign in again.',
  token_expired: 'The access token has expired. Refresh it.',
  refresh_token_invalid: 'The refresh token is invalid or has expired. Sign in again.',
};

/** That this is the one refusal with this code, in every byte that could tell something. */
export function assertTurnedAway(answer: Answer, code: string, what: string): void {
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
