// What the CORS headers name is what the OpenAPI document names: pages of listed origins can send and read all of it.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { startTestService } from '@castellan/testing/harness';

const ORIGIN = 'https://app.example';
const service = await startTestService(
  { after },
  { CORS_ORIGINS: ORIGIN, CORS_HEADERS: 'X-Datadog-Trace-Id, if-match' },
);
const document: unknown = JSON.parse(
  await readFile(new URL('../../../../docs/openapi.json', import.meta.url), 'utf8'),
);

/** Returns every object of the document. */
function* objectsIn(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Record<string, unknown>;
  for (const member of Object.values(value)) yield* objectsIn(member);
}

const namesIn = (answer: Answer, header: string): string[] => (answer.headers.get(header) ?? '').split(', ');

const preflight = (path: string): Promise<Answer> =>
  service.client().request('OPTIONS', path, {
    headers: { origin: ORIGIN, 'access-control-request-method': 'GET' },
  });

test('preflights allow the header parameters of the OpenAPI document, trace context, CORS_HEADERS and nothing else', async () => {
  const parameters = [...objectsIn(document)].flatMap((one) =>
    one.in === 'header' && typeof one.name === 'string' ? [one.name.toLowerCase()] : [],
  );
  assert.ok(parameters.includes('x-csrf-token') && parameters.includes('if-none-match'));
  const expected = new Set([
    ...parameters,
    // Belong to HTTP, so the document names them as security, body and header of each response.
    ...['authorization', 'content-type', 'x-request-id'],
    ...['traceparent', 'tracestate', 'baggage', 'sentry-trace'],
    'x-datadog-trace-id',
  ]);
  assert.deepEqual(
    namesIn(await preflight('/api/v1/users'), 'access-control-allow-headers').sort(),
    [...expected].sort(),
  );
});

/** No page may read cookies. What a gateway is told of a caller, a page reads in `/users/me`. */
const notForPages = /^(Set-Cookie|X-Castellan-Subject-\w+)$/;

test('pages can read every header that the OpenAPI document gives a response, and those of downloads and of age', async () => {
  const answer = await service.client().get('/api/v1/users', { headers: { origin: ORIGIN } });
  const exposed = namesIn(answer, 'access-control-expose-headers');
  const described = [...objectsIn(document)].flatMap(({ headers }) =>
    typeof headers === 'object' && headers !== null ? Object.keys(headers) : [],
  );
  assert.ok(described.includes('RateLimit-Limit'));
  for (const name of new Set([...described, 'Content-Disposition', 'Age']))
    if (!notForPages.test(name)) assert.ok(exposed.includes(name.toLowerCase()), name);
});

for (const path of ['/.well-known/jwks.json', '/api/v1/oauth/jwks.json'])
  test(`${path} is open to every origin without credentials, also to a listed one`, async () => {
    for (const origin of [ORIGIN, 'https://other.example']) {
      const { headers } = await service.client().get(path, { headers: { origin } });
      assert.equal(headers.get('access-control-allow-origin'), '*');
      assert.equal(headers.get('access-control-allow-credentials'), null);
      assert.equal(headers.get('vary'), null);
    }
    const asked = await preflight(path);
    assert.equal(asked.status, 204);
    assert.equal(asked.headers.get('access-control-allow-origin'), '*');
    assert.equal(asked.headers.get('access-control-allow-methods'), 'GET');
  });
