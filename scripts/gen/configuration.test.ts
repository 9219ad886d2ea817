import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { settingSections } from '../../packages/server/src/settings.ts';
import { configurationPath, renderConfiguration } from './configuration.ts';

test('docs/configuration.md matches the settings', async () => {
  assert.equal(
    await readFile(configurationPath, 'utf8'),
    renderConfiguration(settingSections),
    'run `npm run gen`',
  );
});

test('every setting has a row of three cells, whatever its description contains', () => {
  const text = renderConfiguration({
    First: { a: { name: 'A', defaultText: 'x|y', defaultShown: 'x|y', description: 'One | two.' } },
    Second: { b: { name: 'B', defaultText: undefined, defaultShown: 'none', description: 'Three.' } },
  });
  assert.deepEqual(
    text.split('\n').filter((line) => /^\| `[AB]|^## (First|Second)/.test(line)),
    ['## First', '| `A` | `x\\|y` | One \\| two. |', '## Second', '| `B` | none | Three. |'],
  );
});
