// How the recipes of CONTRIBUTING.md are read: tables, diffs, and what makes a diff wrong.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { edited, readRecipes } from './recipes.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const recipe = `### A thing

| File | What | Reported by |
|---|---|---|
| \`packages/contract/src/users.ts\` | the field | nothing |
| \`modules/users/names.ts\`, \`roles.ts\` | its use | \`tsc\` |

\`\`\`diff
--- modules/users/names.ts
 kept
-old
+new
@@
+first
 second
+++ packages/server/migrations/NNNN-thing.sql
+-- Phase: expand
\`\`\`
`;

test('a recipe is its table and its diff', () => {
  const [read, ...others] = readRecipes(`# Title\n\n### Without a diff\n\n| \`a\` | | |\n\n${recipe}`);
  assert.deepEqual(others, []);
  assert.equal(read?.title, 'A thing');
  assert.deepEqual(read?.steps, [
    { file: 'packages/contract/src/users.ts', isRed: false },
    { file: 'packages/server/src/modules/users/names.ts', isRed: true },
    { file: 'packages/server/src/modules/users/roles.ts', isRed: true },
  ]);
  assert.deepEqual(
    [...(read?.edits ?? [])],
    [
      [
        'packages/server/src/modules/users/names.ts',
        [
          { before: 'kept\nold\n', after: 'kept\nnew\n' },
          { before: 'second\n', after: 'first\nsecond\n' },
        ],
      ],
      ['packages/server/migrations/NNNN-thing.sql', [{ before: '', after: '-- Phase: expand\n' }]],
    ],
  );
});

test('a hunk replaces the one place that has its lines', () => {
  assert.equal(edited('a\nb\nc\n', { before: 'b\n', after: 'B\n' }), 'a\nB\nc\n');
  assert.throws(() => edited('a\n', { before: 'b\n', after: '' }), /0 times/);
  assert.throws(() => edited('b\nb\n', { before: 'b\n', after: '' }), /2 times/);
});

test('the diffs of CONTRIBUTING.md fit the files of this checkout', () => {
  const recipes = readRecipes(readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8'));
  assert.deepEqual(
    recipes.map(({ title }) => title),
    ['A field of a user', 'A field of another record', 'A setting'],
  );
  for (const { steps, edits } of recipes) {
    for (const { file } of steps) assert.ok(file.includes('NNNN') || existsSync(join(root, file)), file);
    for (const [file, hunks] of edits)
      if (!file.includes('NNNN'))
        assert.doesNotThrow(() => hunks.reduce(edited, readFileSync(join(root, file), 'utf8')), file);
  }
});
