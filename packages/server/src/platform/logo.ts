// Loads the operator's logo and checks that browsers can be given it.
// It must not trust the name of the file: its content decides the type.
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { SettingsError } from './config.ts';
import { looksLikeSvg, svgProblem } from './svg-check.ts';
import { errorMessage } from './unknown-values.ts';

export type Logo = {
  contentType: 'image/svg+xml' | 'image/png' | 'image/webp';
  bytes: Buffer;
};

// Every page shows the logo. A drawing needs a tenth of this.
const MAX_LOGO_BYTES = 256 * 1024;

/** Returns the logo, undefined without a path. Throws a SettingsError that says what to do. */
export function loadLogo(path: string | undefined): Logo | undefined {
  if (path === undefined) return undefined;
  try {
    return read(path);
  } catch (error) {
    throw new SettingsError([`LOGO_FILE (${resolve(path)}) ${errorMessage(error)}`]);
  }
}

/** Throws an Error whose message continues a sentence that begins with the file. */
function read(path: string): Logo {
  const bytes = readBytes(path);
  const contentType = typeOf(bytes);
  if (contentType !== null) return { contentType, bytes };
  const text = textOf(bytes);
  if (text === null || !looksLikeSvg(text))
    throw new Error('is not an SVG, PNG or WebP file; export the logo in one of these formats');
  const problem = svgProblem(text);
  if (problem !== null)
    throw new Error(
      `${problem}; export it as a plain SVG without scripts and links, or use a PNG or WebP file`,
    );
  return { contentType: 'image/svg+xml', bytes };
}

function readBytes(path: string): Buffer {
  const tooLarge = (size: number): Error =>
    new Error(
      `has ${Math.ceil(size / 1024)} KiB; use a file of at most ${MAX_LOGO_BYTES / 1024} KiB, such as a smaller picture`,
    );
  let size: number;
  try {
    const facts = statSync(path);
    if (!facts.isFile()) throw new Error('it is not a file');
    size = facts.size;
    if (size <= MAX_LOGO_BYTES) {
      const bytes = readFileSync(path);
      if (bytes.length <= MAX_LOGO_BYTES) return bytes;
      size = bytes.length;
    }
  } catch (error) {
    throw new Error(
      `cannot be read (${errorMessage(error)}); correct the path, or allow the user of the service to read the file`,
    );
  }
  throw tooLarge(size);
}

// PNG (Third Edition), 5.2: the signature, then the chunk IHDR. RFC 9649 (WebP), 2.4: RIFF, the size, WEBP.
function typeOf(bytes: Buffer): 'image/png' | 'image/webp' | null {
  const at = (from: number, text: string): boolean =>
    bytes.toString('latin1', from, from + text.length) === text;
  if (at(0, '\x89PNG\r\n\x1a\n') && at(12, 'IHDR')) return 'image/png';
  return at(0, 'RIFF') && at(8, 'WEBPVP8') ? 'image/webp' : null;
}

/** Returns the text without a byte order mark; null if it is not UTF-8 text. */
function textOf(bytes: Buffer): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}
