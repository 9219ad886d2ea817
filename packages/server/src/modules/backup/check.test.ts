// A small backup, written by hand and then broken in every place.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { constants, zstdCompressSync } from 'node:zlib';
import { checkedParts, RowCounter, verifyBackup } from './check.ts';
import { BackupError } from './faults.ts';
import { type FrameKind, frameOf, packed } from './format.ts';
import { onlyFrame } from './zstd-frame.ts';

type Part = [FrameKind, Buffer | object];

const header = {
  castellan: '0.1.0',
  postgres: '18.4',
  created_at: '2026-11-23T08:00:00.000Z',
  migrations: [{ name: '0001-accounts', checksum: null }],
  left_out: ['rate_limits'],
};

function table(name: string, ...pieces: string[]): Part[] {
  const counter = new RowCounter();
  for (const piece of pieces) counter.add(Buffer.from(piece));
  return [
    ['T', { name, columns: ['id', 'name'] }],
    ...pieces.map((piece): Part => ['D', Buffer.from(piece)]),
    ['R', counter.result()],
  ];
}

const body: Part[] = [
  ['H', header],
  ...table('users', '1\tAda\n2\tGr', 'ace\n'),
  ...table('roles'),
  ['S', [{ name: 'session_ends_id_seq', last_value: '7', is_called: true }]],
];

const bytesOf = (parts: readonly Part[]): Buffer =>
  Buffer.concat(parts.flatMap(([kind, it]) => frameOf(kind, it)));

/** Ends a backup as the writer does. */
function ended(parts: readonly Part[], totals = { tables: 2, rows: 2 }): Buffer {
  const sha256 = createHash('sha256').update(bytesOf(parts)).digest('hex');
  return bytesOf([...parts, ['E', { ...totals, sha256 }]]);
}

async function fileOf(frames: Buffer): Promise<Buffer> {
  const source = (async function* () {
    yield frames;
  })();
  return buffer(packed(source));
}

/** Delivers the bytes in pieces of three, so that nothing ends where a piece does. */
async function* inPieces(file: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < file.length; at += 3) yield file.subarray(at, at + 3);
}

async function* atOnce(file: Buffer): AsyncGenerator<Uint8Array> {
  yield file;
}

test('a whole backup is read as it was written, however its bytes arrive', async () => {
  const file = await fileOf(ended(body));
  for (const source of [inPieces(file), atOnce(file)])
    assert.deepEqual(await verifyBackup(source), {
      header,
      tables: [
        { name: 'users', rows: 2, bytes: 14 },
        { name: 'roles', rows: 0, bytes: 0 },
      ],
      rows: 2,
    });
  const data: Buffer[] = [];
  for await (const part of checkedParts(atOnce(file))) if (part.kind === 'data') data.push(part.data);
  assert.equal(Buffer.concat(data).toString(), '1\tAda\n2\tGrace\n');
});

test('a backup that was cut anywhere is refused', async () => {
  const file = await fileOf(ended(body));
  for (let length = 0; length < file.length; length += 1)
    await assert.rejects(verifyBackup(atOnce(file.subarray(0, length))), BackupError, `${length} bytes`);
});

/** Delivers the pieces of a file, each with what ends there. */
async function* inChunks(...chunks: readonly Buffer[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

/** What a decompressor passes over, or takes as more of the same (RFC 8878, sections 3.1.1 and 3.1.2). */
const additions = {
  byte: Buffer.of(0),
  'line feed': Buffer.from('\n'),
  'second frame': zstdCompressSync(Buffer.alloc(0)),
  'skippable frame': Buffer.of(0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7),
};

test('a backup is read to its last byte, and nothing may follow it, in whichever chunk', async () => {
  const file = await fileOf(ended(body));
  for (const [name, more] of Object.entries(additions))
    for (const source of [
      () => atOnce(Buffer.concat([file, more])),
      () => inPieces(Buffer.concat([file, more])),
      () => inChunks(file, more),
      () => inChunks(file, Buffer.alloc(0), more),
      () => inChunks(file.subarray(0, -1), file.subarray(-1), more),
    ])
      await assert.rejects(verifyBackup(source()), /something follows its end/, name);
  await verifyBackup(inChunks(file, Buffer.alloc(0)));
});

test('a backup with the empty frame that Node added to those of version 0.1.0 is read, with half of it refused', async () => {
  const file = await fileOf(ended(body));
  const empty = zstdCompressSync(Buffer.alloc(0), { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  const old = Buffer.concat([file, empty]);
  for (const source of [inPieces(old), atOnce(old), inChunks(file, empty)]) await verifyBackup(source);
  for (const broken of [old.subarray(0, -1), Buffer.concat([old, Buffer.of(0)]), Buffer.concat([old, empty])])
    for (const source of [inPieces(broken), atOnce(broken), inChunks(file, broken.subarray(file.length))])
      await assert.rejects(verifyBackup(source), /something follows its end/);
});

test('a backup is written as one frame, wherever its parts end', async () => {
  for (let length = 0; length < 200_000; length += 5_000) {
    const parts = (async function* () {
      yield Buffer.alloc(5);
      yield Buffer.alloc(length, 'x');
    })();
    const file = await buffer(packed(parts));
    const frame = file.subarray(file.indexOf('\n') + 1);
    assert.deepEqual(await buffer(onlyFrame(Readable.from([frame]))), frame, `${length} bytes`);
  }
});

test('a backup whose frame is not the first or not the only one is refused', async () => {
  const file = await fileOf(ended(body));
  const line = file.subarray(0, file.indexOf('\n') + 1);
  const frame = file.subarray(line.length);
  const frames = ended(body);
  const halves = [frames.subarray(0, 100), frames.subarray(100)].map((half) => zstdCompressSync(half));
  for (const compressed of [
    Buffer.concat([additions['skippable frame'], frame]),
    Buffer.concat([additions['second frame'], frame]),
    Buffer.concat(halves),
  ]) {
    const broken = Buffer.concat([line, compressed]);
    for (const source of [inPieces(broken), atOnce(broken)])
      await assert.rejects(verifyBackup(source), BackupError);
  }
});

test('every form of a frame is followed to its end: with and without sizes and checksum, any kind of block', async () => {
  const random = randomBytes(300_000);
  const contents = [
    random,
    Buffer.alloc(400_000),
    Buffer.concat([random, Buffer.alloc(9), random]),
    Buffer.of(1),
  ];
  for (const content of contents)
    for (const checksum of [0, 1])
      for (const contentSize of [0, 1]) {
        const frame = zstdCompressSync(content, {
          params: {
            [constants.ZSTD_c_checksumFlag]: checksum,
            [constants.ZSTD_c_contentSizeFlag]: contentSize,
          },
          ...(contentSize === 1 && { pledgedSrcSize: content.length }),
        });
        const read = async (size: number, bytes: Buffer): Promise<Buffer> =>
          buffer(onlyFrame(Readable.from(piecesOf(bytes, size))));
        for (const size of [1_000, 65_536, frame.length]) {
          assert.deepEqual(await read(size, frame), frame);
          await assert.rejects(read(size, frame.subarray(0, -1)), /its end is missing/);
          await assert.rejects(read(size, Buffer.concat([frame, Buffer.of(0)])), /something follows its end/);
        }
      }
});

function* piecesOf(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test('a backup whose frames were cut before compression is refused', async () => {
  const frames = ended(body);
  for (let length = 1; length < frames.length; length += 1)
    await assert.rejects(verifyBackup(atOnce(await fileOf(frames.subarray(0, length)))), BackupError);
});

test('a flipped bit anywhere is refused, or changes nothing', async () => {
  const file = await fileOf(ended(body));
  const whole = await verifyBackup(atOnce(file));
  let refused = 0;
  for (let at = 0; at < file.length; at += 1) {
    const broken = Buffer.from(file);
    broken.writeUInt8(broken.readUInt8(at) ^ (1 << (at % 8)), at);
    try {
      assert.deepEqual(await verifyBackup(atOnce(broken)), whole, `byte ${at}`);
    } catch (error) {
      assert.ok(error instanceof BackupError, `byte ${at}: ${error}`);
      refused += 1;
    }
  }
  // zstd has a few bits without a meaning.
  assert.ok(refused > file.length - 4, `${refused} of ${file.length}`);
});

test('a change that was compressed again is refused', async () => {
  const frames = ended(body);
  for (let at = 0; at < frames.length; at += 1) {
    const broken = Buffer.from(frames);
    broken.writeUInt8(broken.readUInt8(at) ^ (1 << (at % 8)), at);
    await assert.rejects(verifyBackup(atOnce(await fileOf(broken))), BackupError, `byte ${at}`);
  }
});

const [users, usersFirst, usersSecond, usersEnd, roles, rolesEnd] = body.slice(1) as [
  Part,
  Part,
  Part,
  Part,
  Part,
  Part,
];
const [head, sequences] = [body[0] as Part, body.at(-1) as Part];

for (const [what, frames, message] of [
  ['no header', ended(body.slice(1)), /does not begin with its header/],
  [
    'a row too few',
    ended([head, users, usersFirst, usersEnd, roles, rolesEnd, sequences], { tables: 2, rows: 1 }),
    /the checksum of a table differs/,
  ],
  [
    'rows in another order',
    ended([head, users, usersSecond, usersFirst, usersEnd, roles, rolesEnd, sequences]),
    /the checksum of a table differs/,
  ],
  ['a table twice', ended([head, ...table('roles'), ...table('roles'), sequences]), /a table twice/],
  ['a name that no table has', ended([head, ...table('x'.repeat(64)), sequences]), /another shape/],
  ['no sequences', ended(body.slice(0, -1)), /another order/],
  ['another total', ended(body, { tables: 2, rows: 3 }), /its checksum differs/],
  ['something after its end', Buffer.concat([ended(body), bytesOf([head])]), /something follows its end/],
  ['a part that is too long', Buffer.from([0x48, 0xff, 0, 0, 0]), /a part is too long/],
  ['no parts', Buffer.alloc(0), /its end is missing/],
] as const)
  test(`a backup with ${what} is refused`, async () => {
    const file = Buffer.concat([Buffer.from('castellan-backup/1\n'), zstdCompressSync(frames)]);
    await assert.rejects(verifyBackup(atOnce(file)), (error: unknown) => {
      assert.ok(error instanceof BackupError);
      assert.match(error.message, message);
      return true;
    });
  });

for (const [content, message] of [
  ['', /is not a backup of Castellan/],
  ['PGDMP…', /is not a backup of Castellan/],
  ['castellan-backup/2\n…', /A newer version of Castellan made the backup/],
  ['castellan-backup/1\nplain text instead of zstd', /damaged|incomplete/],
] as const)
  test(`a file that begins with ${JSON.stringify(content.slice(0, 20))} is refused`, async () => {
    await assert.rejects(verifyBackup(atOnce(Buffer.from(content))), (error: unknown) => {
      assert.ok(error instanceof BackupError);
      assert.match(error.message, message);
      return true;
    });
  });

test('an error of the source reaches the reader as it is', async () => {
  const failing = (async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from('castellan-backup/1\n');
    throw new Error('the disk is gone');
  })();
  await assert.rejects(verifyBackup(failing), /the disk is gone/);
  const frames = (async function* (): AsyncGenerator<Buffer> {
    yield Buffer.from('H');
    throw new Error('the connection is gone');
  })();
  await assert.rejects(buffer(packed(frames)), /the connection is gone/);
});
