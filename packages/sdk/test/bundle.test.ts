// What an app takes into its bundle with a part of the SDK.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { bundle } from './bundle.ts';

const MAX_BYTES = 8 * 1024;
/** It also follows changes. */
const MAX_GUARD_BYTES = 12 * 1024;
/** Helpers that both the client and the guard use. */
const COMMON = ['calls/call.ts', 'calls/waiting.ts', 'environment.ts', 'errors.ts', 'levels.ts'];

const sizeOf = (code: string): number => gzipSync(code, { level: 9 }).length;
const client = await bundle(`export { createClient } from 'sdk:index.ts';`);
const guard = await bundle(`export { createGuard } from 'sdk:index.ts';`);
const passkeys = await bundle(`export * from 'sdk:passkeys.ts';`);

for (const [name, { code, imports }] of Object.entries({ client, guard, passkeys }))
  test(`the ${name} alone is small, minified and compressed, and needs no Node.js`, (t) => {
    const bytes = sizeOf(code);
    t.diagnostic(`${bytes} bytes`);
    assert.ok(bytes <= (name === 'guard' ? MAX_GUARD_BYTES : MAX_BYTES), `${bytes} bytes`);
    assert.deepEqual(imports, []);
    assert.equal(/\bnode:|\bprocess\./.exec(code), null);
  });

test('the client brings no code of the guard, and the guard none of the client', () => {
  assert.ok(client.files.includes('client.ts') && guard.files.includes('guard.ts'));
  const isOfGuard = (file: string): boolean => /^guard(\/|\.ts$)/.test(file);
  assert.deepEqual(client.files.filter(isOfGuard), []);
  assert.deepEqual(
    guard.files.filter((file) => !isOfGuard(file)),
    COMMON,
  );
});

test('the client brings no code for passkeys, and the passkeys none of the client', () => {
  const isOfPasskeys = (file: string): boolean => /^passkeys(\/|\.ts$)/.test(file);
  assert.deepEqual(client.files.filter(isOfPasskeys), []);
  assert.deepEqual(
    passkeys.files.filter((file) => !isOfPasskeys(file)),
    ['errors.ts'],
  );
});

test('the client brings no code for acting, which adds less than 1 KiB to it', async () => {
  assert.ok(!client.files.includes('acting.ts'), client.files.join(', '));
  const acting = await bundle(`export { createActingClient } from 'sdk:acting.ts';`);
  assert.deepEqual(
    acting.files.filter((file) => !client.files.includes(file)),
    ['acting.ts'],
  );
  assert.ok(sizeOf(acting.code) < MAX_BYTES + 1024, `${sizeOf(acting.code)} bytes`);
});

test('an import of the index that nothing uses brings nothing', async () => {
  const { files } = await bundle(`import 'sdk:index.ts'; export const own = 1;`);
  assert.deepEqual(files, []);
});

test('the React entry imports React and brings neither it nor the client', async () => {
  const { imports, files, code } = await bundle(`export * from 'sdk:react.tsx';`, {
    external: ['react', 'react/jsx-runtime'],
    format: 'es',
  });
  assert.deepEqual(imports.sort(), ['react', 'react/jsx-runtime']);
  assert.deepEqual(files, ['react.tsx', 'react/account-store.ts']);
  assert.ok(sizeOf(code) <= MAX_BYTES / 4, `${sizeOf(code)} bytes`);
});

test('the package has no dependency, and React is an optional peer', () => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  assert.equal(manifest.dependencies, undefined);
  assert.equal(manifest.sideEffects, false);
  assert.deepEqual(manifest.peerDependencies, { react: '>=18' });
  assert.equal(manifest.peerDependenciesMeta.react.optional, true);
});

test('importing the client starts nothing', async (t) => {
  const fetched = t.mock.method(globalThis, 'fetch');
  const timer = t.mock.method(globalThis, 'setTimeout');
  const { createClient } = await import('../src/index.ts');
  createClient({ baseUrl: 'https://accounts.example.com' }).close();
  assert.equal(fetched.mock.callCount(), 0);
  assert.equal(timer.mock.callCount(), 0);
});
