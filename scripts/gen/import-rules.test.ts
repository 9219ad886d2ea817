import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { modules, platform } from '../import-rules.ts';
import { idlePatterns, importRulesPath, renderImportRules } from './import-rules.ts';

const source = fileURLToPath(new URL('../../packages/server/src', import.meta.url));

test('biome.imports.json matches scripts/import-rules.ts', async () => {
  assert.equal(await readFile(importRulesPath, 'utf8'), renderImportRules(), 'run `npm run gen`');
});

test('the table names every module and every folder of platform/', () => {
  const folders = (parent: string) => [
    ...new Set(
      globSync('**/*.ts', { cwd: join(source, parent) }).map((file) => relative('', dirname(file)) || '.'),
    ),
  ];
  assert.deepEqual(folders('modules').sort(), Object.keys(modules).sort());
  assert.deepEqual(folders('platform').sort(), Object.keys(platform).sort());
});

test('every file that the table names exists', () => {
  const named = [
    ...Object.entries(modules).flatMap(([name, { uses, face = [], routesSee = [] }]) => [
      ...[...face, ...routesSee].map((file) => `modules/${name}/${file}`),
      ...uses.map((used) => `modules/${used}`),
    ]),
    ...Object.values(platform)
      .flat()
      .map((used) => `platform/${used}`),
  ];
  assert.deepEqual(
    named.filter((path) => !existsSync(join(source, path))),
    [],
  );
});

test('a module that uses a module below it is refused', () => {
  assert.throws(
    () => renderImportRules({ low: { uses: ['high'] }, high: { uses: [] } }),
    /low uses high, which is not above it in the list/,
  );
});

test('every rule matches a file, and every folder that it refuses exists', () => {
  assert.deepEqual(idlePatterns(), []);
});

test('a rule for files or of folders that do not exist is found', () => {
  const files = ['packages/console/src/**', 'packages/console/src/features/**'];
  assert.deepEqual(
    idlePatterns([{ files, refused: ['**/shell/**', '**/widgets/**', '../**'], message: '' }]),
    ['packages/console/src/features/**', 'packages/**/widgets/**'],
  );
});
