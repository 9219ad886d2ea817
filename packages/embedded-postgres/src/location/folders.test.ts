import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeFolder, syncTree } from './folders.ts';

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

/** Counts the calls of `sync` of all files. */
async function watchSyncs(t: TestContext, folder: string) {
  const file = await open(folder);
  const handle: FileHandle = Object.getPrototypeOf(file);
  await file.close();
  return t.mock.method(handle, 'sync');
}

test('writes every file and folder of a tree to disk once, and follows no link', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'castellan-folders-'));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, 'a', 'b'), { recursive: true });
  for (const file of ['one', 'a/two', 'a/b/three', 'a/b/four', 'a/b/five', 'a/b/six'])
    writeFileSync(join(root, file), file);
  symlinkSync('/does/not/exist', join(root, 'a', 'link'));
  const { mock } = await watchSyncs(t, root);
  await syncTree(root);
  assert.equal(mock.callCount(), 9);
});

test('rejects when a file cannot be written to disk', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'castellan-folders-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const file of ['one', 'two', 'three']) writeFileSync(join(root, file), file);
  const { mock } = await watchSyncs(t, root);
  mock.mockImplementationOnce(() => Promise.reject(Object.assign(new Error(), { code: 'EIO' })), 2);
  await assert.rejects(syncTree(root), { code: 'EIO' });
});
