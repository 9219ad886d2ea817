// How test files are grouped into processes.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileOf, programsOf } from './batches.ts';
import { testFiles } from './files.ts';

const root = join(import.meta.dirname, '../..');
const home = mkdtempSync(join(tmpdir(), 'castellan-batches-'));
after(() => rmSync(home, { recursive: true }));
const newFolder = (): string => mkdtempSync(join(home, 'run-'));
const all = testFiles({ quick: false, database: false, only: '', named: [] });

/** Returns the test files that these programs run. */
const filesIn = (programs: readonly string[]): string[] =>
  programs.flatMap((program) =>
    program.endsWith('.mjs')
      ? [...readFileSync(program, 'utf8').matchAll(/^test\("([^"]+)"/gm)].map(([, file = '']) => file)
      : [fileOf(program)],
  );

test('a whole run runs every file once, many of them together', () => {
  const programs = programsOf(all, newFolder());
  assert.deepEqual(programs, [...programs].sort(), 'node:test keeps the order');
  assert.deepEqual(filesIn(programs).sort(), [...all].sort());
  assert.ok(programs.length < 0.35 * all.length, `${programs.length} programs for ${all.length} files`);
});

test('files that start programs or stop databases run by themselves, before the batches and between the pages', () => {
  const programs = programsOf(all, newFolder());
  const links = programs.filter((program) => !program.endsWith('.mjs'));
  for (const link of links) assert.equal(realpathSync(link), join(root, fileOf(link)));
  for (const file of [
    'server/test/start/start.test.ts',
    'server/test/start/shutdown.test.ts',
    'server/test/e2e/reference.test.ts',
  ])
    assert.ok(links.map(fileOf).includes(`packages/${file}`), file);
  const pages = programs.flatMap((program, index) => (program.endsWith('pages.mjs') ? [index] : []));
  assert.equal(pages[0], 0);
  assert.ok(
    pages.every((place, index) => index === 0 || place - (pages[index - 1] ?? 0) > 2),
    `${pages}`,
  );
  assert.match(programs.at(-1) ?? '', /batch\.mjs$/);
});

test('a selection of few files is not grouped', () => {
  const few = all.filter((file) => file.includes('test/roles/'));
  assert.ok(few.length > 1);
  assert.deepEqual(programsOf(few, newFolder()), few);
});

test('a link is named after its file, so that a report can say which one failed', () => {
  assert.equal(fileOf('/dev/shm/castellan-run-a/012+scripts+pack+pack.test.ts'), 'scripts/pack/pack.test.ts');
  assert.equal(
    fileOf('../../dev/shm/castellan-run-a/012+scripts+pack+pack.test.ts'),
    'scripts/pack/pack.test.ts',
  );
  assert.equal(fileOf('scripts/pack/pack.test.ts'), 'scripts/pack/pack.test.ts');
});
