// What goes into the published package: the code that is reached, and the exact versions that it needs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exportedFile, packCode } from './packed-code.ts';
import { directDependencies, type Lock, shrinkwrap } from './shrinkwrap.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the package has the code that the program reaches, without types, with paths instead of workspaces', () => {
  const packed = packCode(root, 'packages/cli/castellan.mjs');
  for (const path of [
    'packages/cli/src/local/migrate.js',
    'packages/server/src/service.js',
    'packages/server/src/modules/passwords/strength-worker.js',
    'packages/embedded-postgres/src/cluster.js',
    'packages/console/build.mjs',
  ])
    assert.ok(packed.has(path), path);
  for (const [path, text] of packed) {
    assert.doesNotMatch(path, /test|\.tsx?$/);
    assert.doesNotMatch(text, /(from|import|import\(|resolve\() ?['"]@castellan\//, path);
    assert.doesNotMatch(text, /['"]\.[^'"\n]*\.tsx?['"]/, path);
  }
  const source = packed.get('packages/server/src/start/console.js') ?? '';
  assert.match(source, /from '\.\.\/\.\.\/\.\.\/console\/build\.mjs'/);
});

test('an import of what a workspace does not export is an error', () => {
  assert.equal(exportedFile(root, '@castellan/contract/users'), 'packages/contract/src/users.ts');
  assert.throws(() => exportedFile(root, '@castellan/server/secret'), /is not among the exports/);
});

const lock: Lock = {
  '': { optionalDependencies: { runtime: '24.0.0' } },
  'packages/server': { dependencies: { '@castellan/contract': '1.0.0', web: '5.0.0' } },
  'packages/contract': { dependencies: { shared: '2.0.0' } },
  'packages/testing': { dependencies: { browser: '9.0.0' } },
  'node_modules/web': {
    version: '5.0.0',
    dependencies: { shared: '^1.0.0' },
    optionalDependencies: { speed: '1' },
  },
  'node_modules/web/node_modules/shared': { version: '1.2.0' },
  'node_modules/shared': { version: '2.0.0', dev: true },
  'node_modules/speed': { version: '1.0.0', optional: true, dependencies: { helper: '1' } },
  'node_modules/helper': { version: '1.0.0', dev: true },
  'node_modules/runtime': { version: '24.0.0' },
  'node_modules/browser': { version: '9.0.0' },
};

test('the locked packages are those reached, and optional where nothing requires them', () => {
  const direct = directDependencies(lock, ['packages/server', 'packages/contract']);
  assert.deepEqual(direct, {
    dependencies: { shared: '2.0.0', web: '5.0.0' },
    optionalDependencies: { runtime: '24.0.0' },
  });
  const { '': top, ...packages } = shrinkwrap(lock, { name: 'castellan' }, direct);
  assert.deepEqual(top, { name: 'castellan', ...direct });
  const optional = Object.entries(packages).map(([path, one]) => [path, one.version, one.optional ?? false]);
  assert.deepEqual(optional, [
    ['node_modules/helper', '1.0.0', true],
    ['node_modules/runtime', '24.0.0', true],
    ['node_modules/shared', '2.0.0', false],
    ['node_modules/speed', '1.0.0', true],
    ['node_modules/web', '5.0.0', false],
    ['node_modules/web/node_modules/shared', '1.2.0', false],
  ]);
  assert.ok(Object.values(packages).every((one) => one.dev === undefined));
});

test('a package that the lock file lacks is an error', () => {
  const direct = { dependencies: { unknown: '1.0.0' }, optionalDependencies: {} };
  assert.throws(() => shrinkwrap(lock, {}, direct), /package-lock\.json has no unknown/);
});
