// Compares the OpenAPI document with the registered routes, and validates it against the standard.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import { appPaths, authPaths } from '@castellan/console/paths';
import { type ErrorCode, errorCatalogue, statusOf } from '@castellan/contract/errors';
import type { OpenApiDocument, Operation } from '@castellan/openapi';
import { answersOf } from '@castellan/openapi';
import { codeIn } from '@castellan/testing/conformance/described';
import { startTestService, type TestService } from '@castellan/testing/harness';
import { routesOf } from '@castellan/testing/http/fixture';
import { FORM_TYPE, formRequest } from '@castellan/testing/service-accounts/token-services';
import { Validator } from '@seriousme/openapi-schema-validator';
import { generateOpenApi } from '../../../scripts/gen/openapi.ts';

let text: string;
let document: OpenApiDocument;
before(async () => {
  text = await generateOpenApi();
  document = JSON.parse(text);
});

type Entry = { name: string; path: string; method: string; operation: Operation };
const entries = (): Entry[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      path,
      method: method.toUpperCase(),
      operation,
    })),
  );
const codesOf = (operation: Operation): ErrorCode[] =>
  answersOf(operation, document).flatMap(([, answer]) => (answer['x-error-codes'] ?? []) as ErrorCode[]);

test('the document is valid OpenAPI 3.1 and every reference in it has a target', async () => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document) as never);
  assert.deepEqual(result.errors ?? [], []);
  assert.equal(validator.version, '3.1');
  for (const [, pointer = ''] of text.matchAll(/"\$ref": "#\/([^"]+)"/g)) {
    const target = pointer.split('/').reduce<unknown>((at, step) => (at as never)?.[step], document);
    assert.ok(target, `#/${pointer} has no target`);
  }
  assert.ok(!text.includes('"$id"') && !text.includes('"$defs"'));
});

test('the same routes give the same bytes, and docs/openapi.json contains them', async () => {
  assert.equal(await generateOpenApi(), text);
  const stored = await readFile(new URL('../../../docs/openapi.json', import.meta.url), 'utf8');
  assert.ok(stored === text, 'docs/openapi.json is stale: run node scripts/gen/openapi.ts');
});

test('every registered route is in the document with its declared access, or is a page', async (t) => {
  const service = await startTestService(t);
  const described = new Map(entries().map((entry) => [entry.name, entry.operation]));
  for (const { method, url, config } of await routesOf(service)) {
    if (!/^\/(api\/|health|\.well-known\/(?!change-password$))/.test(url)) {
      const isPage = method === 'GET' && [...authPaths, ...appPaths].includes(url);
      if (!isPage)
        assert.match(
          `${method} ${url}`,
          /^GET \/(docs|assets\/|brand\/|theme\.js$|skeleton\.css$|form-post\.js$|\.well-known\/change-password$)|^OPTIONS \/$/,
        );
      continue;
    }
    const name = `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`;
    const operation = described.get(name);
    assert.ok(operation, `${name} is missing in the document`);
    assert.equal(operation['x-access'], config.access, name);
    const needsCsrf = method !== 'GET' && config.csrf !== false;
    assert.equal(codesOf(operation).includes('csrf_invalid'), needsCsrf, `${name}: CSRF`);
    for (const code of config.errors ?? []) {
      const sent = config.errorShape?.codeOf(code) ?? code;
      assert.ok(codesOf(operation).includes(sent), `${name}: ${sent}`);
    }
    described.delete(name);
  }
  assert.deepEqual([...described.keys()], [], 'described, but not registered');
});

test('every operation has a summary, a tag, a unique camelCase name, an answer and an example of its body', () => {
  const names = new Set<string>();
  for (const { name, operation } of entries()) {
    assert.match(operation.summary, /^[A-Z].{4,}[^.]$/, name);
    assert.match(operation.operationId, /^[a-z][A-Za-z0-9]+$/, name);
    assert.doesNotMatch(operation.operationId, /[a-z]ie(?![a-z])/, `${name}: the singular of -ies is -y`);
    assert.ok(!names.has(operation.operationId), `${operation.operationId} names two operations`);
    names.add(operation.operationId);
    assert.equal(operation.tags.length, 1, name);
    assert.ok(
      Object.keys(operation.responses).some((status) => /^[23]/.test(status)),
      name,
    );
    for (const media of Object.values(operation.requestBody?.content ?? {}))
      assert.notEqual(media.example, undefined, `${name} has no example`);
  }
});

test('every tag has a sentence', () => {
  for (const { name, description } of document.tags) assert.match(description ?? '', /^[A-Z].+\.$/, name);
});

test('what access, method, limit and body imply is listed under its status', () => {
  for (const { name, path, operation } of entries()) {
    const codes = codesOf(operation);
    const expect = (condition: boolean, code: ErrorCode) => {
      if (!answersInOtherShape(operation)) assert.equal(codes.includes(code), condition, `${name}: ${code}`);
    };
    expect(operation['x-access'] !== 'public', 'token_revoked');
    const needed = operation['x-permission'] ?? operation['x-permission-for-others'];
    // A gateway names the permission that it asks for.
    expect(needed !== undefined || name === 'GET /api/v1/access/forward', 'permission_denied');
    // A limit that is not counted per client address is in the description.
    expect(operation['x-rate-limit'] !== undefined || /\b429\b/.test(operation.description), 'rate_limited');
    // The AuthZEN standard has 400 for whatever is wrong with a body.
    const media = path.startsWith('/api/v1/access/v1/') ? 'malformed_request' : 'unsupported_media_type';
    if (operation.requestBody) expect(true, media);
    expect(operation.requestBody !== undefined && media !== 'malformed_request', 'unsupported_media_type');
    expect(path.startsWith('/api/'), 'database_unavailable');
    // Of requests that wait, every text may be an id.
    if (path.replace('{interaction_id}', '').includes('_id}')) expect(true, 'invalid_id');
    for (const [status, answer] of answersOf(operation, document))
      for (const code of answer['x-error-codes'] ?? [])
        assert.equal(String(statusOf(code as ErrorCode)), status, code);
    if (needed) assert.ok(operation.description.includes(needed), name);
    for (const code of codes) assert.ok(operation.description.includes(`\`${code}\``), `${name}: ${code}`);
  }
});

/** Returns whether a standard fixes the errors of the operation; all others answer `internal_error`. */
const answersInOtherShape = (one: Operation): boolean => !codesOf(one).includes('internal_error');

test('an operation whose errors have another shape lists the codes that are implied in that shape', () => {
  const others = entries().filter(({ operation: one }) => answersInOtherShape(one));
  assert.ok(others.length >= 3);
  for (const { name, operation: one } of others) {
    const codes: string[] = codesOf(one);
    const implied = ['invalid_request', 'server_error', 'temporarily_unavailable', 'rate_limited'];
    if (one['x-access'] !== 'public') implied.push('invalid_client', 'insufficient_scope');
    for (const code of implied) assert.ok(codes.includes(code), `${name}: ${code}`);
    for (const code of ['token_revoked', 'permission_denied', 'unsupported_media_type', 'validation_failed'])
      assert.ok(!codes.includes(code), `${name}: ${code}`);
    for (const [status, answer] of answersOf(one, document))
      if (Number(status) >= 400) assert.deepEqual(Object.keys(answer.content ?? {}), ['application/json']);
  }
});

/** Codes that are answered before the router has found an operation. */
const beforeAnyOperation: ErrorCode[] = [
  'method_not_allowed',
  'request_timeout',
  'uri_too_long',
  'headers_too_large',
  'client_gone',
];

test('every error code of the catalogue is listed by an operation, or answered before the router finds one', () => {
  const declared = new Set(entries().flatMap(({ operation: one }) => codesOf(one)));
  const missing = (Object.keys(errorCatalogue) as ErrorCode[]).filter((code) => !declared.has(code));
  assert.deepEqual(missing.sort(), beforeAnyOperation.toSorted());
});

const headersOf = (one: Operation, status: string) => new Map(answersOf(one, document)).get(status)?.headers;

const operation = (name: string): Operation => {
  const found = entries().find((entry) => entry.name === name);
  assert.ok(found, name);
  return found.operation;
};

test('security schemes, headers and parameters are those that the hooks require', () => {
  const refresh = operation('POST /api/v1/auth/new_access_token');
  assert.deepEqual(refresh.security, [
    { csrfToken: [], csrfCookie: [], refreshTokenCookie: [] },
    { csrfToken: [], csrfCookie: [] },
  ]);
  assert.equal(refresh.requestBody?.required, false);
  assert.ok(headersOf(refresh, '429')?.['Retry-After']);
  assert.ok(headersOf(refresh, '200')?.['RateLimit-Limit']);
  const session = operation('DELETE /api/v1/auth/sessions/{session_id}');
  assert.deepEqual(session.security, [{ bearer: [], csrfToken: [], csrfCookie: [] }]);
  assert.deepEqual(
    session.parameters?.map(({ name, in: place }) => [name, place]),
    [['session_id', 'path']],
  );
  assert.ok(headersOf(session, '401')?.['WWW-Authenticate']);
  assert.ok(headersOf(operation('POST /api/v1/auth/login'), '200')?.['Set-Cookie']);
  assert.deepEqual(operation('GET /health/live').security, []);
  const page = operation('GET /api/v1/roles').parameters?.find((one) => one.name === 'page');
  assert.equal(page?.required, false, 'a parameter with a default may be left out');
});

test('the example bodies of the public operations pass the validation of the service', async (t) => {
  const service = await startTestService(t);
  const publicOnes = entries().filter(
    // Its standard has one answer to a body that is wrong and to a token that does not count.
    ({ operation: one, path }) =>
      one['x-access'] === 'public' && one.requestBody && !path.endsWith('/backchannel-logout'),
  );
  assert.ok(publicOnes.length >= 7);
  for (const { name, path, operation: one } of publicOnes) {
    const [[type, media] = []] = Object.entries(one.requestBody?.content ?? {});
    const { example } = media ?? {};
    const answer =
      type === FORM_TYPE
        ? await service.client().request('POST', path, formRequest(example as Record<string, string>))
        : await service.client().post(path, example);
    assert.ok(
      !['validation_failed', 'invalid_input', 'password_rejected', 'invalid_request'].includes(
        codeIn(answer) ?? '',
      ),
      `${name}: ${answer.text}`,
    );
    assert.ok(
      one.responses[String(answer.status)],
      `${name} answered ${answer.status}, which is not described`,
    );
  }
});

test('the document, the reference and the error codes contain no foreign URL', async (t) => {
  const service: TestService = await startTestService(t, { PUBLIC_URL: 'https://id.example.com' });
  const client = service.client();
  const served = await client.get('/docs/openapi.json');
  assert.equal(served.status, 200);
  assert.deepEqual(Object.keys(served.body.paths), Object.keys(document.paths));
  assert.equal(served.body.servers[0].variables.public_url.default, 'https://id.example.com');
  for (const path of ['/docs', '/docs/errors']) {
    const page = await client.get(path);
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.doesNotMatch(page.text, /<script>|(?:src|href)="https?:/);
    const again = await client.get(path, { headers: { 'if-none-match': page.headers.get('etag') } });
    assert.equal(again.status, 304);
  }
  const viewer = await client.get('/docs/viewer.js');
  assert.equal(viewer.headers.get('content-encoding'), 'gzip');
  const plain = await client.get('/docs/viewer.js', { headers: { 'accept-encoding': 'identity' } });
  assert.ok(plain.text === viewer.text && plain.text.length > 1_000_000);
  const codes = await client.get('/docs/errors');
  const refused = await client.post(
    '/api/v1/auth/login',
    {},
    { headers: { accept: 'application/problem+json' } },
  );
  const anchor = new URL(refused.body.type).hash.slice(1);
  assert.ok(codes.text.includes(`id="${anchor}"`), refused.body.type);
});

test('with COOKIE_PREFIX, the document names the cookies that are sent', async (t) => {
  const prefixed = await startTestService(t, { COOKIE_PREFIX: '__Host-castellan_' });
  const { body, text: served } = await prefixed.client().get('/docs/openapi.json');
  const { csrfCookie, refreshTokenCookie } = body.components.securitySchemes;
  assert.equal(csrfCookie.name, '__Host-castellan_csrf_token');
  assert.equal(refreshTokenCookie.name, '__Host-castellan_refresh_token');
  assert.doesNotMatch(served, /cookie `(csrf|refresh)_token`/);
});
