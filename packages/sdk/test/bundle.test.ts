// What an app takes into its bundle with the client.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { bundleClient } from './bundle.ts';

const MAX_BYTES = 8 * 1024;

test('the client is at most 8 KiB, minified and compressed', async (t) => {
  const code = await bundleClient();
  const bytes = gzipSync(code, { level: 9 }).length;
  t.diagnostic(`${bytes} bytes`);
  assert.ok(bytes <= MAX_BYTES, `${bytes} bytes`);
  assert.doesNotMatch(code, /\brequire\(|node:|process\./);
});

test('the package has no dependency', () => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  assert.equal(manifest.dependencies, undefined);
  assert.equal(manifest.sideEffects, false);
});

test('importing the client starts nothing', async (t) => {
  const fetched = t.mock.method(globalThis, 'fetch');
  const timer = t.mock.method(globalThis, 'setTimeout');
  const { createClient } = await import('../src/index.ts');
  createClient({ baseUrl: 'https://accounts.example.com' }).close();
  assert.equal(fetched.mock.callCount(), 0);
  assert.equal(timer.mock.callCount(), 0);
});
