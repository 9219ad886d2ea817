// The OpenAPI document against the routes that are really registered, and against a validator of the standard.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import { type ErrorCode, errorCatalogue, statusOf } from '@castellan/contract/errors';
import { Validator } from '@seriousme/openapi-schema-validator';
import { generateOpenApi } from '../../../scripts/gen-openapi.ts';
import type { OpenApiDocument, Operation } from '../src/platform/http/reference/openapi.ts';
import { answersOf } from '../src/platform/http/reference/shared-answers.ts';
import { startTestService, type TestService } from './harness.ts';
import { routesOf } from './http/fixture.ts';

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
  answersOf(operation, document).flatMap(([, answer]) => answer['x-error-codes'] ?? []);

test('the document is valid OpenAPI 3.1 and every reference in it leads somewhere', async () => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document) as never);
  assert.deepEqual(result.errors ?? [], []);
  assert.equal(validator.version, '3.1');
  for (const [, pointer = ''] of text.matchAll(/"\$ref": "#\/([^"]+)"/g)) {
    const target = pointer.split('/').reduce<unknown>((at, step) => (at as never)?.[step], document);
    assert.ok(target, `#/${pointer} leads nowhere`);
  }
  assert.ok(!text.includes('"$id"') && !text.includes('"$defs"'));
});

test('the same routes give the same bytes, and docs/openapi.json has them', async () => {
  assert.equal(await generateOpenApi(), text);
  const stored = await readFile(new URL('../../../docs/openapi.json', import.meta.url), 'utf8');
  assert.ok(stored === text, 'docs/openapi.json is stale: run node scripts/gen-openapi.ts');
});

test('every registered route is in the document with the access that it declares, or is a page', async (t) => {
  const service = await startTestService(t);
  const described = new Map(entries().map((entry) => [entry.name, entry.operation]));
  for (const { method, url, config } of await routesOf(service)) {
    if (!/^\/(api|health|\.well-known)\//.test(url)) {
      assert.match(`${method} ${url}`, /^GET \/(docs|verify-email$|reset$|forgot$|pages\/)|^OPTIONS \*$/);
      continue;
    }
    const name = `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`;
    const operation = described.get(name);
    assert.ok(operation, `${name} is missing in the document`);
    assert.equal(operation['x-access'], config.access, name);
    const needsCsrf = method !== 'GET' && config.csrf !== false;
    assert.equal(codesOf(operation).includes('csrf_invalid'), needsCsrf, `${name}: CSRF`);
    for (const code of config.errors ?? []) assert.ok(codesOf(operation).includes(code), `${name}: ${code}`);
    described.delete(name);
  }
  assert.deepEqual([...described.keys()], [], 'described, but not registered');
});

test('every operation has a summary, a tag, a unique camelCase name, an answer and an example of its body', () => {
  const names = new Set<string>();
  for (const { name, operation } of entries()) {
    assert.match(operation.summary, /^[A-Z].{4,}[^.]$/, name);
    assert.match(operation.operationId, /^[a-z][A-Za-z0-9]+$/, name);
    assert.ok(!names.has(operation.operationId), `${operation.operationId} names two operations`);
    names.add(operation.operationId);
    assert.equal(operation.tags.length, 1, name);
    assert.ok(
      Object.keys(operation.responses).some((status) => status.startsWith('2')),
      name,
    );
    for (const media of Object.values(operation.requestBody?.content ?? {}))
      assert.notEqual(media.example, undefined, `${name} has no example`);
  }
});

test('what access, method, limit and body imply is listed under its status', () => {
  for (const { name, path, operation } of entries()) {
    const codes = codesOf(operation);
    const expect = (condition: boolean, code: ErrorCode) =>
      assert.equal(codes.includes(code), condition, `${name}: ${code}`);
    expect(operation['x-access'] !== 'public', 'token_revoked');
    expect(operation['x-permission'] !== undefined, 'permission_denied');
    expect(operation['x-rate-limit'] !== undefined, 'rate_limited');
    expect(operation.requestBody !== undefined, 'unsupported_media_type');
    expect(path.startsWith('/api/'), 'database_unavailable');
    if (path.includes('_id}')) expect(true, 'invalid_id');
    for (const [status, answer] of answersOf(operation, document))
      for (const code of answer['x-error-codes'] ?? []) assert.equal(String(statusOf(code)), status, code);
    const permission = operation['x-permission'];
    if (permission) assert.ok(operation.description.includes(permission), name);
  }
});

/** Answered before the router has found an operation. */
const beforeAnyOperation: ErrorCode[] = [
  'route_not_found',
  'method_not_allowed',
  'request_timeout',
  'uri_too_long',
  'headers_too_large',
];

test('every error code of the catalogue is answered by some operation, or before there is one', () => {
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

test('proofs, headers and parameters are those that the hooks ask for', () => {
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

test('the example bodies of the public operations pass the shape check of the service', async (t) => {
  const service = await startTestService(t);
  const publicOnes = entries().filter(
    ({ operation: one }) => one['x-access'] === 'public' && one.requestBody,
  );
  assert.ok(publicOnes.length >= 7);
  for (const { name, path, operation: one } of publicOnes) {
    const body = one.requestBody?.content['application/json']?.example;
    const answer = await service.client().post(path, body);
    assert.ok(
      !['validation_failed', 'invalid_input', 'password_rejected'].includes(answer.body.code),
      `${name}: ${answer.text}`,
    );
    assert.ok(
      one.responses[String(answer.status)],
      `${name} answered ${answer.status}, which is not described`,
    );
  }
});

test('the service serves the document, the reference and the error codes without any foreign address', async (t) => {
  const service: TestService = await startTestService(t, { PUBLIC_URL: 'https://id.example.com' });
  const client = service.client();
  const served = await client.get('/docs/openapi.json');
  assert.equal(served.status, 200);
  assert.deepEqual(Object.keys(served.body.paths), Object.keys(document.paths));
  assert.equal(served.body.servers[0].variables.public_url.default, 'https://id.example.com');
  for (const path of ['/docs', '/docs/errors']) {
    const page = await client.get(path);
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.doesNotMatch(page.text, /<script|(?:src|href)="https?:/);
    const again = await client.get(path, { headers: { 'if-none-match': page.headers.get('etag') } });
    assert.equal(again.status, 304);
  }
  const codes = await client.get('/docs/errors');
  const refused = await client.post(
    '/api/v1/auth/login',
    {},
    { headers: { accept: 'application/problem+json' } },
  );
  const anchor = new URL(refused.body.type).hash.slice(1);
  assert.ok(codes.text.includes(`id="${anchor}"`), refused.body.type);
});
