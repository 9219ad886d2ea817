import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId, randomToken } from './ids.ts';

test('an id is a UUID version 7 in lower case, and contains the time', () => {
  const before = Date.now();
  const id = newId();
  const after = Date.now();
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const time = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  assert.ok(time >= before && time <= after);
});

test('100,000 ids are all different', () => {
  assert.equal(new Set(Array.from({ length: 100_000 }, newId)).size, 100_000);
});

test('ids of later milliseconds sort after those of earlier ones, also as text', async () => {
  const first = newId();
  const start = Date.now();
  while (Date.now() === start) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(newId() > first);
});

test('a token has 256 bits in 43 characters that need no escaping anywhere', () => {
  const tokens = Array.from({ length: 10_000 }, randomToken);
  for (const token of tokens) assert.match(token, /^[\w-]{43}$/);
  assert.equal(new Set(tokens).size, tokens.length);
  assert.equal(Buffer.from(tokens[0] as string, 'base64url').length, 32);
});
