// Reads the evidence of the sealed audit log: heads, seals, and what proves that an entry or a head is in it.
// It must not change anything, and signs nothing but roots that the log has.
import type { ConsistencyEnvelope, EntriesSeal, EntryProof, Seal } from '@castellan/contract/evidence';
import { AppError } from '../../platform/errors.ts';
import {
  consistencyParts,
  hashesOf,
  inclusionParts,
  proofOf,
} from '../../platform/evidence/merkle-proofs.ts';
import { rootOf } from '../../platform/evidence/merkle-tree.ts';
import type { Db } from '../../schema/database.ts';
import { findEntriesAt, findEntry, findPastBetween } from './entries-store.ts';
import { isWaitingForSeal } from './entry-seals.ts';
import { findKey } from './heads/keys.ts';
import { provenRootAt } from './heads/signed.ts';
import { entryLeaf, hashesOfEntries, type OpenMembers, openMembers, type StoredEntry } from './leaves.ts';
import { checkpointOf, readProof } from './log.ts';
import {
  findLists,
  findLog,
  findSealsOfId,
  findSealsOfPosition,
  type Head,
  type Log,
  listSeals,
  readHead,
  type StoredSeal,
  sizeOfLog,
  wasRemovedSince,
} from './log-store.ts';

export type ProofDeps = { db: Db; secretKey: Buffer };

type OfLog = { log?: string | undefined };
/** A log with the number of its seals. */
type Sized = { log: Log; size: number; head: Head };

/** Returns the log with this id, or the current one. Throws `seal_log_not_found` and `not_sealed`. */
async function openLog(db: Db, { log: id }: OfLog): Promise<Sized> {
  const head = await readHead(db);
  if (id === undefined || id === head.log?.id) {
    if (!head.log || head.size === 0) throw new AppError('not_sealed');
    return { log: head.log, size: head.size, head };
  }
  const log = await findLog(db, id);
  if (!log) throw new AppError('seal_log_not_found');
  return { log, size: await sizeOfLog(db, log.number), head };
}

const theLog = (size: number): string => `the log, which has ${size} seals`;

const tooLarge = (field: string, than: string): AppError => {
  const detail = `${field.replace('query.', '')} is larger than ${than}.`;
  return new AppError('validation_failed', {
    detail,
    errors: [{ field, code: 'too_large', message: detail }],
  });
};

/**
 * Returns the signed head that the log had with `size` seals, by default the current one. Throws DamagedLogError if it does not begin what the
 * key has signed: then somebody has changed the database.
 */
export async function headAt(deps: ProofDeps, query: OfLog & { size?: number | undefined }): Promise<string> {
  const opened = await openLog(deps.db, query);
  const { log, head } = opened;
  if (query.size !== undefined && query.size > opened.size) throw tooLarge('query.size', theLog(opened.size));
  // The one that was stored may have the signatures of two keys.
  const isCurrent = log.id === head.log?.id;
  if (isCurrent && (query.size ?? head.size) === head.size && head.checkpoint !== null)
    return head.checkpoint;
  const key = await findKey(deps.db, deps.secretKey);
  if (!key) throw new AppError('not_sealed');
  return checkpointOf(log, await provenRootAt(deps.db, { head, log, key }, query.size), [key]);
}

export async function sealsAfter(
  db: Db,
  { after = -1, limit, ...query }: OfLog & { after?: number | undefined; limit: number },
): Promise<Seal[]> {
  const { log } = await openLog(db, query);
  return (await listSeals(db, log.number, after, limit)).map(sealOf);
}

const sealOf = ({ content }: Pick<StoredSeal, 'content'>): Seal => JSON.parse(content);

export async function consistencyOf(
  db: Db,
  { from, to, ...query }: OfLog & { from: number; to?: number | undefined },
): Promise<ConsistencyEnvelope['data']> {
  const { log, size } = await openLog(db, query);
  const end = to ?? size;
  if (end > size) throw tooLarge('query.to', theLog(size));
  if (from > end) throw tooLarge('query.from', to === undefined ? theLog(size) : '`to`');
  const proof = await readProof(db, log.number, consistencyParts(from, end));
  return { proof: proof.map((hash) => hash.toString('base64')), to: end };
}

const NOT_PROVED =
  'No seal proves this entry: it or another entry of its seal was altered, or it was inserted later. Run `castellan audit verify --database`, which says what and where.';

/** Throws `audit_entry_not_found`, `entry_removed` and `not_sealed`, whose detail says whether the entry waits for its seal. */
export async function proofOfEntry(deps: ProofDeps, id: string): Promise<EntryProof> {
  const { db } = deps;
  const entry = await findEntry(db, id);
  if (!entry)
    throw new AppError((await wasRemovedSince(db, timeOf(id))) ? 'entry_removed' : 'audit_entry_not_found');
  // Before its seal is read: an entry that is sealed by then only waited.
  const isWaiting = await isWaitingForSeal(db, id);
  const seals =
    entry.position === null ? await findSealsOfId(db, id) : await findSealsOfPosition(db, entry.position);
  for (const stored of seals) {
    const entries = await entriesOf(db, stored);
    const index = entries.findIndex((one) => one.id === id);
    const seal = sealOf(stored);
    if (index < 0 || (seal.kind !== 'entries' && seal.kind !== 'before_sealing')) continue;
    const lists = await listsOf(db, stored);
    const leaves = await hashesOfEntries(entries, lists);
    // Somebody has changed, inserted or deleted one of them: nothing of this seal can be proved.
    if (rootOf(leaves).toString('base64') !== seal.root) continue;
    const { leaf, personal } = entryLeaf(entry, lists);
    // After the seal: it has each seal that was read. The path and the checkpoint are of one size, also while others are made.
    const head = await readHead(db);
    const log = head.log?.number === stored.log ? head.log : null;
    const size = log ? head.size : await sizeOfLog(db, stored.log);
    const logPath = await readProof(db, stored.log, inclusionParts(stored.number, size));
    return {
      entry: { ...leaf, personal },
      salt: entry.salt,
      seal,
      index,
      path: proofOf(inclusionParts(index, leaves.length), hashesOf(leaves)).map((hash) =>
        hash.toString('base64'),
      ),
      log_index: stored.number,
      log_path: logPath.map((hash) => hash.toString('base64')),
      checkpoint: await headAt(deps, { log: stored.log_id, size }),
    };
  }
  // Its seal may have been removed since the entry was read.
  if (!(await findEntry(db, id))) throw new AppError('entry_removed');
  throw new AppError('not_sealed', isWaiting ? {} : { detail: NOT_PROVED });
}

/** Returns the lists that a seal was made with. */
export async function listsOf(db: Db, { lists_id: id }: Pick<StoredSeal, 'lists_id'>): Promise<OpenMembers> {
  return (id === null ? null : await findLists(db, id)) ?? openMembers;
}

/** Returns the entries of a seal in the order of its leaves. */
export async function entriesOf(db: Db, stored: Pick<StoredSeal, 'content'>): Promise<StoredEntry[]> {
  const seal = sealOf(stored);
  if (seal.kind === 'before_sealing') return findPastBetween(db, seal.from, seal.to);
  if (seal.kind !== 'entries') return [];
  const { from, to, late } = seal;
  const found = await findEntriesAt(db, from === null || to === null ? null : { from, to }, late);
  return found.filter(({ position }) => !isMissing(seal, position ?? 0));
}

const isMissing = ({ missing, late }: EntriesSeal, position: number): boolean =>
  missing.some(([first, last]) => position >= first && position <= last) && !late.includes(position);

/** Returns the time in a UUID version 7, in milliseconds; the start of time for others. */
const timeOf = (id: string): number =>
  id.charAt(14) === '7' ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : 0;
