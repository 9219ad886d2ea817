import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFolders, looseFiles, MOST_LOOSE_FILES } from './folders.ts';

const filesIn = (folder: string, count: number): string[] =>
  Array.from({ length: count }, (_, number) => `${folder}/file-${number}.ts`);

test('a test beside its source counts once with it, other tests count, and what is no source does not', () => {
  const files = [
    'a/x.ts',
    'a/x.test.ts',
    'a/Y.tsx',
    'a/Y.test.ts',
    'a/alone.test.ts',
    'a/x.css',
    'a/note.md',
  ];
  assert.deepEqual(looseFiles(files), new Map([['a', 4]]));
});

test('files of folders below do not count', () => {
  assert.deepEqual(findFolders([...filesIn('a', MOST_LOOSE_FILES), ...filesIn('a/b', 3)]), []);
});

test('a folder with too many files is named with their number', () => {
  assert.deepEqual(findFolders(filesIn('a', MOST_LOOSE_FILES + 1)), [
    'a: 16 loose files, at most 15. Group them by task.',
  ]);
});
