// Tests the look-up of leaked passwords in files of every shape.
// It must not use the network or a real collection: the files are made here.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { temporaryFolder } from '@castellan/embedded-postgres/testing';
import type { Logger } from '../../platform/logging/log.ts';
import { type BreachFile, createBreachFile } from './breach-file.ts';

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex').toUpperCase();

/** Hashes of made-up passwords `leaked 0`, `leaked 1`, …, in order. */
const hashesOf = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => sha1(`leaked ${i}`)).sort();

type Shape = { end?: string; withCount?: boolean; lowerCase?: boolean };

function textOf(
  hashes: readonly string[],
  { end = '\n', withCount = true, lowerCase = false }: Shape = {},
): string {
  const lines = hashes.map((hash, i) => (withCount ? `${hash}:${(i % 997) + 1}` : hash) + end).join('');
  return lowerCase ? lines.toLowerCase() : lines;
}

type Logged = { level: 'info' | 'warn'; msg: string };

function openedLater(t: TestContext, text: string, lookAgainMs?: number) {
  const path = join(temporaryFolder(t), 'breached.txt');
  writeFileSync(path, text);
  const logged: Logged[] = [];
  const note = (level: Logged['level']) => (_: unknown, msg: string) => void logged.push({ level, msg });
  const log = { info: note('info'), warn: note('warn') } as unknown as Logger;
  const file = createBreachFile(path, log, lookAgainMs === undefined ? {} : { lookAgainMs });
  t.after(() => file.close());
  return { path, file, logged, warnings: () => logged.filter(({ level }) => level === 'warn') };
}

async function assertKnows(file: BreachFile, count: number, step = 1): Promise<void> {
  for (let i = 0; i < count; i += step) {
    assert.equal(await file.has(`leaked ${i}`), true, `leaked ${i}`);
    assert.equal(await file.has(`unknown ${i}`), false, `unknown ${i}`);
  }
}

const until = async (isDone: () => boolean | Promise<boolean>): Promise<void> => {
  for (let i = 0; !(await isDone()); i += 1) {
    assert.ok(i < 500, 'waited in vain');
    await wait(10);
  }
};

const shapes: Record<string, Shape> = {
  'as it is offered': {},
  'with CRLF': { end: '\r\n' },
  'in lower case': { lowerCase: true },
  'without counts': { withCount: false },
  'in lower case, with CRLF and without counts': { end: '\r\n', lowerCase: true, withCount: false },
};
for (const [name, shape] of Object.entries(shapes))
  for (const count of [1, 2, 700, 120_000])
    test(`a file of ${count} lines ${name} has its passwords and no other`, async (t) => {
      const { file, warnings } = openedLater(t, textOf(hashesOf(count), shape));
      await file.open();
      await assertKnows(file, count, Math.ceil(count / 700));
      assert.deepEqual(warnings(), []);
    });

test('every line of a file is found, and no neighbour of one', async (t) => {
  const hashes = hashesOf(4_000);
  const { file } = openedLater(t, textOf(hashes));
  await assertKnows(file, 4_000);
  assert.deepEqual(file.stats(), { isCurrent: true, found: 4_000, absent: 4_000, failed: 0 });
});

/** Returns what this process has open at the path; a file that has no name any more ends in ` (deleted)`. */
const openAt = (path: string): string[] =>
  readdirSync('/proc/self/fd').flatMap((handle) => {
    try {
      const target = readlinkSync(join('/proc/self/fd', handle));
      return target.startsWith(path) ? [target] : [];
    } catch {
      return [];
    }
  });

test('a close leaves no handle open, also while another file is opened', async (t) => {
  if (!existsSync('/proc/self/fd')) return t.skip('counts handles in /proc, which only Linux has');
  const text = textOf(hashesOf(60_000));
  const { path, file } = openedLater(t, text, 1);
  const opening = file.open();
  await file.close();
  await opening;
  assert.deepEqual(openAt(path), [], 'closed while it was opened for the first time');

  const { path: replaced, file: other } = openedLater(t, text, 1);
  await other.open();
  writeFileSync(`${replaced}.new`, text);
  renameSync(`${replaced}.new`, replaced);
  // It is being checked from then on, which takes longer than a turn.
  while (!openAt(replaced).includes(replaced)) await nextTurn();
  await other.close();
  assert.deepEqual(openAt(replaced), [], 'closed while another one was opened');
});

test('a file without a line end at its end has its last line', async (t) => {
  const { file } = openedLater(t, textOf(hashesOf(300)).trimEnd());
  await assertKnows(file, 300);
});

test('a password is looked for as it is typed and as it is stored', async (t) => {
  const typed = 'no\u00a0break e\u0301';
  const other = 'plain break \u00e9';
  const { file } = openedLater(t, textOf([typed, other].map(sha1).sort()));
  assert.equal(await file.has(typed), true);
  assert.equal(await file.has('plain break e\u0301'), true);
  assert.equal(await file.has('plain\u00a0break \u00e9'), true);
  assert.equal(await file.has('x'.repeat(100_000)), false);
});

const broken: Record<string, { text: (hashes: string[]) => string; reason: RegExp }> = {
  unsorted: { text: (hashes) => textOf(hashes.toReversed()), reason: /is not ordered by hash/ },
  'ordered by count': {
    text: (hashes) => textOf(hashes.toSorted((one, next) => one.slice(5, 9).localeCompare(next.slice(5, 9)))),
    reason: /is not ordered by hash/,
  },
  'with two lines that are swapped': {
    text: ([first = '', ...others]) => textOf([...others.slice(0, 9), first, ...others.slice(9)]),
    reason: /is not ordered by hash/,
  },
  'cut in a hash': {
    text: (hashes) => textOf(hashes).slice(0, -30),
    reason: /in the middle of a line: it is cut/,
  },
  'cut after a line': {
    text: (hashes) => textOf(hashes.slice(0, 30_000)),
    reason: /begins with [0-9A-F]{4}: it is cut/,
  },
  'without its beginning': { text: (hashes) => textOf(hashes.slice(30_000)), reason: /lacks its beginning/ },
  empty: { text: () => '', reason: /is empty/ },
  'of blank lines': { text: () => '\n\n\r\n', reason: /is empty/ },
  'of passwords': { text: () => 'password\n123456\nqwerty\n'.repeat(1_000), reason: /is not a SHA-1 hash/ },
  'of NTLM hashes': {
    text: (hashes) => textOf(hashes.map((hash) => hash.slice(8))),
    reason: /is not a SHA-1 hash/,
  },
  'of SHA-256 hashes': {
    text: (hashes) => textOf(hashes.map((hash) => hash + hash.slice(0, 24))),
    reason: /is not a SHA-1 hash/,
  },
  'without line ends': { text: (hashes) => hashes.join(''), reason: /is not a SHA-1 hash/ },
};
for (const [name, { text, reason }] of Object.entries(broken))
  test(`a file ${name} is refused with a reason`, async (t) => {
    const { file } = openedLater(t, text(hashesOf(40_000)));
    await assert.rejects(file.open(), (error: Error) => {
      assert.match(error.message, /PASSWORD_BREACH_FILE \(\/.+breached\.txt\)/);
      assert.match(error.message, reason);
      return true;
    });
  });

test('a path without a file is refused', async (t) => {
  const { path, file } = openedLater(t, '');
  rmSync(path);
  await assert.rejects(file.open(), /does not exist/);
  const folder = createBreachFile(join(path, '..'), {} as Logger);
  await assert.rejects(folder.open(), /is not a regular file/);
});

test('a look-up in a million lines reads at most 5 blocks and 20 KiB', async (t) => {
  const { path, file } = openedLater(t, textOf(hashesOf(1_000_000)));
  await file.open();
  const handle = await open(path);
  const { mock } = t.mock.method(Object.getPrototypeOf(handle) as FileHandle, 'read');
  await handle.close();
  for (let i = 0; i < 2_000; i += 1) {
    await file.has(i % 2 === 0 ? `leaked ${i * 400}` : `unknown ${i}`);
    const lengths = mock.calls.map(({ arguments: read }) => Number((read as unknown[])[2]));
    const bytes = lengths.reduce((sum, length) => sum + length, 0);
    assert.ok(lengths.length > 0 && lengths.length <= 5 && bytes <= 20_480, `${lengths}`);
    mock.resetCalls();
  }
  assert.deepEqual(file.stats(), { isCurrent: true, found: 1_000, absent: 1_000, failed: 0 });
});

test('a file that grows while it is read answers from what it was, and then from what it is', async (t) => {
  const hashes = hashesOf(60_000);
  const { path, file, warnings } = openedLater(t, textOf(hashes), 20);
  await file.open();
  const more = Array.from({ length: 20 }, (_, i) => `FFFFF${i.toString(16).toUpperCase().padStart(35, '0')}`);
  let isGrowing = true;
  const readers = Array.from({ length: 4 }, async () => {
    for (let i = 0; isGrowing; i = (i + 611) % 60_000) assert.equal(await file.has(`leaked ${i}`), true);
  });
  assert.ok((hashes.at(-1) ?? '') < (more[0] ?? ''));
  for (const hash of more) {
    appendFileSync(path, `${hash.slice(0, 17)}`);
    await wait(15);
    appendFileSync(path, `${hash.slice(17)}:1\n`);
    await wait(5);
  }
  isGrowing = false;
  await Promise.all(readers);
  await until(() => file.stats().isCurrent);
  await assertKnows(file, 60_000, 997);
  assert.equal(file.stats().failed, 0);
  for (const { msg } of warnings()) assert.match(msg, /it is cut/);
});

test('a file that vanishes stays in use, with one warning, until another one takes its place', async (t) => {
  const { path, file, logged, warnings } = openedLater(t, textOf(hashesOf(2_000)), 10);
  await file.open();
  rmSync(path);
  await until(() => !file.stats().isCurrent);
  await wait(50);
  await assertKnows(file, 2_000, 101);
  assert.equal(warnings().length, 1);
  assert.match(warnings()[0]?.msg ?? '', /does not exist.+stays in use/);

  writeFileSync(path, 'not hashes');
  await until(() => warnings().length === 2);
  assert.equal(file.stats().isCurrent, false);
  await assertKnows(file, 2_000, 101);

  const next = `${path}.next`;
  writeFileSync(next, textOf(hashesOf(3_000)));
  renameSync(next, path);
  await until(() => file.has('leaked 2999'));
  await until(() => file.stats().isCurrent);
  assert.match(logged.at(-1)?.msg ?? '', /was replaced/);
  await assertKnows(file, 3_000, 101);
});

test('a file that shrinks under a look-up is a warning and a count, not an error', async (t) => {
  const { path, file, warnings } = openedLater(t, textOf(hashesOf(50_000)));
  await file.open();
  truncateSync(path, 100);
  assert.equal(await file.has('leaked 1'), false);
  assert.equal(await file.has('leaked 2'), false);
  assert.deepEqual(file.stats(), { isCurrent: false, found: 0, absent: 0, failed: 2 });
  assert.equal(warnings().length, 1);
});
