// Finds the instance's SECRET_KEY: in the environment, else in a file that the first start makes.
// It must never overwrite an existing key, replace a bad one, or put any part of a key into a message.
import { randomBytes } from 'node:crypto';
import { link, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';

export interface SecretKey {
  key: Buffer;
  source: 'environment' | 'file';
  /** Worth showing to the operator; the start may go on. */
  warning?: string;
}

const minBytes = 32; // the strength of SHA-256 and AES-256, for which it is the root
const newKeyBytes = 48; // 64 characters of base64, no padding
const maxFileBytes = 4096; // anything longer is not a key but a wrong file
const fileName = 'secret.key';
const howToMake = 'Make one with: openssl rand -base64 48';

const hasCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException)?.code === code;

// A file of zero bytes (power failure), or random bytes that were read as UTF-8 and lost most of their randomness.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
const noText = /[\u0000-\u001f\u007f\ufffd]/;

function toKey(text: string, where: string, remedy: string): Buffer {
  const trimmed = text.trim();
  if (noText.test(trimmed)) throw new Error(`${where} must be one line of text, not binary data. ${remedy}`);
  const key = Buffer.from(trimmed);
  if (key.length >= minBytes) return key;
  throw new Error(`${where} has ${key.length} bytes of text; it needs at least ${minBytes}. ${remedy}`);
}

/** Undefined when there is no such file. */
async function readKeyFile(path: string): Promise<SecretKey | undefined> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (!file) return undefined;
  try {
    const { mode, size } = await file.stat();
    if (size > maxFileBytes) throw new Error(`${path} has ${size} bytes and is no secret key.`);
    const remedy =
      'It is not replaced, because stored signing keys may depend on it: restore it from a backup, or delete it to ' +
      'have a new one made (everyone has to log in again).';
    const key = toKey(await file.readFile('utf8'), path, remedy);
    // Windows has no such mode bits and reports every file as readable by all.
    if (process.platform === 'win32' || (mode & 0o077) === 0) return { key, source: 'file' };
    const warning = `${path} is open to other users of this machine. Close it with: chmod 600 ${path}`;
    return { key, source: 'file', warning };
  } finally {
    await file.close();
  }
}

async function flushDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return; // a directory cannot be opened there
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Makes the file unless another process is faster. It appears under its name complete and on the disk, by a hard
 * link, which unlike a rename never replaces what is there.
 */
async function createKeyFile(dataDir: string, path: string): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(`${randomBytes(newKeyBytes).toString('base64')}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(temporary, path).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error;
    });
    await flushDirectory(dataDir);
  } finally {
    await rm(temporary, { force: true });
  }
}

/**
 * The key as the UTF-8 bytes of its text without white space around it, so that the content of the file, put into the
 * environment, is the same key. `fromEnv` wins, and an unset one is undefined: an empty one is refused.
 * Any number of processes that start together on one `dataDir` get one key. Throws Error with the remedy in its
 * message when a key is shorter than 32 bytes or the file can be neither read nor made.
 */
export async function loadSecretKey(options: {
  fromEnv?: string | undefined;
  dataDir: string;
  /** Make none: a key that is missing is an error. */
  existing?: boolean;
}): Promise<SecretKey> {
  const { fromEnv, dataDir } = options;
  if (fromEnv !== undefined) return { key: toKey(fromEnv, 'SECRET_KEY', howToMake), source: 'environment' };
  const path = join(dataDir, fileName);
  try {
    const existing = await readKeyFile(path);
    if (existing) return existing;
    if (options.existing)
      throw new Error(`There is no secret key in ${path}. Set SECRET_KEY or DATA_DIR as the service has it.`);
    await createKeyFile(dataDir, path);
    const created = await readKeyFile(path);
    if (created) return created;
    throw new Error(`${path} vanished right after it was made.`);
  } catch (cause) {
    if (!(cause instanceof Error) || !('syscall' in cause)) throw cause;
    throw new Error(
      `Cannot read or make the secret key: ${cause.message}. Make DATA_DIR readable and writable for this process, or ` +
        `set SECRET_KEY. ${howToMake}`,
      { cause },
    );
  }
}
