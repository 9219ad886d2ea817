import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { failedTests, filesOf } from './failed-tests.ts';

test('every failed test of a run is found with its file, line, name and the first line of its error', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-failed-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(
    join(folder, 'some.test.mjs'),
    `import { test } from 'node:test';
test('passes', () => {});
test('fails (once)', () => { throw new Error('no room\\nat all'); });
test('outer', async (t) => {
  await t.test('inner', () => { throw new TypeError('wrong'); });
});
`,
  );
  writeFileSync(join(folder, 'broken.test.mjs'), 'throw new Error("at load");\n');

  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const { stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=spec'], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...environment, NO_COLOR: '1', FORCE_COLOR: undefined },
  });

  assert.deepEqual(
    failedTests(stdout).sort((a, b) => (a.place < b.place ? -1 : 1)),
    [
      {
        file: 'broken.test.mjs',
        place: 'broken.test.mjs:1',
        name: 'broken.test.mjs',
        reason: "'test failed'",
      },
      { file: 'some.test.mjs', place: 'some.test.mjs:3', name: 'fails (once)', reason: 'Error: no room' },
      { file: 'some.test.mjs', place: 'some.test.mjs:5', name: 'inner', reason: 'TypeError: wrong' },
    ],
  );
});

test('a run without failures has no failed tests', () => {
  assert.deepEqual(failedTests('ℹ tests 1\nℹ fail 0\n'), []);
});

test('the file of a failed scenario is the one that its outcome names', () => {
  const failed = (file: string, name: string) => ({ file, place: `${file}:1`, name, reason: '' });
  const outcomes = [
    { name: 'a race', ok: true, file: 'embedded.test.ts' },
    { name: 'a race', ok: false, file: 'races.test.ts' },
    { name: 'the search for secrets', ok: false },
  ];
  const failures = ['a race', 'another race', 'the search for secrets'].map((name) =>
    failed('scenario.ts', name),
  );
  assert.deepEqual(filesOf([...failures, failed('own.test.ts', 'a test')], outcomes), [
    'races.test.ts',
    'scenario.ts',
    'own.test.ts',
  ]);
});
