// phpass, the portable hashes of WordPress before 6.8 ($P$) and phpBB 3 ($H$): iterated MD5.
// A verification computes in a separate worker thread, because no asynchronous function of Node iterates MD5. Each
// user needs one, so the 70 ms of its start do not matter.
import { Worker } from 'node:worker_threads';
import { isEqual, malformed, type Scheme, tooCostly } from './scheme.ts';

const alphabet = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

// log2 of the iterations. WordPress uses 13; 18 takes 0.27 s of one core (measured).
const MIN_LOG2 = 7;
const MAX_LOG2 = 18;
const MAX_OF_SCHEME = 30;
const DIGEST_BYTES = 16;
// Rounds times blocks of MD5, which hashes the whole password in each round: WordPress's rounds of 16 KiB. Without it, a
// stranger's long password would take as many times longer as it has blocks.
const MAX_BLOCKS = 2 ** 21;
const BLOCK_BYTES = 64;

const form = /^\$[PH]\$([./0-9A-Za-z])([^\s$]{8})([./0-9A-Za-z]{22})$/;

export type PhpassWork = { password: Uint8Array; salt: Uint8Array; iterations: number };

/** Returns the bytes of phpass's own base64: little-endian, six bits a character. */
function decode(text: string): Buffer {
  let bits = 0n;
  for (const [index, character] of [...text].entries())
    bits |= BigInt(alphabet.indexOf(character)) << BigInt(wordBits(index));
  const bytes = Buffer.alloc(DIGEST_BYTES);
  for (let index = 0; index < DIGEST_BYTES; index += 1)
    bytes[index] = Number((bits >> BigInt(8 * index)) & 255n);
  return bytes;
}

/** Three bytes fill four characters, and each three bytes begin anew. */
const wordBits = (index: number): number => 24 * Math.floor(index / 4) + 6 * (index % 4);

const digestOf = (work: PhpassWork): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const url = new URL('./phpass-worker.ts', import.meta.url);
    const worker = new Worker(url, { workerData: work, env: {}, execArgv: [] });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the worker ended with code ${code}`)));
  });

export const phpass: Scheme = {
  prefix: /^\$[PH]\$/,
  read(stored) {
    const [, cost, salt, output] = form.exec(stored) ?? [];
    if (cost === undefined || salt === undefined || output === undefined) return malformed;
    const log2 = alphabet.indexOf(cost);
    if (log2 < MIN_LOG2 || log2 > MAX_OF_SCHEME) return malformed;
    if (log2 > MAX_LOG2) return tooCostly;
    const expected = decode(output);
    return {
      verify: async (password) => {
        const iterations = 2 ** log2;
        const bytes = Buffer.from(password);
        if (iterations * Math.ceil((DIGEST_BYTES + bytes.length) / BLOCK_BYTES) > MAX_BLOCKS) return false;
        const work = { password: bytes, salt: Buffer.from(salt), iterations };
        return isEqual(await digestOf(work), expected);
      },
    };
  },
};
