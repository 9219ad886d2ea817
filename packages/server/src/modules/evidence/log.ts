// A log of seals: how it grows, its signed heads, and what proves that a seal is in it. It must not know what a seal holds.
import { createHash, randomUUID } from 'node:crypto';
import { canonicalJson } from '@castellan/contract/canonical-json';
import type { ContinuesSeal, Seal } from '@castellan/contract/evidence';
import { type ProofPart, type Subtree, subtreesOf } from '../../platform/evidence/merkle-proofs.ts';
import {
  append,
  emptyRoot,
  foldRight,
  frontierRoot,
  leafHash,
  rootOf,
} from '../../platform/evidence/merkle-tree.ts';
import { type NoteSigner, signNote, writeCheckpoint } from '../../platform/evidence/signed-note.ts';
import type { Db, Tx } from '../../schema/database.ts';
import type { AuditKey } from './heads/keys.ts';
import { originOf } from './leaves.ts';
import {
  type Covered,
  findHashes,
  type Head,
  insertLog,
  insertSeal,
  type Log,
  STORED_LEVELS,
} from './log-store.ts';

/** The database lacks seals of a log, or hashes over them. */
export class DamagedLogError extends Error {
  override readonly name = 'DamagedLogError';
}

/** What each kind of seal has. */
export type NewSealContent<S extends Seal = Seal> = S extends Seal ? Omit<S, 'number'> : never;

/** Appends a seal to the current log. Returns the head, which the caller signs and writes. */
export async function appendSeal(
  tx: Tx,
  head: Head,
  content: NewSealContent,
  covers: Covered | null = null,
): Promise<Head> {
  if (!head.log) throw new Error('there is no log to append to');
  const number = head.size;
  const text = canonicalJson({ ...content, number });
  const leaf = leafHash(text);
  const { frontier, completed } = append({ size: head.size, hashes: head.hashes }, leaf);
  const nodes = completed.filter(({ level }) => level > 0 && level % STORED_LEVELS === 0);
  await insertSeal(
    tx,
    { log: head.log.number, number, kind: content.kind, content: text, leaf, covers },
    nodes,
  );
  return { ...head, size: frontier.size, hashes: frontier.hashes };
}

/** Begins a log. `continues` says which one it continues. */
export async function beginLog(
  tx: Tx,
  head: Head,
  publicUrl: string,
  continues: NewSealContent<ContinuesSeal> | null,
): Promise<Head> {
  const id = randomUUID();
  const log = await insertLog(tx, id, originOf(publicUrl, id));
  const begun: Head = { ...head, log, size: 0, hashes: [], checkpoint: null, isRestored: false };
  return continues ? appendSeal(tx, begun, continues) : begun;
}

/** Returns the head with its signed checkpoint. */
export const signHead = (head: Head, keys: readonly AuditKey[]): Head => ({
  ...head,
  checkpoint: head.log ? checkpointOf(head.log, { size: head.size, root: frontierRoot(head) }, keys) : null,
});

export const checkpointOf = (
  { origin }: Log,
  { size, root }: { size: number; root: Buffer },
  keys: readonly AuditKey[],
): string =>
  signNote(
    writeCheckpoint({ origin, size, root }),
    keys.map(({ privateKey }): NoteSigner => ({ name: origin, privateKey })),
  );

/** Hashes of one log that were read already, for anyone who reads many proofs of it. */
export type KnownHashes = Map<string, Buffer>;

/** Returns the hash of a complete subtree of a log, from stored hashes. Throws if the database lacks one of them. */
async function subtreeHash(db: Db, log: number, { level, index }: Subtree): Promise<Buffer> {
  const stored = level - (level % STORED_LEVELS);
  const count = 2 ** (level - stored);
  const hashes = await findHashes(db, log, { level: stored, index: index * count }, count);
  if (hashes.length !== count)
    throw new DamagedLogError(`the log lacks hashes of level ${stored} from ${index * count} on`);
  return rootOf(hashes);
}

/** Returns the hashes of a proof. Adds what it reads to `known`. */
export async function readProof(
  db: Db,
  log: number,
  parts: readonly ProofPart[],
  known: KnownHashes = new Map(),
): Promise<Buffer[]> {
  const proof: Buffer[] = [];
  for (const part of parts) {
    const hashes: Buffer[] = [];
    for (const subtree of part) {
      const place = `${subtree.level}/${subtree.index}`;
      const hash = known.get(place) ?? (await subtreeHash(db, log, subtree));
      known.set(place, hash);
      hashes.push(hash);
    }
    proof.push(foldRight(hashes));
  }
  return proof;
}

/** Returns the root that the log had with `size` seals. */
export async function rootAt(db: Db, log: number, size: number): Promise<Buffer> {
  if (size === 0) return emptyRoot();
  const [root] = await readProof(db, log, [subtreesOf(0, size)]);
  if (!root) throw new Error('no root was computed');
  return root;
}

/** Returns the id under which lists of personal members are stored. */
export const listsIdOf = (lists: string): string =>
  createHash('sha256').update(lists).digest('base64url').slice(0, 22);
