// Real tokens sent in another way than the documented one, several at once, or of extreme size.
// It must not forge: each real token here is refused only for the way it was sent.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { scenariosOf } from '@castellan/testing/scenario';
import { isAccepted, isRefreshable } from '@castellan/testing/sessions/accounts';
import { assertUniformRefusal, send } from './entry-points.ts';
import { sealed, stranger } from './forge.ts';
import { assertUnrecorded, openForgeryTarget } from './forgery-target.ts';

const scenario = scenariosOf('tokens');
const { service, twin, browser, bases } = await openForgeryTarget({ after });
const { access, refresh } = bases;
const forged = sealed(access, access.header, access.payload, stranger.ed25519.privateKey);
const csrf = [`cookie: ${browser.cookie}`, `x-csrf-token: ${browser.csrfToken}`];
const routes = ['GET /api/v1/users/me', 'GET /api/v1/users/list', 'GET /api/v1/auth/sessions'];

/**
 * Checks that both real tokens still work and that no part of these tokens is recorded. Returns the number of
 * statements checked.
 */
async function assertStillValid(tokens: string[] = []): Promise<number> {
  assert.ok(await isAccepted(service, access.token), 'the real access token');
  assert.ok(await isRefreshable(twin, refresh.token), 'the real refresh token');
  const texts = [access.token, refresh.token, forged, ...tokens];
  return 2 + (await assertUnrecorded([service, twin], [0, 0], texts));
}

const fields: [string, string[], code?: string][] = [
  ['no field', [], 'token_missing'],
  ['an empty field', ['authorization:']],
  ['the scheme alone', ['authorization: Bearer']],
  ['the token alone', [`authorization: ${access.token}`]],
  ...['Basic', 'Token', 'JWT', 'DPoP', 'Digest', 'Negotiate', 'Bearer2', 'XBearer', 'Bear', 'Вearer'].map(
    (scheme): [string, string[]] => [`the scheme ${scheme}`, [`authorization: ${scheme} ${access.token}`]],
  ),
  ['a colon after the scheme', [`authorization: Bearer: ${access.token}`]],
  ['an equals sign after the scheme', [`authorization: Bearer=${access.token}`]],
  ['no space after the scheme', [`authorization: Bearer${access.token}`]],
  ['a tab after the scheme', [`authorization: Bearer\t${access.token}`]],
  ['a comma after the scheme', [`authorization: Bearer, ${access.token}`]],
  ['a parameter', [`authorization: Bearer token=${access.token}`]],
  ['a quoted token', [`authorization: Bearer "${access.token}"`]],
  ['the scheme twice', [`authorization: Bearer Bearer ${access.token}`]],
  ['another scheme before', [`authorization: Basic YTpi, Bearer ${access.token}`]],
  ['two tokens', [`authorization: Bearer ${access.token} ${access.token}`]],
  ['two tokens with a comma', [`authorization: Bearer ${access.token},${access.token}`]],
  ['two credentials with a comma', [`authorization: Bearer ${access.token}, Bearer ${access.token}`]],
  ['a forged token and a real one with a comma', [`authorization: Bearer ${forged}, Bearer ${access.token}`]],
  ['a real token and a forged one with a comma', [`authorization: Bearer ${access.token}, Bearer ${forged}`]],
  ['the refresh token', [`authorization: Bearer ${refresh.token}`]],
];
const right = `authorization: Bearer ${access.token}`;
const secondFields: [string, string][] = [
  ['a forged token', `authorization: Bearer ${forged}`],
  ['an empty field', 'authorization:'],
  ['another scheme', 'authorization: Basic YTpi'],
  ['the same token', right],
];

scenario('an Authorization field is refused unless it is exactly one bearer token', async (tally) => {
  for (const [index, [what, lines, code = 'token_invalid']] of fields.entries())
    for (const route of routes) {
      const answer = await send(index % 2 ? service.url : twin.url, route, lines);
      assertUniformRefusal(answer, code, `${what}, at ${route}`);
      tally.tried();
      tally.held();
    }
  for (const [what, line] of secondFields)
    for (const lines of [
      [line, right],
      [right, line],
    ])
      for (const route of routes) {
        const answer = await send(service.url, route, lines);
        assert.equal(answer.body?.code, 'malformed_request', `${what} in a field of its own, at ${route}`);
        assert.equal(answer.status, 400);
        tally.tried();
        tally.held();
      }
  tally.held(await assertStillValid());
});

const elsewhere: [string, (route: string) => [start: string, lines: string[], body?: string]][] = [
  ...['access_token', 'token', 'authorization', 'Authorization', 'bearer', 'jwt', 'id_token', 'auth'].flatMap(
    (name): (typeof elsewhere)[number][] => [
      [`the parameter ${name}`, (route) => [`${route}?${name}=${access.token}`, []]],
      [`the parameter ${name} with a scheme`, (route) => [`${route}?${name}=Bearer%20${access.token}`, []]],
      [`the cookie ${name}`, (route) => [route, [`cookie: ${name}=${access.token}`]]],
      [`the cookie __Host-${name}`, (route) => [route, [`cookie: __Host-${name}=${access.token}`]]],
    ],
  ),
  ...['refresh_token', 'csrf_token', 'session'].map((name): (typeof elsewhere)[number] => [
    `the cookie ${name}`,
    (route) => [route, [`cookie: ${name}=${access.token}`]],
  ]),
  ...[
    'X-Authorization',
    'X-Access-Token',
    'X-Auth-Token',
    'X-Forwarded-Authorization',
    'X-Api-Key',
    'Token',
  ].map((name): (typeof elsewhere)[number] => [
    `the field ${name}`,
    (route) => [route, [`${name}: Bearer ${access.token}`]],
  ]),
  ['Proxy-Authorization', (route) => [route, [`proxy-authorization: Bearer ${access.token}`]]],
  ['Authorization with an underscore', (route) => [route, [`http_authorization: Bearer ${access.token}`]]],
  ['Sec-WebSocket-Protocol', (route) => [route, [`sec-websocket-protocol: bearer, ${access.token}`]]],
  ['a body', (route) => [route, [], JSON.stringify({ access_token: access.token })]],
];

scenario('an access token is refused unless it comes in the Authorization field', async (tally) => {
  for (const [index, [what, request]] of elsewhere.entries())
    for (const route of routes) {
      const answer = await send(index % 2 ? service.url : twin.url, ...request(route));
      assertUniformRefusal(answer, 'token_missing', `${what}, at ${route}`);
      tally.tried();
      tally.held();
    }
  tally.held(await assertStillValid());
});

const NEW = 'POST /api/v1/auth/new_access_token';
const REFRESH = 'POST /api/v1/auth/refresh';
const json = (value: unknown): string => JSON.stringify(value);
const asCookie = (name: string): string[] => [
  `cookie: ${browser.cookie}; ${name}=${refresh.token}`,
  csrf[1] as string,
];
const misplaced: [
  what: string,
  start: string,
  lines: string[],
  body: string | undefined,
  status: number,
  code: string,
][] = [
  [
    'the Authorization field',
    NEW,
    [...csrf, `authorization: Bearer ${refresh.token}`],
    undefined,
    401,
    'refresh_token_invalid',
  ],
  ['the address', `${NEW}?refresh_token=${refresh.token}`, csrf, undefined, 401, 'refresh_token_invalid'],
  ['a cookie of another name', NEW, asCookie('refresh'), undefined, 401, 'refresh_token_invalid'],
  ['a cookie in upper case', NEW, asCookie('REFRESH_TOKEN'), undefined, 401, 'refresh_token_invalid'],
  ['a prefixed cookie', NEW, asCookie('__Host-refresh_token'), undefined, 401, 'refresh_token_invalid'],
  [
    'the CSRF field',
    NEW,
    [csrf[0] as string, `x-csrf-token: ${refresh.token}`],
    undefined,
    403,
    'csrf_invalid',
  ],
  ['another member', NEW, csrf, json({ token: refresh.token }), 401, 'refresh_token_invalid'],
  [
    'the Authorization field',
    REFRESH,
    [...csrf, `authorization: Bearer ${refresh.token}`],
    '{}',
    422,
    'validation_failed',
  ],
  ['the address', `${REFRESH}?refresh_token=${refresh.token}`, csrf, '{}', 422, 'validation_failed'],
  ['the cookie', REFRESH, asCookie('refresh_token'), '{}', 422, 'validation_failed'],
  ...[[refresh.token], { token: refresh.token }, { $eq: refresh.token }, null, 0, true, ''].flatMap(
    (value): (typeof misplaced)[number][] =>
      [REFRESH, NEW].map((start) => [
        `a member that is ${Array.isArray(value) ? 'an array' : typeof value}`,
        start,
        csrf,
        json({ refresh_token: value }),
        422,
        'validation_failed',
      ]),
  ),
  ['a bare text', REFRESH, csrf, json(refresh.token), 422, 'validation_failed'],
  ['an array', REFRESH, csrf, json([{ refresh_token: refresh.token }]), 422, 'validation_failed'],
  [
    'a member of __proto__',
    REFRESH,
    csrf,
    `{"__proto__":{"refresh_token":"${refresh.token}"}}`,
    400,
    'malformed_json',
  ],
  [
    'a form',
    REFRESH,
    [...csrf, 'content-type: application/x-www-form-urlencoded'],
    `refresh_token=${refresh.token}`,
    415,
    'unsupported_media_type',
  ],
];

scenario('a refresh token is refused unless it comes in its cookie or body member', async (tally) => {
  for (const [index, [what, start, lines, body, status, code]] of misplaced.entries()) {
    const answer = await send(index % 2 ? service.url : twin.url, start, lines, body);
    assert.equal(answer.status, status, `${what}, at ${start.slice(0, 40)}: ${answer.text}`);
    assert.equal(answer.body.code, code, what);
    assert.deepEqual(answer.headers.getSetCookie(), [], what);
    tally.tried();
    tally.held();
  }
  tally.held(await assertStillValid());
});

// KiB. Node accepts 16 of header fields, the /auth operations 16 of body, and a refresh token has at most 4,096
// characters.
const sizes = [3, 8, 15, 17, 64, 1_024];

scenario('a token of any size is refused for its length at once, and harms nothing', async (tally) => {
  const allowed: Record<string, number> = {
    token_invalid: 401,
    refresh_token_invalid: 401,
    validation_failed: 422,
    body_too_large: 413,
    headers_too_large: 431,
  };
  for (const size of sizes)
    for (const filler of ['x', '.', 'A.', '=', '{"a":'].map((text) =>
      text.repeat((size * 1_024) / text.length),
    ))
      for (const [start, lines, body] of [
        ['GET /api/v1/users/me', [`authorization: Bearer ${filler}`]],
        ['GET /api/v1/users/me', [`authorization: Bearer ${access.token}${filler}`]],
        [NEW, [`cookie: ${browser.cookie}; refresh_token=${filler}`, csrf[1] as string]],
        [NEW, csrf, json({ refresh_token: filler })],
        [REFRESH, csrf, json({ refresh_token: `${refresh.token}${filler}` })],
      ] as [string, string[], string?][]) {
        const answer = await send(size % 2 ? service.url : twin.url, start, lines, body);
        assert.equal(
          allowed[answer.body?.code],
          answer.status,
          `${size} KiB at ${start}: ${answer.text.slice(0, 300)}`,
        );
        tally.tried();
        tally.held();
      }
  tally.held(await assertStillValid(['x'.repeat(200)]));
});
