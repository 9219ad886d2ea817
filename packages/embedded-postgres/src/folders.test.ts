import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeFolder } from './folders.ts';

test('creates missing parents, sets the mode of the folder only, and keeps existing folders', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'castellan-folders-'));
  t.after(() => rmSync(root, { recursive: true }));
  const folder = join(root, 'a', 'b', 'c');
  assert.equal(makeFolder(folder, 0o700), true);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  assert.equal(makeFolder(folder, 0o755), false);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
});

test('throws for a file of the same name, a file in the path, and a file system that refuses folders', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'castellan-folders-'));
  t.after(() => rmSync(root, { recursive: true }));
  const file = join(root, 'file');
  writeFileSync(file, '');
  assert.throws(() => makeFolder(file), { code: 'EEXIST' });
  assert.throws(() => makeFolder(join(file, 'sub')), { code: 'ENOTDIR' });
  if (process.platform === 'linux')
    for (const path of ['/proc/nope', '/proc/nope/data'])
      assert.throws(() => makeFolder(path), { code: 'ENOENT', path: '/proc/nope' });
});
