// Tests that whole checkpoints are found in a file, whatever a crash left between them.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { emptyRoot } from './merkle-tree.ts';
import { checkpointsIn, notesIn } from './note-file.ts';
import { signNote, writeCheckpoint } from './signed-note.ts';

const signers = [
  { name: 'log', ...generateKeyPairSync('ed25519') },
  { name: 'witness', ...generateKeyPairSync('ed25519') },
];
const noteOf = (size: number): string =>
  signNote(writeCheckpoint({ origin: 'log', size, root: emptyRoot() }), signers);
const sizesIn = (text: string): number[] => [...checkpointsIn(text)].map(({ size }) => size);

test('notes are found in order, as they were written', () => {
  const text = `\n${noteOf(1)}\n${noteOf(2)}\n${noteOf(3)}`;
  assert.deepEqual([...notesIn(text)], [noteOf(1), noteOf(2), noteOf(3)]);
  assert.deepEqual(sizesIn(text), [1, 2, 3]);
  assert.deepEqual(sizesIn(noteOf(1) + noteOf(2)), [1, 2]);
});

test('a note that was cut off anywhere costs no other one', () => {
  for (let length = 0; length < noteOf(2).length; length += 1) {
    const sizes = sizesIn(`${noteOf(1)}\n\n${noteOf(2).slice(0, length)}\n\n${noteOf(3)}`);
    assert.ok(sizes.includes(1), String(length));
    assert.ok(sizes.includes(3), `${length} ${JSON.stringify(sizes)}`);
  }
});

test('other text has no checkpoint', () => {
  for (const text of ['', '\n\n', 'text', 'text\n\n— a b\n', '— log abc\n\n'])
    assert.deepEqual(sizesIn(text), []);
});
