// Finds leaked passwords in PASSWORD_BREACH_FILE: lines `HASH` or `HASH:COUNT`, SHA-1 in hex, ordered by hash.
// It must not read the whole file, which may have 40 GB, nor block the event loop.
import { createHash } from 'node:crypto';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { SettingsError } from '../../platform/config/config.ts';
import type { Logger } from '../../platform/logging/log.ts';
import { withPlainSpaces } from '../../platform/security/password-hashes/scheme.ts';
import { errorCode, errorMessage } from '../../platform/unknown-values.ts';

export type BreachFile = {
  /** Opens and checks the file, and looks for another one at its path from then on. Throws a SettingsError that says what to do. */
  open(): Promise<void>;
  /** Returns whether the file has the password; false, with a warning, if it cannot be read. Opens it if need be. */
  has(password: string): Promise<boolean>;
  stats(): { isCurrent: boolean; found: number; absent: number; failed: number };
  close(): Promise<void>;
};

/** How long a replaced file is not noticed. */
const LOOK_AGAIN_MS = 60_000;
/** Parts that are checked for order when the file is opened: all of it up to 2 MiB. */
const PARTS = 512;
const PART_BYTES = 4_096;
/** 40 digits, a colon, up to 20 digits, a line end, and some blanks. */
const MAX_LINE_BYTES = 100;
/** The bisection ends in a part of this size, which is read at once. */
const WINDOW_BYTES = 16_384;
/** Hashes are spread evenly: a gap of this many mean distances at an end has the probability e^-40. */
const MAX_GAP = 40;
/** Longer passwords are refused anyway. In UTF-16 units. */
const MAX_PASSWORD_UNITS = 1_024;

/** A line, by the place where it begins. `hash`: in upper case. */
type Line = { at: number; hash: string };

type Opened = {
  handle: FileHandle;
  /** Differs for another file, and for another state of it. */
  identity: string;
  /** Where the last line ends. */
  end: number;
  /** Lines throughout the file, in order. */
  marks: readonly Line[];
  readers: number;
  isRetired: boolean;
};

/** Returns the file, not yet opened. `lookAgainMs`: how often it looks for another file at the path. */
export function createBreachFile(
  path: string,
  log: Logger,
  { lookAgainMs = LOOK_AGAIN_MS }: { lookAgainMs?: number } = {},
): BreachFile {
  const counts = { found: 0, absent: 0, failed: 0 };
  let opening: Promise<Opened> | undefined;
  let current: Opened | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** What the last warning was about, so that it is not repeated. */
  let warned: string | undefined;

  const warn = (about: string, msg: string): void => {
    if (warned === about) return;
    warned = about;
    log.warn({ file: path }, msg);
  };

  function opened(): Promise<Opened> {
    opening ??= openNamed(path).then((file) => {
      timer = setInterval(lookAgain, lookAgainMs).unref();
      current = file;
      return file;
    });
    return opening;
  }

  let looking: Promise<void> | undefined;
  const lookAgain = (): void => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
  };

  async function look(): Promise<void> {
    let about = 'gone';
    try {
      about = identityOf(await stat(path));
      if (about !== current?.identity && about !== warned) {
        const next = await openAndCheck(path);
        const former = current;
        current = next;
        if (former) await retire(former);
        log.info({ file: path }, 'the file of leaked passwords was replaced; the new one is in use');
      }
      if (about === current?.identity) warned = undefined;
    } catch (error) {
      warn(
        about,
        `PASSWORD_BREACH_FILE ${explain(error)}. The file that was opened before stays in use until this process ends.`,
      );
    }
  }

  return {
    async open() {
      await opened();
    },

    async has(password) {
      if (password.length > MAX_PASSWORD_UNITS) return false;
      await opened();
      const file = current;
      if (!file) return false;
      file.readers += 1;
      try {
        let isFound = false;
        for (const hash of hashesOf(password)) isFound ||= await find(file, hash);
        counts[isFound ? 'found' : 'absent'] += 1;
        return isFound;
      } catch (error) {
        counts.failed += 1;
        warn(
          'unreadable',
          `PASSWORD_BREACH_FILE ${explain(error)}. Passwords are accepted without this check until it can be read.`,
        );
        return false;
      } finally {
        file.readers -= 1;
        if (file.isRetired) await retire(file);
      }
    },

    stats: () => ({ isCurrent: current !== undefined && warned === undefined, ...counts }),

    async close() {
      // What is being opened at this moment is closed, too.
      await opening?.catch(() => {});
      clearInterval(timer);
      await looking;
      const file = current;
      current = undefined;
      if (file) await retire(file);
    },
  };
}

/** Opens and checks the file, and closes it again. Throws a SettingsError that says what to do. */
export const checkBreachFile = async (path: string): Promise<void> => (await openNamed(path)).handle.close();

async function openNamed(path: string): Promise<Opened> {
  try {
    return await openAndCheck(path);
  } catch (error) {
    throw new SettingsError([`PASSWORD_BREACH_FILE (${resolve(path)}) ${explain(error)}`]);
  }
}

/** Closes the file once nobody reads it. */
async function retire(file: Opened): Promise<void> {
  file.isRetired = true;
  if (file.readers === 0) await file.handle.close().catch(() => {});
}

/** The hashes of the password as it is typed and as it is stored. */
const hashesOf = (password: string): Set<string> =>
  new Set(
    [password, withPlainSpaces(password).normalize('NFC')].map((text) =>
      createHash('sha1').update(text).digest('hex').toUpperCase(),
    ),
  );

const identityOf = ({ dev, ino, size, mtimeMs }: Awaited<ReturnType<FileHandle['stat']>>): string =>
  [dev, ino, size, mtimeMs].join(' ');

/** Throws an Error whose message continues a sentence that begins with the file. */
async function openAndCheck(path: string): Promise<Opened> {
  if (!(await stat(path)).isFile()) throw new Error('is not a regular file; name the file with the hashes');
  const handle = await open(path);
  try {
    const facts = await handle.stat();
    const end = await endOfLastLine(handle, Number(facts.size));
    const marks = await readMarks(handle, end);
    return { handle, identity: identityOf(facts), end, marks, readers: 0, isRetired: false };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Returns where the last line ends, without its line end. */
async function endOfLastLine(handle: FileHandle, size: number): Promise<number> {
  const beginning = (await read(handle, 0, Math.min(size, MAX_LINE_BYTES))).trimStart();
  if (beginning.length >= 40) hashIn(beginning.split('\n')[0] ?? '');
  const from = Math.max(0, size - MAX_LINE_BYTES - 2);
  const text = await read(handle, from, size);
  const kept = text.replace(/[\r\n]+$/, '');
  const start = kept.lastIndexOf('\n') + 1;
  if (kept === '') throw new Error('is empty; name the file with the hashes');
  if (start > 0 || from === 0) {
    const isCut = /^[0-9a-f]{0,39}$/i.test(kept.slice(start));
    if (isCut) throw new Error('ends in the middle of a line: it is cut; get the whole file again');
    hashIn(kept.slice(start));
  }
  return from + kept.length;
}

/** Checks parts of the file for order and returns the first line of each. */
async function readMarks(handle: FileHandle, end: number): Promise<Line[]> {
  const marks: Line[] = [];
  let [lines, bytes, next, last] = [0, 0, 0, ''];
  const parts = Array.from({ length: PARTS }, (_, part) => Math.floor((end * part) / PARTS));
  // The last one ends with the file.
  for (const start of [...parts, end - PART_BYTES + 1]) {
    const at = Math.max(next, start);
    if (at >= end) break;
    const found = await linesFrom(handle, at, end);
    const [first] = found.lines;
    if (first === undefined) continue;
    for (const { hash } of found.lines) {
      if (hash < last)
        throw new Error(
          'is not ordered by hash; get the version that is ordered by hash, or sort it with: LC_ALL=C sort',
        );
      last = hash;
    }
    marks.push(first);
    lines += found.lines.length;
    bytes += found.end - first.at;
    next = found.end;
  }
  const [first] = marks;
  if (first === undefined) throw new Error(notHashes);
  // Hashes are spread evenly from 0 to 1, so that many lines leave small gaps.
  const total = (lines * end) / bytes;
  const share = (hash: string): number => Number.parseInt(hash.slice(0, 12), 16) / 2 ** 48;
  if (total * share(first.hash) > MAX_GAP)
    throw new Error('lacks its beginning: no hash begins with 0; get the whole file again');
  if (total * (1 - share(last)) > MAX_GAP)
    throw new Error(
      `ends with a hash that begins with ${last.slice(0, 4)}: it is cut; get the whole file again`,
    );
  return marks;
}

/** Returns the lines that begin from `at` on in the next 4 KiB, and where the last of them ends. */
async function linesFrom(
  handle: FileHandle,
  at: number,
  end: number,
): Promise<{ lines: Line[]; end: number }> {
  // From the byte before, which tells whether a line begins here.
  const from = Math.max(0, at - 1);
  const to = Math.min(end, from + PART_BYTES);
  const text = await read(handle, from, to);
  const lines: Line[] = [];
  let start = at === 0 ? 0 : text.indexOf('\n') + 1;
  if (at > 0 && start === 0) return noLines(text, end);
  for (;;) {
    const newline = text.indexOf('\n', start);
    if (newline === -1 && to < end) break;
    const line = newline === -1 ? text.slice(start) : text.slice(start, newline);
    if (line.trim() !== '') lines.push({ at: from + start, hash: hashIn(line) });
    start = newline === -1 ? text.length : newline + 1;
    if (start >= text.length) break;
  }
  return { lines, end: from + start };
}

function noLines(text: string, end: number): { lines: Line[]; end: number } {
  if (text.length > MAX_LINE_BYTES) throw new Error(notHashes);
  return { lines: [], end };
}

const notHashes =
  'has a line that is not a SHA-1 hash in hex, or HASH:COUNT; get the version with SHA-1 hashes';

function hashIn(line: string): string {
  const [, hash] = /^([0-9a-f]{40})(?::\d{1,20})?\s*$/i.exec(line) ?? [];
  if (hash === undefined) throw new Error(notHashes);
  return hash.toUpperCase();
}

/** Returns whether the file has the hash. Throws an Error if its content is no longer that of a file of hashes. */
async function find({ handle, end, marks }: Opened, hash: string): Promise<boolean> {
  const above = marks.findIndex((mark) => mark.hash > hash);
  const below = marks.at(above === -1 ? -1 : above - 1);
  if (above === 0 || below === undefined) return false;
  let from = below.at;
  let to = above === -1 ? end : (marks[above]?.at ?? end);
  while (to - from > WINDOW_BYTES) {
    const line = await lineAfter(handle, from + Math.floor((to - from) / 2));
    if (line.hash === hash) return true;
    if (line.hash < hash) from = line.at;
    else to = line.at;
  }
  const text = (await read(handle, from, to)).toUpperCase();
  return text.startsWith(hash) || text.includes(`\n${hash}`);
}

/** Returns the first line that begins after `at`. */
async function lineAfter(handle: FileHandle, at: number): Promise<Line> {
  const text = await read(handle, at, at + 2 * MAX_LINE_BYTES);
  const start = text.indexOf('\n') + 1;
  const newline = text.indexOf('\n', start);
  if (start === 0 || newline === -1) throw new Error(notHashes);
  return { at: at + start, hash: hashIn(text.slice(start, newline)) };
}

async function read(handle: FileHandle, from: number, to: number): Promise<string> {
  const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(to - from), 0, to - from, from);
  if (bytesRead < to - from) throw new Error('is shorter than it was when it was opened');
  return buffer.toString('latin1');
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist; name the file with the hashes',
  ENOTDIR: 'does not exist; name the file with the hashes',
  EACCES: 'cannot be read by this user; make it readable with: chmod o+r',
};

const explain = (error: unknown): string => reasons[errorCode(error) ?? ''] ?? errorMessage(error);
