// The facts of the API that the client has as code, against docs/openapi.json.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { acceptsIdempotencyKey, isExport, isTokenService, mayBeEmpty } from '../src/calls/operations.ts';

type Operation = {
  parameters?: { in: string; name: string }[];
  requestBody?: { content: Record<string, unknown> };
  responses: Record<string, { content?: Record<string, unknown> }>;
};
const { paths }: { paths: Record<string, Record<string, Operation>> } = JSON.parse(
  readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'),
);
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    path,
    operation,
  })),
);
const typesOf = ({ responses }: Operation): string[] =>
  Object.entries(responses)
    .filter(([status]) => status.startsWith('2') && status !== '204')
    .flatMap(([, { content }]) => Object.keys(content ?? { none: null }));

test('the operations that accept an Idempotency-Key', () => {
  const expected = operations.filter(({ operation }) =>
    operation.parameters?.some((one) => one.in === 'header' && one.name === 'Idempotency-Key'),
  );
  const found = operations.filter(({ name }) => acceptsIdempotencyKey(name));
  assert.deepEqual(
    found.map(({ name }) => name),
    expected.map(({ name }) => name),
  );
});

const texts: Readonly<Record<string, string[]>> = {
  'GET /api/v1/access/feed': ['application/json', 'text/event-stream'],
  'GET /api/v1/oauth/authorize': ['text/html'],
  'POST /api/v1/oauth/authorize': ['text/html'],
};

for (const { name, path, operation } of operations) {
  test(`${name}: the types of its body and its result`, () => {
    const [bodyType] = Object.keys(operation.requestBody?.content ?? {});
    if (bodyType)
      assert.equal(bodyType, isTokenService(path) ? 'application/x-www-form-urlencoded' : 'application/json');
    const types = typesOf(operation);
    // The client does not read these: the feed is the guard's, and browsers are sent to authorize.
    if (Object.hasOwn(texts, name)) assert.deepEqual(types.sort(), texts[name]);
    else if (isExport(path))
      assert.deepEqual(
        types.sort(),
        path.endsWith('/head') ? ['text/plain'] : ['application/x-ndjson', 'text/csv'],
      );
    else if (mayBeEmpty(path)) assert.deepEqual(types, ['none']);
    else
      assert.deepEqual(
        types.filter((type) => type !== 'application/json'),
        [],
      );
  });
}
