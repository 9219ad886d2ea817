// Removes old entries of a sealed log: whole seals only, and a later seal says which.
// It must not remove a seal: its root stays, so that no other entry can take the place of one that was removed.
import type { EntriesSeal, Seal } from '@castellan/contract/evidence';
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Logger } from '../../platform/logging/log.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { deletePast, deletePositions } from './entries-store.ts';
import { type AuditKey, addKey, findKey } from './heads/keys.ts';
import { requireSigned, signedSeals } from './heads/signed.ts';
import { rootOfEntries } from './leaves.ts';
import { appendSeal, signHead } from './log.ts';
import {
  correctLastEntry,
  findLog,
  findOldSeals,
  type Head,
  type Log,
  lockHead,
  markRemoved,
  type OldSeal,
  writeHead,
} from './log-store.ts';
import { entriesOf, listsOf } from './proofs.ts';

export type RetentionDeps = { db: Db; secretKey: Buffer; log: Logger };

/** Entries that one transaction removes, unless a single seal has more: some hundred milliseconds. */
const BATCH = 4_096;
const SEALS = 500;

/** Removes the entries of seals whose newest entry is older than `days`. Returns how many. */
export async function removeOldSeals(deps: RetentionDeps, days: number): Promise<number> {
  let total = 0;
  for (;;) {
    const removed = await inTransaction(deps.db, (tx) => removeBatch(tx, deps, days));
    if (removed === null) return total;
    total += removed;
  }
}

/** Removes the entries of some seals of one log. Returns how many; null if there is no such seal. */
async function removeBatch(tx: Tx, deps: RetentionDeps, days: number): Promise<number | null> {
  const head = await lockHead(tx);
  const { log } = head;
  if (!log) return null;
  const found = await findOldSeals(tx, days, SEALS, BATCH);
  const [first] = found;
  if (!first) return null;
  const key = (await findKey(tx, deps.secretKey)) ?? (await addKey(tx, deps.secretKey));
  requireSigned(head, key);
  const ofLog = first.log === log.number ? log : await findLog(tx, first.log_id);
  const seals = ofLog ? await provenOld(tx, deps, { head, key, log: ofLog }, found) : [];
  if (seals.length === 0) return 0;
  let removed = 0;
  for (const { content } of seals) {
    const seal = sealOf(content);
    if (seal.kind === 'before_sealing') removed += await deletePast(tx, seal.from, seal.to);
    if (seal.kind === 'entries') removed += await deletePositions(tx, rangesOf(seal));
  }
  const grown = await appendSeal(tx, head, {
    kind: 'removed',
    log: first.log_id,
    seals: namedRanges(seals),
    at: new Date().toISOString(),
  });
  await markRemoved(tx, seals, head.size);
  await writeHead(tx, signHead(grown, [key]), false);
  return removed;
}

/**
 * Returns those of the seals that are old by what the key has signed. Who has the database alone could have written that they are: the
 * service would remove what they want to be gone, and sign that it was old. The others get another time to be looked at.
 */
async function provenOld(
  tx: Tx,
  { log: logger }: RetentionDeps,
  signed: { head: Head; key: AuditKey; log: Log },
  found: readonly OldSeal[],
): Promise<OldSeal[]> {
  const sound = new Set(await signedSeals(tx, signed, found));
  const [old, kept]: [OldSeal[], OldSeal[]] = [[], []];
  for (const one of found) {
    // When a seal is made, it has no later entry.
    const madeAt = sound.has(one) ? Date.parse(sealOf(one.content).at) : null;
    if (madeAt !== null && (madeAt < one.limit || (await areOld(tx, one)))) old.push(one);
    else {
      kept.push(one);
      await correctLastEntry(tx, one, madeAt);
    }
  }
  if (kept.length > 0)
    logger.error(
      { log: signed.log.origin, seals: namedRanges(kept) },
      'entries of the audit log are not removed: their seals are not those that were signed, or not as old as the database says. Run castellan audit verify',
    );
  return old;
}

/** Returns whether the entries of a signed seal are those that were sealed, and all of them are old. */
async function areOld(tx: Tx, one: OldSeal): Promise<boolean> {
  const seal = sealOf(one.content);
  const entries = await entriesOf(tx, one);
  if (entries.some(({ salt, personal_hash: kept }) => salt === null && kept === null)) return false;
  const root = await rootOfEntries(entries, await listsOf(tx, one));
  const isSealed = 'root' in seal && 'count' in seal && root.toString('base64') === seal.root;
  return isSealed && entries.every(({ timestamp }) => Date.parse(timestamp) < one.limit);
}

const sealOf = (content: string): Seal => JSON.parse(content);

type Range = readonly [number, number];

/** Returns the positions whose entries the seal has. */
export function rangesOf({ from, to, missing, late }: EntriesSeal): Range[] {
  const ranges: Range[] = late.map((position): Range => [position, position]);
  if (from === null || to === null) return ranges;
  let next = from;
  for (const [first, last] of missing) {
    if (first > next) ranges.push([next, first - 1]);
    next = last + 1;
  }
  return next > to ? ranges : [...ranges, [next, to]];
}

/** Returns the numbers of the seals as ranges. They are in order. */
function namedRanges(seals: readonly { number: number }[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const { number } of seals) {
    const last = ranges.at(-1);
    if (last && last[1] + 1 === number) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges;
}
