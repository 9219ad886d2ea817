// Follows the parts of a zstd frame (RFC 8878, section 3.1.1), because a decompressor ignores what comes after one, and takes
// further and skippable frames. It must not decompress anything, nor keep more than one chunk.
import { cutOff, damaged } from './faults.ts';

const MAGIC = 0xfd2fb528;
const SINGLE_SEGMENT = 0x20;
const CHECKSUM = 0x04;
const dictionaryIdBytes = [0, 1, 2, 4];
const contentSizeBytes = [0, 2, 4, 8];

/** Yields the length of each part in bytes. Receives up to four bytes of its beginning. Throws a BackupError. */
function* partsOfFrame(): Generator<number, void, Buffer> {
  if ((yield 4).readUInt32LE() !== MAGIC) throw damaged('it cannot be decompressed');
  const descriptor = (yield 1).readUInt8();
  const isSingleSegment = (descriptor & SINGLE_SEGMENT) !== 0;
  // One byte: the window descriptor, or the content size that replaces it.
  const contentSize = contentSizeBytes[descriptor >>> 6] || (isSingleSegment ? 1 : 0);
  yield (isSingleSegment ? 0 : 1) + (dictionaryIdBytes[descriptor & 3] ?? 0) + contentSize;
  for (let isLast = false; !isLast; ) {
    const header = (yield 3).readUIntLE(0, 3);
    isLast = (header & 1) === 1;
    const type = (header >>> 1) & 3;
    if (type === 3) throw damaged('it cannot be decompressed');
    // A block of type 1 repeats one byte.
    yield type === 1 ? 1 : header >>> 3;
  }
  if ((descriptor & CHECKSUM) !== 0) yield 4;
}

// Node writes it after the frame when a stream is ended before its last chunk is compressed, as backups of version 0.1.0 were.
const emptyFrame = Buffer.from('28b52ffd240001000099e9d851', 'hex');

/** Follows a frame through chunks of any length. */
class FrameEnd {
  readonly #parts = partsOfFrame();
  #part = this.#parts.next();
  /** The bytes of the part that have passed, and the first four of them. */
  #passed = 0;
  #beginning = Buffer.alloc(4);
  /** Bytes after the frame. */
  #following = 0;

  /** Returns how many bytes of the chunk belong to the frame. Throws a BackupError for others than those of the empty frame. */
  take(chunk: Uint8Array): number {
    let at = 0;
    while (!this.#part.done && at < chunk.length) {
      const left = this.#part.value - this.#passed;
      const bytes = chunk.subarray(at, at + left);
      if (this.#passed < 4) this.#beginning.set(bytes.subarray(0, 4 - this.#passed), this.#passed);
      at += bytes.length;
      this.#passed += bytes.length;
      while (!this.#part.done && this.#passed === this.#part.value) {
        this.#part = this.#parts.next(this.#beginning);
        this.#passed = 0;
      }
    }
    const rest = chunk.subarray(at);
    const expected = emptyFrame.subarray(this.#following, this.#following + rest.length);
    if (!expected.equals(rest)) throw damaged('something follows its end');
    this.#following += rest.length;
    return at;
  }

  /** Throws a BackupError if the frame has not ended, or what follows it has not. */
  requireEnd(): void {
    if (!this.#part.done) throw cutOff();
    if (this.#following !== 0 && this.#following !== emptyFrame.length)
      throw damaged('something follows its end');
  }
}

/**
 * Returns the bytes of the one frame of a source, the last of them only after the source has ended. Throws a BackupError if
 * the source has anything else, and whatever `source` throws.
 */
export async function* onlyFrame(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const end = new FrameEnd();
  let held: Uint8Array = Buffer.alloc(0);
  for await (const chunk of source) {
    const bytes = chunk.subarray(0, end.take(chunk));
    if (bytes.length === 0) continue;
    yield held;
    held = bytes;
  }
  end.requireEnd();
  yield held;
}
