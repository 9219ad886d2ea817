// Hostile API keys, client credentials, forms of the token services, and questions of the decisions API: none of them
// passes, and each gets an answer of the shape that its standard gives. It must not send one that is right, except to
// check that the service still takes it.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { crc32 } from 'node:zlib';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { readRaw, sendRaw } from '@castellan/testing/http/fixture';
import { assertSound } from '@castellan/testing/invariants';
import { makePermission, makePermissionGroup } from '@castellan/testing/records/fixture';
import { byTurns, scenariosOf, type Tally } from '@castellan/testing/scenario';
import { watch, watchAnswer } from '@castellan/testing/secret-watch';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { basicOf, FORM_TYPE } from '@castellan/testing/service-accounts/token-services';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { assertCleanPrototypes } from './traces.ts';

const scenario = scenariosOf('fuzzing');
const service = await startTestService({ after }, { TRUSTED_PROXIES: '127.0.0.1' });
const elsewhere = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const RIGHTS = ['role.read', 'token.introspect'];
const account = await addServiceAccount(service, { permissions: RIGHTS });
const other = await addServiceAccount(service, { permissions: RIGHTS });

let networks = 0;
/** Every request comes from a network of its own: wrong keys are limited by network. */
function address(): string {
  networks += 1;
  return `${10 + (networks >> 16)}.${(networks >> 8) & 255}.${networks & 255}.1`;
}

type Request = { method?: string; path: string; headers?: Record<string, string>; body?: string };

/** Sends a request through a client without cookies. */
const send = ({ method = 'POST', path, headers = {}, body }: Request): Promise<Answer> =>
  service.client().request(method, path, {
    ...(body === undefined ? {} : { raw: body }),
    headers: { 'x-csrf-token': null, 'x-forwarded-for': address(), ...headers },
  });

/** Sends header lines as they are, in UTF-8; no client could send most of them. */
async function sendLines(path: string, lines: readonly string[], body?: string): Promise<Answer> {
  const head = [
    `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1`,
    'host: castellan.test',
    'connection: close',
    `x-forwarded-for: ${address()}`,
    ...(body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
    ...lines,
  ];
  const answer = readRaw(await sendRaw(service.url, `${head.join('\r\n')}\r\n\r\n${body ?? ''}`));
  watchAnswer(answer);
  return answer;
}

const form = (fields: Record<string, string>): string => new URLSearchParams(fields).toString();
const oauth = (endpoint: string, body: string, headers: Record<string, string> = {}): Request => ({
  path: `/api/v1/oauth/${endpoint}`,
  body,
  headers: { 'content-type': FORM_TYPE, ...headers },
});
const GRANT = { grant_type: 'client_credentials' };

/** Throws unless the answer is an error of the API with this status. */
function assertProblem(answer: Answer, statuses: readonly number[], what: string): void {
  assert.ok(statuses.includes(answer.status), `${what}: ${answer.status} ${answer.text}`);
  assert.deepEqual(Object.keys(answer.body).slice(0, 3), ['detail', 'code', 'request_id'], what);
  if (answer.status === 401) assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/, what);
}

/** Throws unless the answer is an error of RFC 6749, section 5.2, with one of these codes. */
function assertOAuthError(answer: Answer, codes: readonly string[], what: string): void {
  const { status, headers, body, text } = answer;
  assert.ok(codes.includes(body?.error), `${what}: ${status} ${text}`);
  assert.equal(status, body.error === 'invalid_client' ? 401 : 400, `${what}: ${text}`);
  assert.deepEqual(Object.keys(body), ['error', 'error_description'], what);
  assert.match(body.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/, what);
  assert.match(headers.get('content-type') ?? '', /^application\/json\b/, what);
  assert.equal(headers.get('cache-control'), 'no-store', what);
  assert.equal(headers.get('pragma'), 'no-cache', what);
  if (status === 401) assert.match(headers.get('www-authenticate') ?? '', /^(Basic|Bearer) /, what);
}

/** Checks that the right credentials still pass, and that nothing else was written. */
async function assertUnharmed(tally: Tally, tokens: number): Promise<void> {
  assert.equal(await countTokens(), tokens, 'a token was issued');
  for (const { key } of [account, other]) {
    const { status, text } = await send({
      method: 'GET',
      path: '/api/v1/roles',
      headers: { authorization: `Bearer ${key}` },
    });
    assert.equal(status, 200, text);
  }
  tally.held(3 + (await assertSound(service)));
}

const countTokens = async (): Promise<number> => (await service.sql('select from client_tokens')).length;

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Appends the checksum that makes the text a well-formed key. */
function withChecksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let position = 0; position < 6; position += 1) {
    digits = `${DIGITS[rest % 62]}${digits}`;
    rest = Math.floor(rest / 62);
  }
  const key = `${text}_${digits}`;
  watch.note(key, 'API key');
  return key;
}
const anotherThan = (character: string): string => (character === 'a' ? 'b' : 'a');
const swapCase = (text: string): string =>
  text.replace(/[a-z]/gi, (one) => (one === one.toUpperCase() ? one.toLowerCase() : one.toUpperCase()));

/** Returns everything that resembles the key of `account`, by what it is. No text begins or ends with a space. */
async function hostileKeys(): Promise<[what: string, text: string][]> {
  const { key, prefix } = account;
  const [mark, name, secret] = key.split('_') as [string, string, string];
  const [, , otherSecret, otherChecksum] = other.key.split('_') as [string, string, string, string];
  const at = (index: number, text: string): string => key.slice(0, index) + text + key.slice(index + 1);
  const revoked = await addApiKey(service, account.id, { revoked: true });
  const expired = await addApiKey(service, account.id, { expiresInSeconds: -1 });
  const inactive = await addServiceAccount(service, { permissions: RIGHTS, active: false });
  const foreign = await addServiceAccount(elsewhere, { permissions: RIGHTS });
  return [
    ...[1, 9, 10, 22, 23, 40, 65, 66, 67, 71, 72].map((length): [string, string] => [
      `the first ${length} characters`,
      key.slice(0, length),
    ]),
    ['all but the first character', key.slice(1)],
    ['the prefix alone', prefix],
    ['the secret alone', secret],
    ['another last character', at(key.length - 1, anotherThan(key.at(-1) as string))],
    ['a checksum of zeros', `${mark}_${name}_${secret}_000000`],
    ['the checksum of another key', `${mark}_${name}_${secret}_${otherChecksum}`],
    ['another secret with its checksum', withChecksum(`${prefix}_${'a'.repeat(43)}`)],
    ['the secret of another key with its checksum', withChecksum(`${prefix}_${otherSecret}`)],
    ['the secret under another name with its checksum', withChecksum(`${other.prefix}_${secret}`)],
    ['another name with its checksum', withChecksum(`${mark}_${'0'.repeat(12)}_${secret}`)],
    ['a longer secret with its checksum', withChecksum(`${prefix}_${secret}a`)],
    ['another mark with its checksum', withChecksum(`Castellan_${name}_${secret}`)],
    ['upper case', key.toUpperCase()],
    ['lower case', key.toLowerCase()],
    ['swapped case', swapCase(key)],
    ['swapped case with its checksum', withChecksum(`${mark}_${swapCase(name)}_${swapCase(secret)}`)],
    ['a Cyrillic letter', key.replace('c', '\u0441')],
    ['a long s', key.replace('s', '\u017f')],
    ['a full-width letter', key.replace('c', '\uff43')],
    ['a full-width low line', key.replace('_', '\uff3f')],
    ['a zero-width space', at(12, `\u200b${key[12]}`)],
    ['a soft hyphen', at(12, `\u00ad${key[12]}`)],
    ['a combining accent', at(12, `${key[12]}\u0301`)],
    ['a byte order mark', `\ufeff${key}`],
    ['a right-to-left mark', `\u202e${key}`],
    ['a space inside', at(12, ` ${key[12]}`)],
    ['a percent-encoded letter', key.replace('c', '%63')],
    ['base64', Buffer.from(key).toString('base64')],
    ['hexadecimal', Buffer.from(key).toString('hex')],
    ['quotes', `"${key}"`],
    ['the key twice', `${key}${key}`],
    ['the key twice, as a list', `${key},${key}`],
    ['a second key after a comma', `${other.key.slice(0, -1)},${key}`],
    ['a NUL at the end', `${key}\0`],
    ['a NUL inside', at(30, '\0')],
    ['another separator', key.replaceAll('_', '-')],
    ['eight thousand characters', `${key}${'a'.repeat(8_000)}`],
    ['eight thousand low lines', `${mark}${'_'.repeat(8_000)}`],
    ['SQL', `${prefix}' or '1'='1`],
    ['LIKE', `${prefix}_%`],
    ['a key of another instance', foreign.key],
    ['a revoked key', revoked.key],
    ['an expired key', expired.key],
    ['a key of an inactive account', inactive.key],
  ];
}

/** NUL in a header ends a request before it has a route, and so before its errors have a shape. */
function assertBearerRefused(text: string, { status }: Answer, judge: () => void): void {
  if (text.includes('\0')) assert.equal(status, 400);
  else judge();
}

/** Each sends the text as a credential and throws if it passes. */
const carriers: readonly ((text: string, what: string) => Promise<void>)[] = [
  async (text, what) => {
    const answer = await sendLines('/api/v1/roles', [`authorization: Bearer ${text}`]);
    assertBearerRefused(text, answer, () => assertProblem(answer, [401], what));
  },
  async (text, what) => {
    const lines = [`authorization: Bearer ${text}`, 'content-type: application/json'];
    const body = JSON.stringify(question('service_account', account.id, 'role', 'read'));
    const answer = await sendLines('/api/v1/access/v1/evaluation', lines, body);
    assertBearerRefused(text, answer, () => assertProblem(answer, [401], what));
  },
  async (text, what) => {
    const lines = [`authorization: Bearer ${text}`, `content-type: ${FORM_TYPE}`];
    const answer = await sendLines('/api/v1/oauth/introspect', lines, form({ token: account.key }));
    assertBearerRefused(text, answer, () => assertOAuthError(answer, ['invalid_client'], what));
  },
  async (text, what) => {
    for (const id of [account.id, other.id]) {
      const answer = await send(oauth('token', form(GRANT), basicOf(id, text)));
      assertOAuthError(answer, ['invalid_client'], what);
    }
  },
  async (text, what) => {
    const answer = await send(oauth('introspect', form({ token: account.key }), basicOf(account.id, text)));
    assertOAuthError(answer, ['invalid_client'], what);
  },
  async (text, what) => {
    const credentials = { client_id: account.id, client_secret: text };
    const answer = await send(oauth('token', form({ ...GRANT, ...credentials })));
    assertOAuthError(answer, text.includes('\0') ? ['invalid_request'] : ['invalid_client'], what);
  },
  async (text, what) => {
    const fields = { token: account.key, client_id: account.id, client_secret: text };
    const answer = await send(oauth('introspect', form(fields)));
    assertOAuthError(answer, text.includes('\0') ? ['invalid_request'] : ['invalid_client'], what);
  },
  async (text, what) => {
    const answer = await send(
      oauth('introspect', form({ token: text, include: 'permissions' }), basicOf(account.id, account.key)),
    );
    if (text.includes('\0')) assertOAuthError(answer, ['invalid_request'], what);
    else assert.deepEqual([answer.status, answer.text], [200, '{"active":false}'], what);
  },
  async (text, what) => {
    const answer = await send(oauth('revoke', form({ token: text })));
    if (text.includes('\0')) assertOAuthError(answer, ['invalid_request'], what);
    else assert.deepEqual([answer.status, answer.text], [200, ''], what);
  },
];

scenario(
  'no text that resembles an API key passes for one, as a bearer token, in Basic, in a form, or introspected',
  async (tally) => {
    const tokens = await countTokens();
    for (const [index, [what, text]] of (await hostileKeys()).entries())
      for (const carry of byTurns(carriers, 4, index)) {
        await carry(text, what);
        tally.tried();
        tally.held();
      }
    await assertUnharmed(tally, tokens);
  },
);

const percent = (text: string): string =>
  [...text].map((one) => `%${one.charCodeAt(0).toString(16).padStart(2, '0')}`).join('');

/** Returns the Authorization header of HTTP Basic with this text as it is. */
function basicAs(text: string | Buffer): string {
  const encoded = Buffer.from(text).toString('base64');
  watch.note(encoded, 'Basic credentials');
  return `Basic ${encoded}`;
}

scenario(
  'Basic credentials pass in the encoding of RFC 6749 and its percent-encoded variants, and in no other one',
  async (tally) => {
    const { id, key } = account;
    const right = basicAs(`${id}:${key}`);
    const encoded = right.slice('Basic '.length);
    const passing = [
      right,
      right.replace('Basic', 'basic'),
      right.replace('Basic', 'BASIC'),
      basicAs(`${id.toUpperCase()}:${key}`),
      basicAs(`${percent(id)}:${percent(key)}`),
      basicAs(`${percent(id).toUpperCase()}:${percent(key).toUpperCase()}`),
      basicAs(`${id.replaceAll('-', '%2D')}:${key.replaceAll('_', '%5f')}`),
    ];
    const tokens = await countTokens();
    for (const authorization of passing) {
      const { status, text } = await send(oauth('token', form(GRANT), { authorization }));
      assert.equal(status, 200, text);
      tally.tried();
      tally.held();
    }
    const refused = [
      basicAs(`${percent(percent(id))}:${percent(percent(key))}`),
      basicAs(`${id}:${key}%`),
      basicAs(`${id}:%zz${key}`),
      basicAs(`${id}:${key}%00`),
      basicAs(`${id}:${key}\0`),
      basicAs(`${id}:${key}+`),
      basicAs(`${id}:+${key}`),
      basicAs(`${id}: ${key}`),
      basicAs(`${id}:${key} `),
      basicAs(`${id}:${key}\n`),
      basicAs(`${id}:${key}:`),
      basicAs(`${id}::${key}`),
      basicAs(`${id}%3A${key}`),
      basicAs(`${id}%3a:${key}`),
      basicAs(`${id}:%ff${key}`),
      basicAs(Buffer.concat([Buffer.from(`${id}:${key}`), Buffer.from([0xff])])),
      basicAs(`\ufeff${id}:${key}`),
      basicAs(Buffer.from(`${id}:${key}`, 'utf16le')),
      basicAs(`${key}:${id}`),
      basicAs(`:${key}`),
      basicAs(`${key}:`),
      basicAs(key),
      basicAs(`${account.name}:${key}`),
      basicAs(`{${id}}:${key}`),
      basicAs(`urn:uuid:${id}:${key}`),
      basicAs(`${id.replaceAll('-', '')}:${key}`),
      basicAs(`${id}+:${key}`),
      basicAs(`${other.id}:${key}`),
      basicAs(`${id}:${other.key}`),
      basicAs(`*:${key}`),
      basicAs(encoded),
      `Basic ${encoded.replace(/=+$/, '')}`,
      `Basic ${encoded}=`,
      `Basic ${encoded}====`,
      `Basic ${encoded.slice(0, 20)} ${encoded.slice(20)}`,
      `Basic ${encoded} x`,
      `Basic ${encoded}, Basic ${encoded}`,
      `Basic ${encodeURIComponent(encoded)}`,
      `Basic:${encoded}`,
      `Basic${encoded}`,
      `Basic ${id}:${key}`,
      'Basic',
      `Digest ${encoded}`,
      `Basic realm="x" ${encoded}`,
      // An API key as a bearer token is no client authentication.
      `Bearer ${key}`,
      key,
    ];
    for (const [index, authorization] of refused.entries()) {
      for (const request of [
        oauth('token', form(GRANT), { authorization }),
        ...(authorization.startsWith('Bearer ')
          ? []
          : [oauth('introspect', form({ token: key }), { authorization })]),
      ])
        assertOAuthError(await send(request), ['invalid_client'], `refused ${index} ${request.path}`);
      tally.tried();
      tally.held();
    }
    await assertUnharmed(tally, tokens + passing.length);
  },
);

scenario('a request that presents two credentials is refused, even if both are right', async (tally) => {
  const tokens = await countTokens();
  const { id, key } = account;
  const { authorization: basic } = basicOf(id, key);
  const secret = { client_id: id, client_secret: key };
  for (const endpoint of ['token', 'introspect'])
    for (const [fields, authorization] of [
      [secret, basic],
      [{ client_secret: key }, basic],
      [{ client_secret: 'x' }, basic],
      [{ client_id: other.id }, basic],
      [secret, `Bearer ${key}`],
      [secret, basicOf(other.id, other.key).authorization],
      [secret, 'Basic'],
    ] as const) {
      const body = form({ ...GRANT, token: key, ...fields });
      const answer = await send(oauth(endpoint, body, { authorization }));
      // Wrong credentials in the header are refused before the form is read.
      const codes = authorization === 'Basic' ? ['invalid_request', 'invalid_client'] : ['invalid_request'];
      assertOAuthError(answer, codes, `${endpoint} ${Object.keys(fields)}`);
      tally.tried();
      tally.held();
    }
  const headers = [`Bearer ${key}`, `Bearer ${other.key}`, basic, 'Bearer x', 'Basic x', ''];
  for (const [first, one] of headers.entries())
    for (const [second, two] of headers.entries()) {
      const what = `Authorization ${first} and ${second}`;
      const both = [`authorization: ${one}`, `Authorization: ${two}`];
      assertProblem(await sendLines('/api/v1/roles', both), [400], what);
      const body = form({ ...GRANT, token: key });
      for (const endpoint of ['token', 'introspect'])
        assertOAuthError(
          await sendLines(`/api/v1/oauth/${endpoint}`, [...both, `content-type: ${FORM_TYPE}`], body),
          ['invalid_request'],
          what,
        );
      tally.tried(3);
      tally.held(3);
    }
  await assertUnharmed(tally, tokens);
});

scenario(
  'the token services refuse every malformed form of a right client with the error of RFC 6749',
  async (tally) => {
    const tokens = await countTokens();
    const { id, key } = account;
    const authorization = basicOf(id, key).authorization;
    const valid = form(GRANT);
    const inForm = form({ ...GRANT, client_id: id, client_secret: key });
    const malformed = ['invalid_request'];
    const type = (value: string): Record<string, string> => ({ authorization, 'content-type': value });
    const requests: [Request, codes: readonly string[]][] = [
      ...[
        '',
        'grant_type',
        'grant_type=',
        'grant_type[]=client_credentials',
        'Grant_Type=client_credentials',
        'grant%255ftype=client_credentials',
        'client_credentials',
        '{"grant_type":"client_credentials"}',
        `${valid}&${valid}`,
        `${valid}&grant_type=password`,
        `${valid}&%67rant_type=client_credentials`,
        `${valid}&grant_type`,
        `${valid}&scope=&scope=`,
        `${valid}&x=%`,
        `${valid}&x=%f`,
        `${valid}&x=%ff`,
        `${valid}%00`,
        `${valid}&x=${'x'.repeat(17_000)}`,
        `${'&'.repeat(17_000)}${valid}`,
        `${valid}${Array.from({ length: 300 }, (_, index) => `&x${index}=1`).join('')}`,
        `__proto__=x&constructor=y`,
      ].map((body): [Request, readonly string[]] => [oauth('token', body, { authorization }), malformed]),
      ...[
        'grant_type=password',
        'grant_type=CLIENT_CREDENTIALS',
        'grant_type=+client_credentials',
        'grant_type=client_credentials%20',
        'grant_type=client_credentials%0a',
        'grant_type=client_credentials;x=1',
        'grant_type=client%5Fcredentials%E2%80%8B',
        'grant_type=refresh_token&refresh_token=x',
        'grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=x',
        'grant_type=__proto__',
      ].map((body): [Request, readonly string[]] => [
        oauth('token', body, { authorization }),
        ['unsupported_grant_type'],
      ]),
      [oauth('token', `${valid}&scope=role.read`, { authorization }), ['invalid_scope']],
      [oauth('token', `${inForm}&client_secret=${key}`), malformed],
      [oauth('token', `client_secret=x&${inForm}`), malformed],
      [oauth('token', `${inForm}&client_id=${id}`), malformed],
      [oauth('token', `${inForm}&%63lient_id=${other.id}`), malformed],
      // A secret in the address is no credential, and is not logged.
      [{ ...oauth('token', valid), path: `/api/v1/oauth/token?${inForm}` }, ['invalid_client']],
      [{ ...oauth('token', '', { authorization }), path: `/api/v1/oauth/token?${valid}` }, malformed],
      [oauth('token', form({ ...GRANT, client_id: id })), ['invalid_client']],
      [oauth('token', form({ ...GRANT, client_secret: key })), ['invalid_client']],
      [oauth('token', form({ ...GRANT, client_id: ` ${id}`, client_secret: key })), ['invalid_client']],
      [oauth('token', form({ ...GRANT, client_id: id, client_secret: `${key} ` })), ['invalid_client']],
      [oauth('token', form({ ...GRANT, client_id: other.id, client_secret: key })), ['invalid_client']],
      ...['introspect', 'revoke'].flatMap((endpoint): [Request, readonly string[]][] =>
        [
          '',
          'token',
          'token=',
          'Token=x',
          'token[]=x',
          `token=${key}&token=${key}`,
          `token=x&%74oken=${key}`,
          `token=${key}%00`,
          `token=${key}&x=%zz`,
          `token=${'x'.repeat(17_000)}`,
        ].map((body) => [
          oauth(endpoint, body, endpoint === 'introspect' ? { authorization } : {}),
          malformed,
        ]),
      ),
      [oauth('introspect', `token=x&include=roles`, { authorization }), malformed],
      [oauth('introspect', `token=x&include=permissions&include=permissions`, { authorization }), malformed],
      ...['token', 'introspect', 'revoke'].flatMap((endpoint): [Request, readonly string[]][] => {
        const body = `${valid}&token=${key}`;
        const own: [Request, readonly string[]][] = [
          'application/json',
          'text/plain',
          'multipart/form-data; boundary=x',
          `${FORM_TYPE}x`,
          `x${FORM_TYPE}`,
          'application/*',
          '*/*',
          ';',
        ].map((value) => [oauth(endpoint, body, type(value)), malformed]);
        const packed = oauth(endpoint, body, { authorization, 'content-encoding': 'gzip' });
        return [...own, [packed, malformed]];
      }),
    ];
    for (const [request, codes] of requests) {
      const what = `${request.path.split('?')[0]} ${request.body?.replaceAll(key, 'KEY').slice(0, 80)}`;
      assertOAuthError(await send(request), codes, what);
      tally.tried();
      tally.held();
    }
    for (const endpoint of ['token', 'introspect', 'revoke'])
      for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
        const path = `/api/v1/oauth/${endpoint}?${inForm}&token=x`;
        const { status, text } = await send({ method, path, headers: { authorization } });
        assert.ok(status === 404 || status === 405, `${method} ${endpoint}: ${status} ${text}`);
        tally.tried();
        tally.held();
      }
    await assertUnharmed(tally, tokens);
  },
);

const group = await makePermissionGroup(admin, { name: 'vault' });
for (const name of ['open', 'burn']) await makePermission(admin, { group_id: group.id, name });
const keepers = await addRole(service, 'vault.open');
const [keeper] = await Promise.all(Array.from({ length: 4 }, () => addPerson(service, { roles: [keepers] })));
const nobody = await addPerson(service);
const checker = await addServiceAccount(service, { permissions: ['access.check', 'session.read'] });
const stranger = await addServiceAccount(service);

function question(type: string, id: string, resource: string, name: string) {
  return { subject: { type, id }, action: { name }, resource: { type: resource, id: '1' } };
}
const asked = question('user', nobody.id, 'vault', 'open');
const granted = question('user', keeper?.id as string, 'vault', 'open');
const PATHS = ['evaluation', 'evaluations', 'search/subject', 'search/action'] as const;
type Path = (typeof PATHS)[number];

const ask = (key: string, path: Path, body: string): Promise<Answer> =>
  send({
    path: `/api/v1/access/v1/${path}`,
    body,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  });

/** Returns the JSON text of the value with more members, which may be written as no object could be. */
const withText = (value: object, members: string): string =>
  `${JSON.stringify(value).slice(0, -1)},${members}}`;

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const wide = (members: number): string => `{${Array.from({ length: members }, (_, at) => `"k${at}":0`)}}`;
const wrongTypes = [null, 0, 1, true, '', 'user', [], [asked.subject], {}];

/** Bodies that are no question, with the codes of their refusals, by path. */
function refusedBodies(path: Path): [body: string, code: string][] {
  const base: Record<string, object> = asked;
  const invalid = (value: unknown): [string, string] => [JSON.stringify(value), 'invalid_input'];
  const entities = path === 'search/action' ? ['subject', 'resource'] : ['subject', 'action', 'resource'];
  const text = JSON.stringify(asked);
  return [
    ...entities.flatMap((entity) => [
      ...wrongTypes.map((wrong) => invalid({ ...base, [entity]: wrong })),
      invalid({ ...base, [entity]: undefined }),
      // A prototype is no member.
      [
        withText(
          { ...base, [entity]: undefined },
          `"__proto__":{"${entity}":${JSON.stringify(base[entity])}}`,
        ),
        'malformed_json',
      ] as [string, string],
    ]),
    ...Object.entries({ subject: ['type', 'id'], action: ['name'], resource: ['type', 'id'] })
      .filter(([entity]) => entities.includes(entity))
      .flatMap(([entity, members]) =>
        members
          // A search for subjects ignores the id.
          .filter((member) => path !== 'search/subject' || entity !== 'subject' || member !== 'id')
          .flatMap((member) =>
            [undefined, null, 1, true, [], ['user'], {}].map((wrong) =>
              invalid({ ...base, [entity]: { ...base[entity], [member]: wrong } }),
            ),
          ),
      ),
    ...[1, 'x', true, []].map((context) => invalid({ ...base, context })),
    ...[[asked], 'evaluate', 1, true].map(invalid),
    ['null', 'malformed_json'],
    [withText(asked, `"context":${nested(40)}`), 'malformed_json'],
    [withText(asked, `"context":${nested(50_000).slice(0, 90_000)}`), 'malformed_json'],
    [withText(asked, `"context":${wide(60_000)}`), 'body_too_large'],
    [withText(asked, `"context":{"a":"${'x'.repeat(1_100_000)}"}`), 'body_too_large'],
    ...[
      '',
      '{',
      text.slice(0, -1),
      `${text}${text}`,
      text.replaceAll('"', "'"),
      text.replace('}', ',}'),
      `/**/${text}`,
      `${text}//`,
      withText(asked, '"context":NaN'),
      withText(asked, '"context":{"a":01}'),
      withText(asked, '"context":{"a":"\t"}'),
    ].map((body): [string, string] => [body, 'malformed_json']),
    ...(path === 'evaluations'
      ? [
          invalid({ ...asked, evaluations: Array.from({ length: 1_001 }, () => ({})) }),
          ...[{}, 'x', 1, null, true].map((evaluations) => invalid({ ...asked, evaluations })),
          ...[{ evaluations_semantic: 'any' }, { evaluations_semantic: 1 }, 'x', 1, []].map((options) =>
            invalid({ ...asked, evaluations: [{}], options }),
          ),
        ]
      : []),
  ];
}

scenario('each malformed question to the decisions API is refused with its code', async (tally) => {
  for (const path of PATHS)
    for (const [index, [body, code]] of refusedBodies(path).entries()) {
      const answer = await ask(checker.key, path, body);
      const what = `${path} ${index} ${body.slice(0, 120)}`;
      assertProblem(answer, code === 'body_too_large' ? [413] : [400], what);
      assert.equal(answer.body.code, code, what);
      tally.tried();
      tally.held();
    }
  assertCleanPrototypes();
  tally.held(1 + (await assertSound(service)));
});

/** Questions about somebody without the right, in every way that could make them one about somebody who has it. */
function hostileQuestions(): string[] {
  const right = JSON.stringify(granted.subject);
  const subjects = (value: unknown): string => JSON.stringify({ ...asked, subject: value });
  const user = (id: string): string => subjects({ type: 'user', id });
  const named = (resource: string, name: string): string =>
    JSON.stringify({ ...asked, resource: { type: resource, id: '1' }, action: { name } });
  const id = keeper?.id as string;
  const email = keeper?.email as string;
  return [
    withText(asked, `"__proto__":{"subject":${right}}`),
    withText(asked, `"constructor":{"prototype":{"subject":${right},"decision":true,"is_superuser":true}}`),
    withText(asked, `"context":{"__proto__":{"is_superuser":true},"decision":true}`),
    withText(asked, `"context":${nested(25)}`),
    withText(asked, `"context":${wide(1_500)}`),
    withText(asked, `"properties":{"is_superuser":true},"decision":true,"subject ":${right}`),
    withText(asked, `"Subject":${right},"SUBJECT":${right},"\\u0000subject":${right}`),
    // Of repeated members the last one counts.
    `{"subject":${right},${JSON.stringify(asked).slice(1)}`,
    `{"\\u0073ubject":${right},${JSON.stringify(asked).slice(1)}`,
    JSON.stringify({ ...asked, subject: { ...asked.subject, properties: { id, is_superuser: true } } }),
    `{"subject":{"type":"user","id":"${nobody.id}","__proto__":{"id":"${id}"}},${JSON.stringify({ ...asked, subject: undefined }).slice(1)}`,
    ...['', ' ', '*', '%', '_', '__proto__', 'constructor', 'null', 'undefined', '0', '-1', '{}', '[]'].map(
      user,
    ),
    user(`${id}\0`),
    user(`${nobody.id}\0${id}`),
    user(`${nobody.id},${id}`),
    user(`${nobody.id} or ${id}`),
    user(`' or id = '${id}`),
    user(`{${id}`),
    user(id.slice(0, -1)),
    user(`${id}0`),
    user(email.replace('@', '\uff20')),
    user(email.replace('e', '\u0435')),
    user(`${email}\u200b`),
    user(`%${email.slice(1)}`),
    user(`"${email}"`),
    user(email.split('@')[0] as string),
    user('\ud800'),
    user('x'.repeat(100_000)),
    ...['User', 'USER', 'users', ' user', 'user ', 'user\0', 'us\u0435r', 'toString', '__proto__', ''].map(
      (type) => subjects({ type, id }),
    ),
    subjects({ type: 'service_account', id }),
    subjects({ type: 'role', id }),
    subjects({ type: 'user', id: keepers }),
    named('vault', '*'),
    named('*', '*'),
    named('vault', ''),
    named('', 'vault.open'),
    named('', ''),
    named('vault', '__proto__'),
    named('__proto__', 'open'),
    named('constructor', 'name'),
    named('vault.', 'open'),
    named('vault', '.open'),
    named('vault', 'open\0'),
    named('v\u0430ult', 'open'),
    named('vault', 'open\u200b'),
    named('vault', 'op%'),
    named('%', '%'),
    named('\ud800', '\udfff'),
  ];
}

scenario('no spelling of a question makes the right of one subject that of another', async (tally) => {
  const judge = (answer: Answer, what: string): void => {
    assert.ok(answer.status === 200 || answer.status === 400, `${what}: ${answer.status} ${answer.text}`);
    assert.ok(!answer.text.includes('"decision":true'), `${what}: ${answer.text}`);
    tally.tried();
    tally.held();
  };
  const questions = hostileQuestions();
  for (const text of questions) {
    judge(await ask(checker.key, 'evaluation', text), `evaluation ${text.slice(0, 120)}`);
    judge(await ask(checker.key, 'evaluations', text), `evaluations ${text.slice(0, 120)}`);
    judge(
      await ask(checker.key, 'evaluations', withText(asked, `"evaluations":[{},${text}]`)),
      `item ${text.slice(0, 120)}`,
    );
    const search = await ask(checker.key, 'search/action', text);
    judge(search, `search/action ${text.slice(0, 120)}`);
    if (search.status === 200)
      assert.deepEqual(search.body.results, [], `search/action ${text.slice(0, 120)}`);
  }
  // One item has the right, and no other one gets it.
  const mixed = JSON.stringify({
    ...asked,
    evaluations: Array.from({ length: 1_000 }, (_, at) => (at === 500 ? { subject: granted.subject } : {})),
  });
  const { body, text } = await ask(checker.key, 'evaluations', mixed);
  assert.deepEqual(
    body.evaluations.flatMap(({ decision }: { decision: boolean }, at: number) => (decision ? [at] : [])),
    [500],
    text.slice(0, 200),
  );
  // Without `access.check`, a question about somebody else has no answer at all.
  for (const question of [...questions, JSON.stringify(granted), mixed])
    for (const path of PATHS) {
      const answer = await ask(stranger.key, path, question);
      assertProblem(answer, [400, 403], `${path} ${question.slice(0, 120)}`);
      tally.tried();
      tally.held();
    }
  assertCleanPrototypes();
  tally.held(2 + (await assertSound(service)));
});

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
/** Flips a bit of the last character that decoding ignores. */
const withSpareBit = (text: string): string => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return text.slice(0, -1) + alphabet[alphabet.indexOf(text.at(-1) as string) ^ 1];
};

scenario(
  'a page token of another search, another list or another caller, or one that was changed, is refused',
  async (tally) => {
    const search = { subject: { type: 'user' }, action: asked.action, resource: asked.resource };
    const page = async (key: string, path: Path, body: object, token?: unknown): Promise<Answer> =>
      ask(key, path, JSON.stringify({ ...body, page: token === undefined ? { limit: 1 } : { token } }));
    const first = await page(checker.key, 'search/subject', search);
    assert.equal(first.status, 200, first.text);
    const token: string = first.body.page.next_token;
    const [payload, code] = token.split('.') as [string, string];
    const another = await addServiceAccount(service, { permissions: ['access.check'] });
    const actions = { subject: { type: 'role', id: 'Admin' }, resource: asked.resource };
    const others = [
      (await page(checker.key, 'search/action', actions)).body.page.next_token,
      (await page(another.key, 'search/subject', search)).body.page.next_token,
      (await page(checker.key, 'search/subject', { ...search, subject: { type: 'role' } })).body.page
        .next_token,
      (await page(checker.key, 'search/subject', { ...search, context: {} })).body.page.next_token,
      (await admin.get('/api/v1/audit-logs?size=1')).body.next_cursor,
      (await admin.get('/api/v1/sessions?size=1')).body.next_cursor,
    ].filter((one) => typeof one === 'string');
    assert.ok(others.length >= 4, 'there are tokens of other lists');
    for (const one of others) assert.notEqual(one, '');
    const [limit, after, total] = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const changed: unknown[] = [
      ...[
        [1_000, after, total],
        [limit, null, total],
        [limit, nobody.id, total],
        [limit, after, 0],
        [limit, after, total, 1],
        [-1, after, total],
        { 0: limit, 1: after, 2: total },
        null,
      ].map((value) => `${encode(value)}.${code}`),
      `${payload}.${encode('x')}`,
      `${payload}.${'A'.repeat(43)}`,
      `${payload}.${code.slice(0, -1)}`,
      `${payload}.${withSpareBit(code)}`,
      `${payload}.${code}=`,
      `${payload}.${code}.`,
      `${payload}.${code}.${code}`,
      `${payload}.${code} `,
      `${payload}.${code}\n`,
      `${payload}.${code}\0`,
      `${payload}.${code.slice(0, 20)}.${code.slice(20)}`,
      `${payload}.${code.slice(0, 20)}!${code.slice(20)}`,
      `${payload}=.${code}`,
      ` ${token}`,
      `.${token}`,
      `${payload}.`,
      `.${code}`,
      payload,
      code,
      '.',
      '..',
      ' ',
      '0',
      'null',
      '__proto__',
      token.toLowerCase(),
      encodeURIComponent(`${token}+`),
      'x'.repeat(2_001),
      'x'.repeat(1_999),
      0,
      1,
      true,
      null,
      {},
      [],
      [token],
    ];
    for (const [index, one] of [...others, ...changed].entries()) {
      const answer = await page(checker.key, 'search/subject', search, one);
      assertProblem(answer, [400], `token ${index}`);
      // NUL is refused in every text of a request.
      const code = typeof one === 'string' && one.includes('\0') ? 'invalid_text' : 'invalid_input';
      assert.equal(answer.body.code, code, `token ${index}: ${answer.text}`);
      tally.tried();
      tally.held();
    }
    assertProblem(await page(stranger.key, 'search/subject', search, token), [403], 'another caller');
    const next = await page(checker.key, 'search/subject', search, token);
    assert.deepEqual([next.status, next.body.results.length], [200, 1], next.text);
    tally.held(2 + (await assertSound(service)));
  },
);
