// How test files are grouped into processes.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { programsOf } from './test-batches.ts';
import { testFiles } from './test-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'castellan-batches-'));
after(() => rmSync(folder, { recursive: true }));
const all = testFiles({ quick: false, database: false, only: '', named: [] });

/** Returns the test files that these programs run. */
const filesIn = (programs: readonly string[]): string[] =>
  programs.flatMap((program) =>
    program.startsWith(folder)
      ? [...readFileSync(program, 'utf8').matchAll(/^test\("([^"]+)"/gm)].map(([, file = '']) => file)
      : [program],
  );

test('a whole run runs every file once, many of them together', () => {
  const programs = programsOf(all, folder);
  assert.deepEqual(filesIn(programs).sort(), [...all].sort());
  assert.ok(programs.length < 0.7 * all.length, `${programs.length} programs for ${all.length} files`);
});

test('files that start programs or stop databases run by themselves, and first', () => {
  const programs = programsOf(all, folder);
  for (const file of [
    'server/test/start/start.test.ts',
    'server/test/start/shutdown.test.ts',
    'server/test/e2e/reference.test.ts',
  ])
    assert.ok(programs.includes(`packages/${file}`), file);
  assert.ok(programs.at(-1)?.startsWith(folder));
});

test('a selection of few files is not grouped', () => {
  const few = all.filter((file) => file.includes('test/roles/'));
  assert.ok(few.length > 1);
  assert.deepEqual(programsOf(few, folder), few);
});
