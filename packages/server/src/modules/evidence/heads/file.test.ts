// The last head of a file of years is found without reading the file, wherever a read of its end begins.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { appendFile, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { emptyRoot } from '../../../platform/evidence/merkle-tree.ts';
import { signNote, writeCheckpoint } from '../../../platform/evidence/signed-note.ts';
import { createHeadsFile } from './file.ts';

const origin = 'id.example.com/audit/0192f0c1-2345-4890-8abc-def012345678';
const signers = [{ name: origin, ...generateKeyPairSync('ed25519') }];
const headOf = (size: number): string =>
  `\n\n${signNote(writeCheckpoint({ origin, size, root: emptyRoot() }), signers)}`;
let folder: string;
let path: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'castellan-heads-'));
  path = join(folder, 'heads.txt');
});
after(() => rm(folder, { recursive: true }));

const lastIn = () => createHeadsFile(path).readLast();

test('the last whole head is found, whatever is before and after it', async () => {
  assert.equal(await lastIn(), null);
  await writeFile(path, '');
  assert.equal(await lastIn(), null);
  await writeFile(path, headOf(1) + headOf(2) + headOf(3).slice(0, 60));
  assert.equal((await lastIn())?.size, 2);
  const head = headOf(7);
  for (let length = 65_536 - head.length; length < 65_536; length += 1) {
    await writeFile(path, `${headOf(6)}${head}${'x'.repeat(length)}`);
    assert.deepEqual([(await lastIn())?.size, (await lastIn())?.origin], [7, origin], String(length));
  }
});

test('a file that is larger than a text can be is read from its end', async () => {
  await writeFile(path, headOf(1));
  await truncate(path, 2 ** 30);
  await appendFile(path, headOf(2));
  const head = await lastIn();
  assert.deepEqual([head?.size, head?.logId], [2, '0192f0c1-2345-4890-8abc-def012345678']);
});
