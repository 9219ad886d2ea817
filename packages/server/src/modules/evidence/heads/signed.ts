// What of the logs in the database has the signature of the key, which a change of the database without SECRET_KEY cannot have.
// It must not sign: all code that signs asks here first.
import type { Seal } from '@castellan/contract/evidence';
import {
  consistencyParts,
  inclusionParts,
  isConsistent,
  rootFromInclusion,
  type SizedRoot,
} from '../../../platform/evidence/merkle-proofs.ts';
import { frontierRoot, leafHash } from '../../../platform/evidence/merkle-tree.ts';
import {
  NoteFormatError,
  readCheckpoint,
  readNote,
  verifiedBy,
} from '../../../platform/evidence/signed-note.ts';
import type { Db } from '../../../schema/database.ts';
import { DamagedLogError, type KnownHashes, readProof, rootAt } from '../log.ts';
import { findLogAfter, type Head, type Log, listSeals } from '../log-store.ts';
import type { AuditKey } from './keys.ts';

/** Returns whether the stored head is that of its log, signed by the key. An empty log has none. */
export function isSigned(head: Head, { publicKey }: Pick<AuditKey, 'publicKey'>): boolean {
  const { log, size, hashes, checkpoint } = head;
  if (!log || size === 0) return checkpoint === null;
  if (hashes.length !== onesIn(size)) return false;
  const signed = signedRoot(log, checkpoint, publicKey);
  return signed?.size === size && signed.root.equals(frontierRoot(head));
}

/** Throws DamagedLogError unless the head is signed by the key, as `isSigned` says. */
export function requireSigned(head: Head, key: Pick<AuditKey, 'publicKey'>): void {
  if (!isSigned(head, key))
    throw new DamagedLogError('the head of the audit log in the database is not one that the key signed');
}

/** Subtrees of a tree of this size. */
const onesIn = (size: number): number => size.toString(2).replaceAll('0', '').length;

function signedRoot(
  { origin }: Log,
  checkpoint: string | null,
  publicKey: AuditKey['publicKey'],
): SizedRoot | null {
  try {
    const note = readNote(checkpoint ?? '');
    const found = readCheckpoint(note.text);
    const isOwn = found.origin === origin && verifiedBy(note, [{ name: origin, publicKey }]).length > 0;
    return isOwn ? found : null;
  } catch (error) {
    if (error instanceof NoteFormatError) return null;
    throw error;
  }
}

/**
 * Returns the root that a log had with `size` seals, by default with all, once it is shown to begin what the key has signed: the stored head,
 * or for an earlier log the seal with which the next one continues it. Throws DamagedLogError.
 */
export async function provenRootAt(
  db: Db,
  { head, log, key }: { head: Head; log: Log; key: Pick<AuditKey, 'publicKey'> },
  size?: number,
): Promise<SizedRoot> {
  const whole = log.id === head.log?.id ? ofHead(head, key) : await ofContinued(db, head, log, key);
  if (size === undefined || size === whole.size) return whole;
  const part: SizedRoot = { size, root: await rootAt(db, log.number, size) };
  const proof = await readProof(db, log.number, consistencyParts(size, whole.size));
  if (!isConsistent(part, whole, proof))
    throw new DamagedLogError(`the seals of ${log.origin} in the database are not those that the key signed`);
  return part;
}

/** Returns those seals of a log that are in what the key has signed. The database alone could say anything in the others. */
export async function signedSeals<S extends { number: number; content: string }>(
  db: Db,
  signed: { head: Head; log: Log; key: Pick<AuditKey, 'publicKey'> },
  seals: readonly S[],
): Promise<S[]> {
  const whole = await provenRootAt(db, signed).catch(ifDamaged);
  if (!whole) return [];
  const { size, root } = whole;
  const known: KnownHashes = new Map();
  const found: S[] = [];
  for (const seal of seals) {
    const { number: index, content } = seal;
    if (index >= size) continue;
    const path = await readProof(db, signed.log.number, inclusionParts(index, size), known).catch(ifDamaged);
    const leaf = path && rootFromInclusion(leafHash(content), { index, size, path });
    if (leaf?.equals(root)) found.push(seal);
  }
  return found;
}

function ifDamaged(error: unknown): null {
  if (error instanceof DamagedLogError) return null;
  throw error;
}

function ofHead(head: Head, key: Pick<AuditKey, 'publicKey'>): SizedRoot {
  requireSigned(head, key);
  return { size: head.size, root: frontierRoot(head) };
}

async function ofContinued(
  db: Db,
  head: Head,
  log: Log,
  key: Pick<AuditKey, 'publicKey'>,
): Promise<SizedRoot> {
  const damaged = new DamagedLogError(`no log continues ${log.origin}`);
  const next = await findLogAfter(db, log.number);
  if (!next) throw damaged;
  const { size, root } = await provenRootAt(db, { head, log: next, key });
  const [first] = await listSeals(db, next.number, -1, 1);
  if (first?.number !== 0) throw damaged;
  const path = await readProof(db, next.number, inclusionParts(0, size));
  const found = rootFromInclusion(leafHash(first.content), { index: 0, size, path });
  const seal: Seal = JSON.parse(first.content);
  if (!found?.equals(root) || seal.kind !== 'continues' || seal.origin !== log.origin) throw damaged;
  return { size: seal.size, root: Buffer.from(seal.root, 'base64') };
}
