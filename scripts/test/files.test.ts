// Which files a test run selects.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { onEachServer, quick, slow, testFiles } from './files.ts';

const choice = { quick: false, database: false, only: '', named: [] };

test('a run selects every test file but the hardening suite once, the long ones first', () => {
  const files = testFiles(choice);
  assert.equal(new Set(files).size, files.length);
  assert.ok(files.includes('scripts/test/files.test.ts'));
  assert.ok(!files.includes('packages/hardening/test/faults/kill.test.ts'));
  const at = (name: string): number => files.findIndex((file) => file.endsWith(name));
  assert.ok(at('/conformance.test.ts') < at('/register.test.ts'));
});

test('a quick run selects unit tests and main paths, and nothing that attacks or starts programs', () => {
  const files = testFiles({ ...choice, quick: true });
  assert.ok(files.includes('packages/server/src/platform/security/csrf.test.ts'));
  assert.ok(files.includes('packages/server/test/sessions/sign-in/login.test.ts'));
  assert.deepEqual(
    files.filter((file) =>
      /hardening\/|embedded|test\/start\/|e2e|packages\/cli\/test|scripts\/test\/run/.test(file),
    ),
    [],
  );
});

test('files are selected by a part of their path or by whole paths', () => {
  assert.deepEqual(testFiles({ ...choice, only: 'scripts/test/files' }), ['scripts/test/files.test.ts']);
  assert.deepEqual(testFiles({ ...choice, only: 'no such file' }), []);
  assert.deepEqual(testFiles({ ...choice, named: ['scripts/test/files.ts'] }), ['scripts/test/files.ts']);
  assert.throws(
    () => testFiles({ ...choice, named: ['scripts/missing.ts'] }),
    /no file scripts\/missing\.ts/,
  );
});

test('the suite and the hardening suite together contain every file exactly once', () => {
  const attack = testFiles({ ...choice, only: 'packages/hardening/' });
  assert.ok(attack.length > 0);
  assert.deepEqual(
    [...testFiles(choice), ...attack].sort(),
    globSync('{packages,scripts}/**/*.test.ts', { exclude: ['**/node_modules/**'] }).sort(),
  );
});

test('a part of a path finds files of the hardening suite too', () => {
  assert.deepEqual(testFiles({ ...choice, only: 'faults/kill' }), [
    'packages/hardening/test/faults/kill.test.ts',
  ]);
});

test('a run for another server selects what may depend on its version, with the races of the hardening suite', () => {
  const files = testFiles({ ...choice, database: true });
  for (const file of [
    'server/src/platform/db/sql.test.ts',
    'server/test/sql/every-statement.test.ts',
    'server/test/start/upgrade.test.ts',
    'hardening/test/races/links.test.ts',
  ])
    assert.ok(files.includes(`packages/${file}`), file);
  for (const file of ['console/test/e2e/every-page.test.ts', 'hardening/test/http/framing.test.ts'])
    assert.ok(!files.includes(`packages/${file}`), file);
});

test('every pattern of a choice matches a file', () => {
  for (const pattern of [...quick, ...slow, ...onEachServer])
    assert.notDeepEqual(globSync(pattern), [], pattern);
});
