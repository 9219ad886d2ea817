// Signed notes and checkpoints as the transparency-log community writes them: https://c2sp.org/signed-note,
// https://c2sp.org/tlog-checkpoint. Strangers' code verifies them. Of the kinds of signatures, it knows Ed25519 alone.
// It must not decide which keys to trust.
import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** What a log had at a time: `size` leaves with this root. */
export type Checkpoint = { origin: string; size: number; root: Buffer };

/** A key with the name under which it signs. */
export type NoteSigner = { name: string; privateKey: KeyObject };
export type NoteVerifier = { name: string; publicKey: KeyObject };

/** A signature whose key need not be known. */
type NoteSignature = { name: string; keyHash: Buffer; signature: Buffer };
export type Note = { text: string; signatures: readonly NoteSignature[] };

/** A note or a key is not in the form that it must have. */
export class NoteFormatError extends Error {
  override readonly name = 'NoteFormatError';
}

const ED25519 = 1; // the type of the signature
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const HASH_BYTES = 4;
const ROOT_BYTES = 32;
/** More than a head with all cosignatures of a well-watched log has. */
const MAX_NOTE_LENGTH = 100_000;

// SubjectPublicKeyInfo of an Ed25519 key without its 32 bytes (RFC 8410).
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** Returns the 32 bytes of an Ed25519 public key. Throws NoteFormatError for another kind. */
export function rawPublicKey(key: KeyObject): Buffer {
  const { crv, x } = key.export({ format: 'jwk' });
  if (crv !== 'Ed25519' || x === undefined) throw new NoteFormatError('not an Ed25519 key');
  return Buffer.from(x, 'base64url');
}

/** Returns the key with these 32 bytes. Throws NoteFormatError for another length. */
export function publicKeyOf(raw: Buffer): KeyObject {
  if (raw.length !== KEY_BYTES) throw new NoteFormatError('an Ed25519 key has 32 bytes');
  return createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: 'der', type: 'spki' });
}

/** Names have neither white space nor `+`, and no line of a note can be taken for one. */
const isName = (name: string): boolean => name !== '' && !/[\s+]/u.test(name) && name.isWellFormed();

/** Returns the 4 bytes by which signatures name their key. */
export const keyHashOf = (name: string, rawKey: Buffer): Buffer =>
  createHash('sha256')
    .update(`${name}\n`)
    .update(Buffer.of(ED25519))
    .update(rawKey)
    .digest()
    .subarray(0, HASH_BYTES);

/** Returns the key as text, for verifiers: `<name>+<hash>+<key>`. Throws NoteFormatError for a name that none can have. */
export function writeVerifierKey({ name, publicKey }: NoteVerifier): string {
  if (!isName(name)) throw new NoteFormatError(`a key cannot have the name ${JSON.stringify(name)}`);
  const raw = rawPublicKey(publicKey);
  const key = Buffer.concat([Buffer.of(ED25519), raw]).toString('base64');
  return `${name}+${keyHashOf(name, raw).toString('hex')}+${key}`;
}

/** Reads what `writeVerifierKey` returns. Throws NoteFormatError. */
export function readVerifierKey(text: string): NoteVerifier {
  const [, name = '', hash = '', encoded = ''] = /^([^+]*)\+([0-9a-f]{8})\+(.*)$/su.exec(text.trim()) ?? [];
  const key = readBase64(encoded);
  if (!isName(name) || !key || key[0] !== ED25519 || key.length !== 1 + KEY_BYTES)
    throw new NoteFormatError('not an Ed25519 verifier key: expected <name>+<8 hex digits>+<base64>');
  const raw = key.subarray(1);
  if (keyHashOf(name, raw).toString('hex') !== hash)
    throw new NoteFormatError('the hash of the verifier key does not match its name and key');
  return { name, publicKey: publicKeyOf(raw) };
}

/**
 * Returns the text with a signature of each signer. Throws NoteFormatError for a text that cannot be signed: it must end with a line
 * break and hold no other control character.
 */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  requireText(text);
  const lines = signers.map(({ name, privateKey }) => {
    if (!isName(name)) throw new NoteFormatError(`a key cannot have the name ${JSON.stringify(name)}`);
    const signature = sign(null, Buffer.from(text), privateKey);
    const hash = keyHashOf(name, rawPublicKey(createPublicKey(privateKey)));
    return `— ${name} ${Buffer.concat([hash, signature]).toString('base64')}\n`;
  });
  return `${text}\n${lines.join('')}`;
}

/** Reads a note without judging its signatures. Throws NoteFormatError. */
export function readNote(note: string): Note {
  if (note.length > MAX_NOTE_LENGTH) throw new NoteFormatError('the note is too long');
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n')) throw new NoteFormatError('the note has no signatures');
  const text = note.slice(0, end + 1);
  requireText(text);
  const lines = note.slice(end + 2, -1).split('\n');
  return { text, signatures: lines.map(readSignature) };
}

function readSignature(line: string): NoteSignature {
  const [, name = '', encoded = ''] = /^— (\S+) (\S+)$/u.exec(line) ?? [];
  const bytes = readBase64(encoded);
  if (!isName(name) || !bytes || bytes.length <= HASH_BYTES)
    throw new NoteFormatError(`not a signature line: ${JSON.stringify(line.slice(0, 100))}`);
  return { name, keyHash: bytes.subarray(0, HASH_BYTES), signature: bytes.subarray(HASH_BYTES) };
}

/**
 * Returns the verifiers whose signatures are on the note. Signatures of other keys are skipped. Throws NoteFormatError if a
 * signature by a known key is wrong: such a note counts for nothing.
 */
export function verifiedBy({ text, signatures }: Note, verifiers: readonly NoteVerifier[]): NoteVerifier[] {
  const found = new Set<NoteVerifier>();
  for (const { name, keyHash, signature } of signatures)
    for (const verifier of verifiers) {
      if (verifier.name !== name || !keyHashOf(name, rawPublicKey(verifier.publicKey)).equals(keyHash))
        continue;
      const isGood =
        signature.length === SIGNATURE_BYTES &&
        verify(null, Buffer.from(text), verifier.publicKey, signature);
      if (!isGood) throw new NoteFormatError(`the signature of ${name} does not match the note`);
      found.add(verifier);
    }
  return [...found];
}

/** Returns the text of a checkpoint, which a note then signs. */
export function writeCheckpoint({ origin, size, root }: Checkpoint): string {
  if (!isName(origin)) throw new NoteFormatError(`a log cannot have the origin ${JSON.stringify(origin)}`);
  return `${origin}\n${size}\n${root.toString('base64')}\n`;
}

/** Reads the text of a checkpoint. Further lines are allowed, and left out. Throws NoteFormatError. */
export function readCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', root = '', rest] = text.split('\n', 4);
  const hash = readBase64(root);
  if (origin === '' || rest === undefined || !/^(0|[1-9]\d{0,15})$/.test(size) || hash?.length !== ROOT_BYTES)
    throw new NoteFormatError('not a checkpoint: expected an origin, a size and a root, a line each');
  const leaves = Number(size);
  if (!Number.isSafeInteger(leaves)) throw new NoteFormatError('the size of the checkpoint is too large');
  return { origin, size: leaves, root: hash };
}

function requireText(text: string): void {
  const hasControl = [...text].some((character) => character < ' ' && character !== '\n');
  if (!text.endsWith('\n') || hasControl || !text.isWellFormed())
    throw new NoteFormatError(
      'the text of a note ends with a line break and holds no other control character',
    );
}

/** Returns the bytes of standard base64 with padding; null for anything else. */
function readBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return text !== '' && bytes.toString('base64') === text ? bytes : null;
}
