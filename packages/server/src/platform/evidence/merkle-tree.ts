// The hash tree of RFC 6962, 2.1 (RFC 9162, 2.1), with SHA-256: leaves, roots, and trees that grow.
// It must not keep leaves: a tree that grows keeps one hash for each power of two.
import { createHash } from 'node:crypto';

// Leaves and nodes begin with different bytes, so that none passes for the other.
const LEAF = Buffer.of(0);
const NODE = Buffer.of(1);

/** Returns the hash of a leaf with these contents. */
export const leafHash = (content: Buffer | string): Buffer =>
  createHash('sha256').update(LEAF).update(content).digest();

/** Returns the hash of a node with these children. */
export const nodeHash = (left: Buffer, right: Buffer): Buffer =>
  createHash('sha256').update(NODE).update(left).update(right).digest();

/** The root of a tree without leaves: the hash of nothing. */
export const emptyRoot = (): Buffer => createHash('sha256').digest();

/**
 * A tree that grows: the roots of its complete subtrees, from the left and largest to the right and smallest. Their sizes are the
 * powers of two in `size`.
 */
export type Frontier = { readonly size: number; readonly hashes: readonly Buffer[] };

export const emptyFrontier: Frontier = { size: 0, hashes: [] };

/** A complete subtree that a leaf completed: `level` 0 is a leaf, and `index` counts those of its level from the left. */
export type Completed = { level: number; index: number; hash: Buffer };

/** Returns the tree with one leaf more, and the subtrees that it completes, from the leaf up. */
export function append(
  { size, hashes }: Frontier,
  leaf: Buffer,
): { frontier: Frontier; completed: Completed[] } {
  const rest = [...hashes];
  const completed: Completed[] = [{ level: 0, index: size, hash: leaf }];
  let hash = leaf;
  for (let level = 1, index = size; index % 2 === 1; level += 1) {
    const left = rest.pop();
    if (left === undefined) throw new RangeError('the tree lacks the hash of a subtree');
    index = (index - 1) / 2;
    hash = nodeHash(left, hash);
    completed.push({ level, index, hash });
  }
  return { frontier: { size: size + 1, hashes: [...rest, hash] }, completed };
}

/** Returns the root of the tree. */
export const frontierRoot = ({ hashes }: Pick<Frontier, 'hashes'>): Buffer =>
  hashes.length === 0 ? emptyRoot() : foldRight(hashes);

/** Returns the root over the roots of adjacent complete subtrees, from left to right. Throws RangeError for none. */
export const foldRight = (hashes: readonly Buffer[]): Buffer =>
  hashes.reduceRight((right, left) => nodeHash(left, right));

/** Returns the root of a tree with these leaves. */
export function rootOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return emptyRoot();
  let row = leaves;
  while (row.length > 1) {
    const next: Buffer[] = [];
    for (let at = 0; at < row.length; at += 2) {
      const [left, right] = [row[at], row[at + 1]];
      // A node without a neighbour moves up as it is: the same tree as RFC 6962's, which splits at the largest power of two.
      if (left) next.push(right ? nodeHash(left, right) : left);
    }
    row = next;
  }
  const [root] = row;
  if (!root) throw new Error('a tree with leaves has a root');
  return root;
}
