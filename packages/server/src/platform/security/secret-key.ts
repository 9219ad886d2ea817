// Loads the SECRET_KEY of the instance: from the environment, else from a file that the first start creates.
// It must never overwrite an existing key, replace a bad one, or put any part of a key into a message.
import { randomBytes } from 'node:crypto';
import { link, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '@castellan/embedded-postgres/folders';
import { errorCode } from '../unknown-values.ts';

export type SecretKey = {
  key: Buffer;
  source: 'environment' | 'file';
  /** Shown to the operator; the start continues. */
  warning?: string;
};

const MIN_BYTES = 32; // the strength of SHA-256 and AES-256, whose keys are derived from it
const NEW_KEY_BYTES = 48; // 64 characters of base64, no padding
const MAX_FILE_BYTES = 4096; // a longer file is not a key
const fileName = 'secret.key';
const howToMake = 'Make one with: openssl rand -base64 48';

// A file of zero bytes (power failure), or random bytes that lost most of their entropy when read as UTF-8.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
const noText = /[\u0000-\u001f\u007f\ufffd]/;

function toKey(text: string, where: string, remedy: string): Buffer {
  const trimmed = text.trim();
  if (noText.test(trimmed)) throw new Error(`${where} must be one line of text, not binary data. ${remedy}`);
  const key = Buffer.from(trimmed);
  if (key.length >= MIN_BYTES) return key;
  throw new Error(`${where} has ${key.length} bytes of text; it needs at least ${MIN_BYTES}. ${remedy}`);
}

/** Returns the key in the file; undefined when there is no such file. */
async function readKeyFile(path: string): Promise<SecretKey | undefined> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (!file) return undefined;
  try {
    const { mode, size } = await file.stat();
    if (size > MAX_FILE_BYTES) throw new Error(`${path} has ${size} bytes and is not a secret key.`);
    const remedy =
      'It is not replaced, because stored signing keys may depend on it: restore it from a backup, or delete it to ' +
      'have a new one created (every session ends).';
    const key = toKey(await file.readFile('utf8'), path, remedy);
    // Windows has no such mode bits and reports every file as readable by everyone.
    if (process.platform === 'win32' || (mode & 0o077) === 0) return { key, source: 'file' };
    const warning = `${path} is open to other users of this machine. Close it with: chmod 600 ${path}`;
    return { key, source: 'file', warning };
  } finally {
    await file.close();
  }
}

const newKey = (): string => randomBytes(NEW_KEY_BYTES).toString('base64');

async function flushDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return; // Windows cannot open a directory
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Creates the file unless another process was faster. A hard link makes it appear complete and synced; unlike a rename,
 * it never replaces an existing file. Returns whether this process created it.
 */
async function createKeyFile(dataDir: string, path: string, text = newKey()): Promise<boolean> {
  makeFolder(dataDir);
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(`${text}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    const isCreated = await link(temporary, path).then(
      () => true,
      (error: unknown) => {
        if (errorCode(error) !== 'EEXIST') throw error;
        return false;
      },
    );
    await flushDirectory(dataDir);
    return isCreated;
  } finally {
    await rm(temporary, { force: true });
  }
}

/**
 * Returns the key: the UTF-8 bytes of its text without surrounding white space, so that the content of the file gives
 * the same key as a setting. `fromEnv` has precedence; undefined means unset, and an empty text is refused. All
 * processes that start together on one `dataDir` get the same key. Throws an Error that names the remedy when the key
 * is shorter than 32 bytes, or the file cannot be read or created.
 */
export async function loadSecretKey(options: {
  fromEnv?: string | undefined;
  dataDir: string;
  /** Creates no key: a missing key is an error. Default: false. */
  existing?: boolean;
}): Promise<SecretKey> {
  const { fromEnv, dataDir } = options;
  if (fromEnv !== undefined) return { key: toKey(fromEnv, 'SECRET_KEY', howToMake), source: 'environment' };
  const path = join(dataDir, fileName);
  try {
    const existing = await readKeyFile(path);
    if (existing) return existing;
    if (options.existing)
      throw new Error(
        `There is no secret key in ${path}. Set SECRET_KEY or DATA_DIR to the values of the service.`,
      );
    await createKeyFile(dataDir, path);
    const created = await readKeyFile(path);
    if (created) return created;
    throw new Error(`${path} disappeared right after it was created.`);
  } catch (cause) {
    if (!(cause instanceof Error) || !('syscall' in cause)) throw cause;
    throw new Error(
      `Cannot read or create the secret key: ${cause.message}. Make DATA_DIR readable and writable for this process, or ` +
        `set SECRET_KEY. ${howToMake}`,
      { cause },
    );
  }
}

type PlannedKey = {
  /** The key of the file after `write`. */
  key: Buffer;
  /** Writes the file unless there is one. Returns whether the file then has the planned key. */
  write(): Promise<boolean>;
  /** Removes the file if `write` created it. */
  undo(): Promise<void>;
};

/**
 * Prepares to put a key into `dataDir`, and writes nothing yet. Throws an Error if the text, or the file that is there, is
 * not a secret key.
 */
export async function planSecretKey(dataDir: string, text: string): Promise<PlannedKey> {
  const path = join(dataDir, fileName);
  // A bad key would stay in the file, and end every later start.
  const planned = toKey(text, 'The SECRET_KEY of the backup', 'Nothing was changed.');
  const existing = await readKeyFile(path);
  let isCreated = false;
  return {
    key: existing?.key ?? planned,
    async write() {
      if (!existing) isCreated = await createKeyFile(dataDir, path, text);
      const found = await readKeyFile(path);
      return found?.key.equals(planned) ?? false;
    },
    async undo() {
      if (!isCreated) return;
      await rm(path, { force: true });
      await flushDirectory(dataDir);
      isCreated = false;
    },
  };
}
