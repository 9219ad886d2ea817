// Encrypts and decrypts backups as age files (age-encryption.org/v1), which the program `age` can read and write too.
// It must not put a passphrase or a key into a message.
import { readFileSync, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { BackupError } from '@castellan/server/modules/backup/service';
import { Decrypter, Encrypter } from 'age-encryption';
import { type Call, UsageError } from '../command.ts';
import { readSecretLine } from '../input/secret-file.ts';

/** Who can read the file. */
export type Encryption = 'none' | 'passphrase' | 'recipients';

// Anyone who has the file can try passphrases without end; scrypt makes each try cost about a second.
const MIN_PASSPHRASE_LENGTH = 12;
const MAX_IDENTITY_BYTES = 65_536;
const opening = 'age-encryption.org/v1\n';
/** An age header names each recipient in a line or two; one of 20 recipients has 2 KiB. */
export const HEADER_BYTES = 16_384;

function passphraseOf({ values, environment }: Call): string | undefined {
  const option = values['passphrase-file'];
  if (typeof option === 'string') return readSecretLine(option, '--passphrase-file', 'passphrase');
  const path = environment.CASTELLAN_BACKUP_PASSPHRASE_FILE;
  return path ? readSecretLine(path, 'CASTELLAN_BACKUP_PASSPHRASE_FILE', 'passphrase') : undefined;
}

export type Encryptor = {
  encryption: Encryption;
  recipients: number;
  /** Read the result at once: it may fail before. */
  encrypt(plain: AsyncIterable<Uint8Array>): Promise<Readable>;
};

/** Returns what the options ask for. Throws a UsageError, or an Error if a file cannot be read. */
export function encryptorOf(call: Call): Encryptor {
  const { recipient } = call.values;
  if (typeof recipient === 'string') {
    if (call.values['passphrase-file'] !== undefined)
      throw new UsageError('--passphrase-file and --recipient exclude each other: leave out one.');
    return encryptorFor(recipient.split(',').map((one) => one.trim()));
  }
  const passphrase = passphraseOf(call);
  if (passphrase === undefined)
    return {
      encryption: 'none',
      recipients: 0,
      encrypt: async (plain) => Readable.from(plain, { objectMode: false }),
    };
  if (passphrase.length < MIN_PASSPHRASE_LENGTH)
    throw new Error(
      `The passphrase is too short: use at least ${MIN_PASSPHRASE_LENGTH} characters, such as the output of \`openssl rand -base64 18\`.`,
    );
  const encrypter = new Encrypter();
  encrypter.setPassphrase(passphrase);
  return { encryption: 'passphrase', recipients: 1, encrypt: (plain) => encrypted(encrypter, plain) };
}

function encryptorFor(recipients: readonly string[]): Encryptor {
  const encrypter = new Encrypter();
  for (const one of recipients)
    try {
      encrypter.addRecipient(one);
    } catch {
      // A secret key in the place of its recipient must not be repeated in the message.
      throw new UsageError('--recipient must be the public key of an age key pair: age1…');
    }
  return {
    encryption: 'recipients',
    recipients: recipients.length,
    encrypt: (plain) => encrypted(encrypter, plain),
  };
}

async function encrypted(encrypter: Encrypter, plain: AsyncIterable<Uint8Array>): Promise<Readable> {
  return Readable.fromWeb(await encrypter.encrypt(webStream(Readable.from(plain, { objectMode: false }))));
}

export type Decryptor = (cipher: Readable) => Promise<Readable>;

/** Returns undefined if no option names a key. Throws a UsageError, or an Error if a file cannot be read. */
export function decryptorOf(call: Call): Decryptor | undefined {
  const { identity } = call.values;
  const decrypter = new Decrypter();
  if (typeof identity === 'string') {
    if (call.values['passphrase-file'] !== undefined)
      throw new UsageError('--passphrase-file and --identity exclude each other: leave out one.');
    for (const one of readIdentities(identity)) decrypter.addIdentity(one);
  } else {
    const passphrase = passphraseOf(call);
    if (passphrase === undefined) return undefined;
    decrypter.addPassphrase(passphrase);
  }
  return async (cipher) => {
    try {
      return Readable.fromWeb(await decrypter.decrypt(webStream(cipher)));
    } catch (error) {
      throw explained(error);
    }
  };
}

function readIdentities(path: string): string[] {
  let lines: string[];
  try {
    const facts = statSync(path);
    if (!facts.isFile() || facts.size > MAX_IDENTITY_BYTES) throw new Error('it is not a small file');
    lines = readFileSync(path, 'utf8').split(/\r?\n/);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`--identity cannot be used: ${reason}. Name a file that age-keygen made.`);
  }
  const identities = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
  const isUsable = identities.length > 0 && identities.every(isIdentity);
  if (!isUsable)
    throw new Error('--identity has no age key that can be read. Name a file that age-keygen made.');
  return identities;
}

function isIdentity(text: string): boolean {
  try {
    new Decrypter().addIdentity(text);
    return true;
  } catch {
    return false;
  }
}

/** Tells from the first bytes of a file how it is encrypted. */
export function encryptionOf(start: Buffer): { encryption: Encryption; recipients: number } {
  const text = start.toString('latin1');
  if (!text.startsWith(opening)) return { encryption: 'none', recipients: 0 };
  const header = text.slice(0, Math.max(0, text.indexOf('\n--- ')));
  // Other programs may add lines without a meaning, so that readers learn to skip what they do not know.
  const kinds = [...header.matchAll(/\n-> (?!\S*-grease\b)(\S+)/g)].map(([, kind]) => kind);
  return { encryption: kinds.includes('scrypt') ? 'passphrase' : 'recipients', recipients: kinds.length };
}

/** Turns errors of the cipher into those of the file. Errors of the file system stay as they are. */
export function explained(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof BackupError || 'code' in error) return error;
  return /no identity matched/.test(error.message)
    ? new BackupError('The backup cannot be decrypted with this key or passphrase.')
    : new BackupError('The backup is damaged or incomplete: it cannot be decrypted. Use another one.');
}

const webStream = (source: Readable): ReadableStream<Uint8Array> => Readable.toWeb(source);
