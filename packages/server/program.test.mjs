import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { bundledProgram } from './program.mjs';
import { linesFile, POSITION, writeLines } from './stack-lines.mjs';

const folder = import.meta.dirname;

/** Runs code in a separate process in this folder, and returns what it prints. */
const printedBy = (code) =>
  execFileSync(process.execPath, ['--input-type=module', '--eval', code], { cwd: folder, encoding: 'utf8' });

test('a stack in the bundled program names the files and lines of the sources', () => {
  // The test command makes the bundle.
  assert.match(bundledProgram('server') ?? '', /\/program-[^/]+\/server\.mjs$/);
  const readSettings = `
    const environment = new Proxy({}, { get() {
      process.stdout.write(new TypeError('here').stack);
      process.exit(0);
    } });
    await serve(environment);`;
  const bundled = printedBy(`import { loadProgram } from './program.mjs';
    const { serve } = await loadProgram('server');${readSettings}`);
  const sources = printedBy(`import { loadProgram } from './program.mjs';
    const { serve } = await loadProgram('server', () => import('./src/main.ts'), { isBundled: false });${readSettings}`);
  assert.doesNotMatch(sources, /program-/);
  const placesIn = (stack) => stack.match(/\/packages\/server\/src\/[\w/-]+\.ts:\d+/g);
  assert.ok(placesIn(sources).length > 2, sources);
  assert.deepEqual(placesIn(bundled), placesIn(sources));
  assert.match(bundled, /^TypeError: here\n {4}at /);
});

test('a stack names the lines of a file with as many lines as a bundle may get', async (t) => {
  const there = mkdtempSync(join(tmpdir(), 'castellan-lines-'));
  t.after(() => rmSync(there, { recursive: true, force: true }));
  const file = join(there, 'large.mjs');
  const before = 70_000;
  writeFileSync(file, `${'\n'.repeat(before)}process.stdout.write(new Error('here').stack);`);
  writeFileSync(
    linesFile(file),
    writeLines({
      sources: ['first.ts', 'second.ts'],
      positions: Uint32Array.of(0, before * POSITION),
      source: Uint16Array.of(0, 1),
      line: Uint16Array.of(0, 41),
    }),
  );
  const url = JSON.stringify(pathToFileURL(file).href);
  const stack = printedBy(`import { showSourceLines } from './stack-lines.mjs';
    showSourceLines(${url});
    await import(${url});`);
  assert.match(stack, /\/second\.ts:42$/m);
});

test('compiled code is kept with the installation, or where NODE_COMPILE_CACHE says, and never in the temporary folder', (t) => {
  const temporary = mkdtempSync(join(tmpdir(), 'castellan-program-'));
  t.after(() => rmSync(temporary, { recursive: true, force: true }));
  const cacheOf = (environment) =>
    execFileSync(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { getCompileCacheDir } from 'node:module';
         import { loadProgram } from './program.mjs';
         await loadProgram('server', () => import('./src/main.ts'));
         process.stdout.write(getCompileCacheDir());`,
      ],
      { cwd: folder, encoding: 'utf8', env: { TMPDIR: temporary, ...environment } },
    );
  const kept = join(folder, '../../node_modules/.cache/castellan/compiled/');
  assert.ok(cacheOf({}).startsWith(kept), cacheOf({}));
  assert.deepEqual(readdirSync(temporary), []);
  assert.ok(
    cacheOf({ NODE_COMPILE_CACHE: join(temporary, 'chosen') }).startsWith(join(temporary, 'chosen/')),
  );
});

test('the bundle is used while no source has changed, and only where it was made', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'castellan-program-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  let here = join(root, 'here');
  const cache = (...path) => join(here, 'node_modules/.cache/castellan', ...path);
  mkdirSync(cache('program-1'), { recursive: true });
  mkdirSync(join(here, 'packages/server/src'), { recursive: true });
  for (const file of ['program.mjs', 'bundles.mjs', 'stack-lines.mjs'])
    cpSync(join(folder, file), join(here, 'packages/server', file));
  const source = () => join(here, 'packages/server/src/main.ts');
  writeFileSync(source(), "export const name = 'sources';");

  /** Loads the program there: `bundle` or `sources`. */
  const loaded = () =>
    printedBy(`
      const { bundledProgram } = await import(${JSON.stringify(pathToFileURL(join(here, 'packages/server/program.mjs')).href)});
      process.stdout.write(bundledProgram('server') === undefined ? 'sources' : 'bundle');`);
  const list = () =>
    printedBy(`
      import { writeFileSync } from 'node:fs';
      const { bundleList, stampOf } = await import(${JSON.stringify(pathToFileURL(join(here, 'packages/server/program.mjs')).href)});
      writeFileSync(bundleList, JSON.stringify({
        madeIn: ${JSON.stringify(`${here}/`)}, folder: ${JSON.stringify(cache('program-1'))},
        stamps: { 'packages/server/src/main.ts': stampOf('packages/server/src/main.ts') },
        sizes: { 'server.mjs': 29, 'part.mjs': 7 } }));`);

  assert.equal(loaded(), 'sources', 'there is no bundle');
  list();
  assert.equal(loaded(), 'sources', 'its files are missing');
  writeFileSync(cache('program-1/server.mjs'), "export const name = 'bundle';");
  assert.equal(loaded(), 'sources', 'a part is missing');
  writeFileSync(cache('program-1/part.mjs'), '// ');
  assert.equal(loaded(), 'sources', 'a part is not complete');
  writeFileSync(cache('program-1/part.mjs'), '// part');
  assert.equal(loaded(), 'bundle');

  writeFileSync(source(), "export const name = 'changed';");
  utimesSync(source(), new Date(), new Date(Date.now() - 60_000));
  assert.equal(loaded(), 'sources', 'a source has changed');
  list();
  assert.equal(loaded(), 'bundle');

  writeFileSync(cache('program.json'), '{"madeIn":');
  assert.equal(loaded(), 'sources', 'its list is damaged');
  list();
  renameSync(here, join(root, 'elsewhere'));
  here = join(root, 'elsewhere');
  assert.equal(loaded(), 'sources', 'it was made elsewhere');
  list();
  rmSync(source());
  assert.equal(loaded(), 'sources', 'a source is gone');
});
