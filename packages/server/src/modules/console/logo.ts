// Loads the operator's logo and checks that browsers can be given it.
// It must not trust the name of the file: its content decides the type.
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { SettingsError } from '../../platform/config/config.ts';
import { errorMessage } from '../../platform/unknown-values.ts';
import { looksLikeSvg, rootAttributes, svgProblem } from './svg-check.ts';

export type Logo = {
  contentType: 'image/svg+xml' | 'image/png' | 'image/webp';
  bytes: Buffer;
  /** Width by height; null if the file does not tell. */
  ratio: number | null;
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
  if (contentType !== null) {
    const [width, height] = contentType === 'image/png' ? pngSize(bytes) : webpSize(bytes);
    return { contentType, bytes, ratio: ratioOf(width, height) };
  }
  const text = textOf(bytes);
  if (text === null || !looksLikeSvg(text))
    throw new Error('is not an SVG, PNG or WebP file; export the logo in one of these formats');
  const problem = svgProblem(text);
  if (problem !== null)
    throw new Error(
      `${problem}; export it as a plain SVG without scripts and links, or use a PNG or WebP file`,
    );
  return { contentType: 'image/svg+xml', bytes, ratio: svgRatio(text) };
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

/** Pages reserve the room of the logo by it, but not for one that nobody would draw. */
function ratioOf(width: number, height: number): number | null {
  // Browsers ignore negative sizes.
  const ratio = width > 0 ? width / height : 0;
  return ratio >= 0.05 && ratio <= 20 ? ratio : null;
}

const noSize = [0, 0] as const;

// PNG (Third Edition), 11.2.1: IHDR begins with width and height.
const pngSize = (bytes: Buffer): readonly [number, number] =>
  bytes.length < 24 ? noSize : [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];

// RFC 9649, 2.5 to 2.7, and RFC 6386, 9.1: 14 bits each, in the extended format 24. Two formats store the size minus one.
function webpSize(bytes: Buffer): readonly [number, number] {
  if (bytes.length < 30) return noSize;
  const format = bytes.toString('latin1', 12, 16);
  if (format === 'VP8X') return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1];
  if (format === 'VP8 ') return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
  const both = bytes.readUInt32LE(21);
  return format === 'VP8L' ? [(both & 0x3fff) + 1, ((both >>> 14) & 0x3fff) + 1] : noSize;
}

/** CSS Values and Units, 6.2: pixels of each absolute unit. */
const pixelsOf: Readonly<Record<string, number>> = {
  '': 1,
  px: 1,
  in: 96,
  cm: 96 / 2.54,
  mm: 96 / 25.4,
  q: 96 / 101.6,
  pt: 96 / 72,
  pc: 16,
};

/** As browsers draw it: its own width and height, or else those of its viewBox. Null if either has a relative unit such as em. */
function svgRatio(text: string): number | null {
  const attributes = rootAttributes(text);
  const lengthOf = (name: string): number | null => {
    const value = attributes.get(name)?.trim() ?? '';
    if (value === '' || value === 'auto' || value.endsWith('%')) return null;
    const [, number, unit = ''] = /^([-+\d.]+(?:e[-+]?\d+)?)([a-z]*)$/i.exec(value) ?? [];
    return Number(number) * (pixelsOf[unit.toLowerCase()] ?? Number.NaN);
  };
  const [width, height] = [lengthOf('width'), lengthOf('height')];
  if (width !== null && height !== null) return ratioOf(width, height);
  const [, , ...size] = (attributes.get('viewBox')?.trim() ?? '').split(/[\s,]+/).map(Number);
  return size.length === 2 ? ratioOf(size[0] ?? 0, size[1] ?? 0) : null;
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
