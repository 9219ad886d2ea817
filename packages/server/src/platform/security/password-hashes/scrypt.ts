// scrypt (RFC 7914) in three spellings:
//   $scrypt$ln=<log2 N>,r=<r>,p=<p>$<salt>$<output>        PHC string
//   $scrypt-nfkc$…                                         the same of a password in NFKC, as better-auth hashes it
//   $fbscrypt$v=1,n=<log2 N>,r=<r>,p=<p>,ss=<separator>,sk=<signer key>$<salt>$<output>
// The last is what Firebase makes of scrypt, in the spelling of Supabase: the derived key encrypts the project's signer
// key. The signer key is part of each hash: docs/decisions/0015-imported-passwords.md.
import { createCipheriv, scrypt as derive, type ScryptOptions } from 'node:crypto';
import {
  fromBase64,
  isEqual,
  malformed,
  normalized,
  type Reading,
  readSaltAndOutput,
  type Scheme,
  tooCostly,
} from './scheme.ts';

// N times r times p: takes 0.74 s of one core (measured). N times r times 128 bytes is the memory, so 256 MiB at most.
const MAX_WORK = 2 ** 21;

type Cost = { log2N: number; r: number; p: number };

/** Returns why a cost cannot be computed; null if it can. RFC 7914, 2: N is less than 2^(16r). */
function faultOf({ log2N, r, p }: Cost): Reading | null {
  if (log2N >= 16 * r) return malformed;
  return 2 ** log2N * r * p > MAX_WORK ? tooCostly : null;
}

function deriveKey(
  password: string,
  salt: Buffer,
  { log2N, r, p }: Cost,
  outputBytes: number,
): Promise<Buffer> {
  const N = 2 ** log2N;
  // Node's own limit is 32 MiB. The exact need, with room for the blocks of p.
  const options: ScryptOptions = { N, r, p, maxmem: 128 * r * (N + p + 2) };
  return new Promise((resolve, reject) => {
    derive(password, salt, outputBytes, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}

const phcForm =
  /^\$scrypt(-nfkc)?\$ln=([1-9]\d?),r=([1-9]\d{0,3}),p=([1-9]\d{0,3})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

export const scrypt: Scheme = {
  prefix: /^\$scrypt(?:-nfkc)?\$/,
  read(stored) {
    const [, nfkc, log2N, r, p, saltText, outputText] = phcForm.exec(stored) ?? [];
    const parts = readSaltAndOutput(saltText, outputText);
    if (parts === null) return malformed;
    const cost = { log2N: Number(log2N), r: Number(r), p: Number(p) };
    const fault = faultOf(cost);
    if (fault) return fault;
    const { salt, output } = parts;
    return {
      verify: async (password) => {
        const text = nfkc === undefined ? password : normalized(password, 'NFKC');
        return isEqual(await deriveKey(text, salt, cost, output.length), output);
      },
    };
  },
};

const AES_KEY_BYTES = 32;
const noIv = Buffer.alloc(16);

const firebaseForm =
  /^\$fbscrypt\$v=1,n=([1-9]\d?),r=([1-9]\d{0,3}),p=([1-9]\d{0,3}),ss=([A-Za-z0-9+/=]*),sk=([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)$/;

export const firebaseScrypt: Scheme = {
  prefix: /^\$fbscrypt\$/,
  read(stored): Reading {
    const [, log2N, r, p, separatorText = '', keyText = '', saltText, outputText] =
      firebaseForm.exec(stored) ?? [];
    const parts = readSaltAndOutput(saltText, outputText);
    const separator = fromBase64(separatorText);
    const signerKey = fromBase64(keyText);
    if (parts === null || separator === null || signerKey === null) return malformed;
    // AES in counter mode: the output is as long as what it encrypts.
    if (signerKey.length !== parts.output.length) return malformed;
    const cost = { log2N: Number(log2N), r: Number(r), p: Number(p) };
    const fault = faultOf(cost);
    if (fault) return fault;
    const salt = Buffer.concat([parts.salt, separator]);
    return {
      verify: async (password) => {
        const key = await deriveKey(password, salt, cost, AES_KEY_BYTES);
        return isEqual(createCipheriv('aes-256-ctr', key, noIv).update(signerKey), parts.output);
      },
    };
  },
};
