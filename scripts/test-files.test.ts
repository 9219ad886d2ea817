// Which files a test run selects.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { testFiles } from './test-files.ts';

const choice = { quick: false, database: false, only: '', named: [] };

test('a run selects every test file but the hardening suite once, the long ones first', () => {
  const files = testFiles(choice);
  assert.equal(new Set(files).size, files.length);
  assert.ok(files.includes('scripts/test-files.test.ts'));
  assert.ok(!files.includes('packages/hardening/test/faults/kill.test.ts'));
  const at = (name: string): number => files.findIndex((file) => file.endsWith(name));
  assert.ok(at('/conformance.test.ts') < at('/register.test.ts'));
});

test('a quick run selects unit tests and main paths, and nothing that attacks or starts programs', () => {
  const files = testFiles({ ...choice, quick: true });
  assert.ok(files.includes('packages/server/src/platform/security/csrf.test.ts'));
  assert.ok(files.includes('packages/server/test/sessions/login.test.ts'));
  assert.deepEqual(
    files.filter((file) => /hardening\/|embedded|test\/start\/|e2e|packages\/cli\/test|test-run/.test(file)),
    [],
  );
});

test('every pattern of a quick run matches a file', () => {
  const folders = new Set(
    testFiles({ ...choice, quick: true }).map((file) => file.split('/').slice(0, 4).join('/')),
  );
  for (const folder of [
    'accounts',
    'sessions',
    'users',
    'roles',
    'role-groups',
    'authorization',
    'audit',
    'http',
  ])
    assert.ok(folders.has(`packages/server/test/${folder}`), folder);
});

test('files are selected by a part of their path or by whole paths', () => {
  assert.deepEqual(testFiles({ ...choice, only: 'scripts/test-files' }), ['scripts/test-files.test.ts']);
  assert.deepEqual(testFiles({ ...choice, only: 'no such file' }), []);
  assert.deepEqual(testFiles({ ...choice, named: ['scripts/test-files.ts'] }), ['scripts/test-files.ts']);
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

test('a run for another server selects the files that use it, directly or through imports', () => {
  const files = [
    ...testFiles({ ...choice, database: true }),
    ...testFiles({ ...choice, database: true, only: 'packages/hardening/' }),
  ];
  for (const file of [
    'server/src/platform/db/sql.test.ts',
    'server/test/sessions/login.test.ts',
    'server/test/start/database-user.test.ts',
    'hardening/test/races/links.test.ts',
    'hardening/test/fuzzing/searches.test.ts',
  ])
    assert.ok(files.includes(`packages/${file}`), file);
});

test('a run for another server leaves out files that use none, and those whose results are the same on each', () => {
  const files = [
    ...testFiles({ ...choice, database: true }),
    ...testFiles({ ...choice, database: true, only: 'packages/hardening/' }),
  ];
  for (const file of [
    'packages/embedded-postgres/src/life.test.ts',
    'packages/server/src/platform/security/csrf.test.ts',
    'packages/server/test/e2e/reference.test.ts',
    'packages/hardening/test/http/framing.test.ts',
    'packages/hardening/test/faults/kill.test.ts',
    'scripts/test-run.test.ts',
  ])
    assert.ok(!files.includes(file), file);
});
