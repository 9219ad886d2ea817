// The format of a backup: one line of text, then one frame of zstd (RFC 8878), which contains our own frames in sequence. Such a
// frame is its kind (1 byte), the length of its content (4 bytes, big endian), and the content. It must not know a table.
//
//   H header        who made it, when, and from which schema                                    (JSON)
//   T table         the name of a table and its columns                                         (JSON)
//   D data          rows as PostgreSQL's COPY writes them in text format; a row may span frames (bytes)
//   R rows          ends a table: number of rows and bytes, SHA-256 of its data                 (JSON)
//   S sequences     their positions                                                             (JSON)
//   E end           totals, and the SHA-256 of all frames before this one                       (JSON)
//
// H (T D* R)* S E, and nothing afterwards. Whatever was cut off or changed is therefore noticed by a reader.
import { Readable, type Writable } from 'node:stream';
import { promisify } from 'node:util';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import Type, { type Static, type TSchema } from 'typebox';
import { Check } from 'typebox/value';
import { BackupError, cutOff, damaged } from './faults.ts';
import { onlyFrame } from './zstd-frame.ts';

const opening = 'castellan-backup/';
const firstLine = Buffer.from(`${opening}1\n`);
/** More than any frame that is written: what arrives from the network is at most 64 KiB. */
const MAX_CONTENT = 16 * 1024 * 1024;

const Count = Type.Integer({ minimum: 0 });
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** Far more than any backup has: what is kept of a hostile one must stay small, however well it is compressed. */
export const MAX_ITEMS = 100_000;
const MAX_TEXT = 1_000;

/** Of a table, a column or a sequence: PostgreSQL keeps 63 bytes of a name. */
const Name = Type.String({ minLength: 1, maxLength: 63 });

export const Header = Type.Object({
  /** Version of Castellan that made the backup. */
  castellan: Type.String({ maxLength: MAX_TEXT }),
  postgres: Type.String({ maxLength: MAX_TEXT }),
  /** The time of the snapshot, by the clock of the database. */
  created_at: Type.String({ format: 'date-time' }),
  /** The migrations of its schema; a checksum is null if it was never recorded. */
  migrations: Type.Array(
    Type.Object({
      name: Type.String({ maxLength: MAX_TEXT }),
      checksum: Type.Union([Type.String({ maxLength: MAX_TEXT }), Type.Null()]),
    }),
    { minItems: 1, maxItems: MAX_ITEMS },
  ),
  /** Tables without their rows. */
  left_out: Type.Array(Name, { maxItems: MAX_ITEMS }),
  secret_key: Type.Optional(Type.String({ minLength: 1 })),
});
export type Header = Static<typeof Header>;

export const TableStart = Type.Object({
  name: Name,
  columns: Type.Array(Name, { maxItems: MAX_ITEMS }),
});
export type TableStart = Static<typeof TableStart>;

export const TableEnd = Type.Object({ rows: Count, bytes: Count, sha256: Sha256 });
export const Sequences = Type.Array(
  Type.Object({
    name: Name,
    last_value: Type.String({ pattern: '^-?[0-9]{1,19}$' }),
    is_called: Type.Boolean(),
  }),
  { maxItems: MAX_ITEMS },
);
export type Sequences = Static<typeof Sequences>;
export const End = Type.Object({ tables: Count, rows: Count, sha256: Sha256 });

export type FrameKind = 'H' | 'T' | 'D' | 'R' | 'S' | 'E';
export type Frame = { kind: string; head: Buffer; content: Buffer };

/** Returns the bytes of a frame, head and content, without copying the content. */
export function frameOf(kind: FrameKind, content: Buffer | object): [head: Buffer, content: Buffer] {
  const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
  const head = Buffer.alloc(5);
  head.write(kind, 'latin1');
  head.writeUInt32BE(bytes.length, 1);
  return [head, bytes];
}

/** Returns the JSON of a frame. Throws a BackupError if it does not have the shape. */
export function contentOf<S extends TSchema>({ content }: Frame, shape: S): Static<S> {
  let value: unknown;
  try {
    value = JSON.parse(content.toString('utf8'));
  } catch {
    throw damaged('a description is no JSON');
  }
  if (!Check(shape, value)) throw damaged('a description has another shape');
  return value;
}

/** Compresses frames to the bytes of a backup. Throws what `frames` throws. */
export async function* packed(frames: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield firstLine;
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  compressInto(compress, frames).catch((error) => compress.destroy(error));
  yield* compress;
}

async function compressInto(compress: Writable, frames: AsyncIterable<Buffer>): Promise<void> {
  const write = promisify<Buffer, void>(compress.write.bind(compress));
  // Node would write an empty frame after this one, if the stream were ended before its last chunk is compressed.
  for await (const frame of frames) await write(frame);
  compress.end();
}

/** Returns the frames of a backup. Throws a BackupError, and whatever `source` throws. */
export async function* framesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  const bytes = new ByteReader(source);
  await readFirstLine(bytes);
  const decompress = createZstdDecompress();
  const compressed = Readable.from(onlyFrame(bytes.rest()), { objectMode: false });
  compressed.on('error', (error) => decompress.destroy(error));
  try {
    yield* splitFrames(new ByteReader(compressed.pipe(decompress)));
  } catch (error) {
    throw isCompressionFault(error) ? damaged('it cannot be decompressed') : error;
  } finally {
    compressed.destroy();
    decompress.destroy();
  }
}

async function readFirstLine(bytes: ByteReader): Promise<void> {
  const found = (await bytes.read(firstLine.length)).toString('latin1');
  if (!found.startsWith(opening)) throw new BackupError('The file is not a backup of Castellan.');
  if (found !== firstLine.toString('latin1'))
    throw new BackupError('A newer version of Castellan made the backup. Use that version.');
}

const isCompressionFault = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^(Z_|ZSTD_|ERR_ZSTD)/.test(String(error.code));

async function* splitFrames(bytes: ByteReader): AsyncGenerator<Frame> {
  for (;;) {
    const head = await bytes.read(5);
    if (head.length === 0) return;
    if (head.length < 5) throw cutOff();
    const length = head.readUInt32BE(1);
    if (length > MAX_CONTENT) throw damaged('a part is too long');
    const content = await bytes.read(length);
    if (content.length < length) throw cutOff();
    yield { kind: head.toString('latin1', 0, 1), head, content };
  }
}

/** Reads an exact number of bytes at a time. */
class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** Returns `length` bytes, or fewer at the end. */
  async read(length: number): Promise<Buffer> {
    const parts: Uint8Array[] = [this.#buffer];
    let size = this.#buffer.length;
    while (size < length) {
      const next = await this.#chunks.next();
      if (next.done) break;
      parts.push(next.value);
      size += next.value.length;
    }
    const all = parts.length === 1 ? this.#buffer : Buffer.concat(parts);
    this.#buffer = all.subarray(length);
    return all.subarray(0, length);
  }

  async *rest(): AsyncGenerator<Uint8Array> {
    if (this.#buffer.length > 0) yield this.#buffer;
    for (;;) {
      const next = await this.#chunks.next();
      if (next.done) return;
      yield next.value;
    }
  }
}
