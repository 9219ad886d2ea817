// Every state-changing route refuses a request whose CSRF token was not made for its CSRF cookie.
// It must not test permissions: the service checks them afterwards.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after } from 'node:test';
import { deriveKey } from '@castellan/server/platform/security/sealing';
import { ADMIN, signIn, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { isUnsafe, routesOf } from '@castellan/testing/http/fixture';
import { rounds, scenariosOf, type Tally } from '@castellan/testing/scenario';
import { isAccepted } from '@castellan/testing/sessions/accounts';
import { openPair } from '../fixture.ts';
import { openBrowser, send } from './entry-points.ts';

const scenario = scenariosOf('tokens');
const { service, twin, admin } = await openPair({ after });
const guarded = (await routesOf(service)).filter((route) => isUnsafe(route) && route.config.csrf !== false);
const [mine, theirs] = [await openBrowser(service), await openBrowser(twin)];
const REFUSAL =
  'The CSRF token is missing or invalid. Get one from /api/v1/auth/csrf-token and send it as X-CSRF-Token with the cookie that came with it.';

/** Returns another text of the same length and alphabet. */
const spoiled = (text: string, at = text.length - 2): string =>
  `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
const cookie = (...pairs: string[]): string => `cookie: ${pairs.join('; ')}`;
const token = (text: string): string => `x-csrf-token: ${text}`;
const value = (pair: string): string => pair.slice(pair.indexOf('=') + 1);
const [id, signature] = value(mine.cookie).split('.') as [string, string];
const bytes = Buffer.from(mine.csrfToken, 'base64url');

/** Returns a token for this browser, made as the service makes it, `ageMs` milliseconds old. */
function tokenOfAge(ageMs: number, secret = TEST_SECRET_KEY, purpose = 'csrf', browserId = id): string {
  const body = Buffer.from(bytes.subarray(0, 22));
  body.writeUIntBE(Date.now() - ageMs, 0, 6);
  const mac = createHmac('sha256', deriveKey(Buffer.from(secret), purpose));
  mac.update(`csrf token\0${browserId}\0`).update(body);
  return Buffer.concat([body, mac.digest()]).toString('base64url');
}

const HOUR = 3_600_000;
const OTHER_SECRET = 'another secret key, also 32 bytes or more';
const attempts: [string, string[]][] = [
  ['neither', []],
  ['no token', [cookie(mine.cookie)]],
  ['no cookie', [token(mine.csrfToken)]],
  ["another browser's token", [cookie(mine.cookie), token(theirs.csrfToken)]],
  ["another browser's cookie", [cookie(theirs.cookie), token(mine.csrfToken)]],
  ['an empty token', [cookie(mine.cookie), 'x-csrf-token:']],
  ['an empty cookie', [cookie('csrf_token='), token(mine.csrfToken)]],
  ['both empty', [cookie('csrf_token='), 'x-csrf-token:']],
  ['the cookie as the token', [cookie(mine.cookie), token(value(mine.cookie))]],
  ['the token as the cookie', [cookie(`csrf_token=${mine.csrfToken}`), token(mine.csrfToken)]],
  ['any equal texts', [cookie('csrf_token=x'), token('x')]],
  ['the cookie id as the token', [cookie(mine.cookie), token(id)]],
  ['the cookie signature as the token', [cookie(mine.cookie), token(signature)]],
  ['a spoiled token', [cookie(mine.cookie), token(spoiled(mine.csrfToken))]],
  ['a token with another time', [cookie(mine.cookie), token(spoiled(mine.csrfToken, 3))]],
  ['a token with another nonce', [cookie(mine.cookie), token(spoiled(mine.csrfToken, 20))]],
  ['a cut token', [cookie(mine.cookie), token(mine.csrfToken.slice(0, -1))]],
  ['a token with padding', [cookie(mine.cookie), token(`${mine.csrfToken}=`)]],
  ['a token with more', [cookie(mine.cookie), token(`${mine.csrfToken}A`)]],
  ['a quoted token', [cookie(mine.cookie), token(`"${mine.csrfToken}"`)]],
  ['two tokens in a field', [cookie(mine.cookie), token(`${mine.csrfToken}, ${mine.csrfToken}`)]],
  ['two fields', [cookie(mine.cookie), token(theirs.csrfToken), token(mine.csrfToken)]],
  [
    'parts of token swapped',
    [
      cookie(mine.cookie),
      token(Buffer.concat([bytes.subarray(22), bytes.subarray(0, 22)]).toString('base64url')),
    ],
  ],
  [
    'zeros as MAC',
    [
      cookie(mine.cookie),
      token(Buffer.concat([bytes.subarray(0, 22), Buffer.alloc(32)]).toString('base64url')),
    ],
  ],
  [
    "another browser's MAC",
    [
      cookie(mine.cookie),
      token(
        Buffer.concat([
          bytes.subarray(0, 22),
          Buffer.from(theirs.csrfToken, 'base64url').subarray(22),
        ]).toString('base64url'),
      ),
    ],
  ],
  ['a spoiled cookie', [cookie(spoiled(mine.cookie)), token(mine.csrfToken)]],
  ['a cookie with another id', [cookie(spoiled(mine.cookie, 14)), token(mine.csrfToken)]],
  ['a cookie with its parts swapped', [cookie(`csrf_token=${signature}.${id}`), token(mine.csrfToken)]],
  ['a cookie without signature', [cookie(`csrf_token=${id}`), token(mine.csrfToken)]],
  ['a cookie with an empty signature', [cookie(`csrf_token=${id}.`), token(mine.csrfToken)]],
  [
    "our id under another browser's signature",
    [cookie(`csrf_token=${id}.${value(theirs.cookie).split('.')[1]}`), token(mine.csrfToken)],
  ],
  ['a cookie of another name', [cookie(`csrf=${value(mine.cookie)}`), token(mine.csrfToken)]],
  [
    'the token behind two cookies that are not its own',
    [cookie(theirs.cookie, spoiled(mine.cookie)), token(mine.csrfToken)],
  ],
  ['the token in the address alone', [cookie(mine.cookie), `x-other: ${mine.csrfToken}`]],
  ['the token in X-XSRF-Token', [cookie(mine.cookie), `x-xsrf-token: ${mine.csrfToken}`]],
  ['the token in CSRF-Token', [cookie(mine.cookie), `csrf-token: ${mine.csrfToken}`]],
  [
    'a method override',
    [cookie(mine.cookie), 'x-http-method-override: GET', 'x-http-method: GET', 'x-method-override: GET'],
  ],
  ['X-Requested-With instead', [cookie(mine.cookie), 'x-requested-with: XMLHttpRequest']],
  [
    'our own origin instead',
    [cookie(mine.cookie), 'origin: http://castellan.test', 'sec-fetch-site: same-origin'],
  ],
];
const aged: [string, () => string][] = [
  ['eight hours old', () => tokenOfAge(8 * HOUR)],
  ['nine hours old', () => tokenOfAge(9 * HOUR)],
  ['of last year', () => tokenOfAge(8_766 * HOUR)],
  ['of 1970', () => tokenOfAge(Date.now())],
  ['of in two minutes', () => tokenOfAge(-120_000)],
  ['of in a year', () => tokenOfAge(-8_766 * HOUR)],
  ['by another SECRET_KEY', () => tokenOfAge(0, OTHER_SECRET)],
  ['by the key of another purpose', () => tokenOfAge(0, TEST_SECRET_KEY, 'idempotency')],
  ['for no browser', () => tokenOfAge(0, TEST_SECRET_KEY, 'csrf', '')],
  ['for the whole cookie', () => tokenOfAge(0, TEST_SECRET_KEY, 'csrf', value(mine.cookie))],
];

type CsrfAttempt = { start: string; what: string; lines: string[] };

/**
 * Sends the request with an administrator's access token, so that only the CSRF check can refuse it. `index` selects
 * the instance.
 */
async function assertRefused(
  tally: Tally,
  index: number,
  { start, what, lines }: CsrfAttempt,
): Promise<void> {
  const url = index % 2 ? service.url : twin.url;
  const answer = await send(url, start, [`authorization: Bearer ${admin.accessToken}`, ...lines], '{}');
  const { request_id, ...body } = answer.body;
  assert.equal(answer.status, 403, `${what}, at ${start}: ${answer.text}`);
  assert.deepEqual(body, { code: 'csrf_invalid', detail: REFUSAL }, `${what}, at ${start}`);
  assert.equal(request_id, answer.headers.get('x-request-id'));
  assert.deepEqual(answer.headers.getSetCookie(), []);
  tally.tried();
  tally.held();
}

scenario(
  'no state-changing route accepts a CSRF token that was not made for the cookie in the same request',
  async (tally) => {
    assert.ok(guarded.length >= 10, `${guarded.length} unsafe routes`);
    const audited = await service.sql('select from audit_logs where action <> $1', ['csrf_refused']);
    for (const [index, { method, path }] of guarded.entries())
      for (const [number, [what, lines]] of attempts.entries())
        if (rounds(0, 1) === 1 || number < 8 || (index + number) % 4 === 0)
          await assertRefused(tally, index + number, { start: `${method} ${path}`, what, lines });
    const after = await service.sql('select from audit_logs where action <> $1', ['csrf_refused']);
    assert.equal(after.length, audited.length, 'a refused request changed something');
    assert.ok(await isAccepted(service, admin.accessToken as string));
    tally.held(2);
  },
);

scenario('a CSRF token is accepted for eight hours, if our key made it for this browser', async (tally) => {
  const routes = ['POST /api/v1/auth/logout', 'POST /api/v1/auth/refresh', 'POST /api/v1/roles'];
  for (const [index, [what, make]] of aged.entries())
    for (const start of routes)
      await assertRefused(tally, index, { start, what, lines: [cookie(mine.cookie), token(make())] });
  // A token that this test builds is accepted, so the refusals above are for the age and the key.
  for (const ageMs of [0, 8 * HOUR - 60_000, -30_000]) {
    const lines = [cookie(mine.cookie), token(tokenOfAge(ageMs))];
    const answer = await send(twin.url, 'POST /api/v1/auth/refresh', lines, '{"refresh_token":"x"}');
    assert.equal(answer.body.code, 'refresh_token_invalid', answer.text);
    tally.tried();
    tally.held();
  }
});

scenario('a CSRF token or cookie with one other character is refused', async (tally) => {
  const step = rounds(5, 1);
  const start = 'POST /api/v1/auth/logout/all';
  for (let at = 0; at < mine.csrfToken.length; at += step)
    await assertRefused(tally, at, {
      start,
      what: `token, ${at}`,
      lines: [cookie(mine.cookie), token(spoiled(mine.csrfToken, at))],
    });
  for (let at = 'csrf_token='.length; at < mine.cookie.length; at += step)
    await assertRefused(tally, at, {
      start,
      what: `cookie, ${at}`,
      lines: [cookie(spoiled(mine.cookie, at)), token(mine.csrfToken)],
    });
  const own = await signIn(service, ADMIN);
  assert.equal((await own.at(twin.url).post('/api/v1/auth/logout')).status, 200);
  tally.held();
});
