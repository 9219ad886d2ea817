// Opens a backup that is read more than once. What cannot be read twice, such as a pipe, is kept in a temporary file that
// nobody else can open and that ends with the process. It stays as encrypted as it came.
import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { BackupError } from '@castellan/server/modules/backup/service';
import { type Decryptor, type Encryption, encryptionOf, explained, HEADER_BYTES } from './encryption.ts';

const CHUNK_BYTES = 256 * 1024;

export type BackupFile = {
  /** Bytes, as encrypted. */
  size: number;
  encryption: Encryption;
  recipients: number;
  /** Reads the backup from its beginning, decrypted. Throws a BackupError if that fails. */
  read(): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
};

/** `path`: `-` is `stdin`. Throws an Error for the operator, and a BackupError if a key is missing or not needed. */
export async function openBackup(
  path: string,
  decryptor: Decryptor | undefined,
  stdin: Readable,
): Promise<BackupFile> {
  const file = await openTwiceReadable(path, stdin).catch((error: unknown) => {
    throw new Error(`The backup cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  });
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    const { encryption, recipients } = encryptionOf(buffer.subarray(0, bytesRead));
    if (encryption !== 'none' && !decryptor)
      throw new BackupError(
        encryption === 'passphrase'
          ? 'The backup is encrypted with a passphrase: name its file with --passphrase-file.'
          : 'The backup is encrypted for an age key: name the file of the key with --identity.',
      );
    // Everybody can write a backup without encryption, also in the place of one that a passphrase protects.
    if (encryption === 'none' && decryptor)
      throw new BackupError(
        'The file is not encrypted, so anybody may have put it there. If it is your backup, leave out --identity, --passphrase-file and CASTELLAN_BACKUP_PASSPHRASE_FILE.',
      );
    return {
      size,
      encryption,
      recipients,
      read: () => contentsOf(file, decryptor),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function* contentsOf(file: FileHandle, decrypt: Decryptor | undefined): AsyncGenerator<Uint8Array> {
  if (!decrypt) return yield* bytesOf(file);
  const encrypted = Readable.from(bytesOf(file), { objectMode: false });
  try {
    yield* await decrypt(encrypted);
  } catch (error) {
    throw explained(error);
  } finally {
    encrypted.destroy();
  }
}

/** Unlike a stream of Node, it never closes the file. */
async function* bytesOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, position);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}

async function openTwiceReadable(path: string, stdin: Readable): Promise<FileHandle> {
  if (path === '-') {
    if ('isTTY' in stdin && stdin.isTTY) throw new Error('standard input is a terminal.');
    return spool(stdin);
  }
  const file = await open(path, 'r');
  const facts = await file.stat();
  if (facts.isFile()) return file;
  if (!facts.isDirectory()) return spool(file.createReadStream());
  await file.close();
  throw new Error(`${path} is a folder.`);
}

async function spool(source: Readable): Promise<FileHandle> {
  const path = join(tmpdir(), `castellan-${randomBytes(12).toString('hex')}`);
  const file = await open(path, 'wx+', 0o600);
  try {
    // An open file lives on without a name.
    await rm(path);
    for await (const chunk of source) await file.appendFile(chunk);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}
