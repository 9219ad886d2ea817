// Tests that packages import each other only by their exports. The linter checks names; this test resolves paths.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const path = /(?:from |import |import\(|URL\()'(\.[^']*)'/g;

/** Returns `packages/<name>`; undefined for a file outside packages/. */
const packageOf = (file: string): string | undefined => /^packages\/[^/]+/.exec(file)?.[0];

test('no file imports from another package by a path', () => {
  const files = globSync('packages/*/{src,test}/**/*.{ts,mjs}', { cwd: root });
  assert.ok(files.length > 100);
  const detours = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(path)]
      .map(([, name = '']) => join(dirname(file), name))
      .filter((target) => ![undefined, packageOf(file)].includes(packageOf(target)))
      .map((target) => `${file}: ${target}`),
  );
  assert.deepEqual(detours, [], 'import what the package exports, by its name');
});
