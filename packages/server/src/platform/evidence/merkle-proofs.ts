// Proofs of the hash tree of RFC 6962: that a leaf is in a tree (2.1.1), and that one tree is the beginning of another (2.1.2).
// It must not read hashes itself: a proof names the subtrees whose hashes the caller has to find.
import { half, sidesOfPath } from '@castellan/contract/inclusion';
import { foldRight, nodeHash } from './merkle-tree.ts';

/** A complete subtree: `2 ** level` leaves, of which the first is leaf `index * 2 ** level`. */
export type Subtree = { level: number; index: number };

/** The hash of one element of a proof is the root over these adjacent subtrees, from left to right (`foldRight`). */
export type ProofPart = readonly Subtree[];

/** Returns the largest power of two below `size`, which is at least 2. */
function splitOf(size: number): number {
  let power = 1;
  while (power * 2 < size) power *= 2;
  return power;
}

/** Returns the complete subtrees of leaves `from` to `to` (exclusive). The tree splits at `from`. */
export function subtreesOf(from: number, to: number): Subtree[] {
  const subtrees: Subtree[] = [];
  for (let at = from; at < to; ) {
    let level = 0;
    while (at % 2 ** (level + 1) === 0 && at + 2 ** (level + 1) <= to) level += 1;
    subtrees.push({ level, index: at / 2 ** level });
    at += 2 ** level;
  }
  return subtrees;
}

const requireSize = (isFit: boolean): void => {
  if (!isFit) throw new RangeError('the proof is of a tree that is smaller than what it has to prove');
};

/** Returns the parts of the path of a leaf in a tree of `size` leaves, from the leaf up. Throws RangeError for no leaf of it. */
export function inclusionParts(index: number, size: number): ProofPart[] {
  requireSize(Number.isSafeInteger(index) && Number.isSafeInteger(size) && index >= 0 && index < size);
  const parts: ProofPart[] = [];
  for (let [from, to] = [0, size]; to - from > 1; ) {
    const middle = from + splitOf(to - from);
    if (index < middle) {
      parts.push(subtreesOf(middle, to));
      to = middle;
    } else {
      parts.push(subtreesOf(from, middle));
      from = middle;
    }
  }
  return parts.reverse();
}

/**
 * Returns the parts of the proof that the tree of `first` leaves is the beginning of that of `second`. Empty for equal sizes, and for
 * an empty first tree. Throws RangeError if the second one is smaller.
 */
export function consistencyParts(first: number, second: number): ProofPart[] {
  requireSize(Number.isSafeInteger(first) && Number.isSafeInteger(second) && first >= 0 && first <= second);
  if (first === 0 || first === second) return [];
  const parts: ProofPart[] = [];
  let isWhole = true;
  let [from, to] = [0, second];
  while (first < to) {
    const middle = from + splitOf(to - from);
    if (first <= middle) {
      parts.push(subtreesOf(middle, to));
      to = middle;
    } else {
      parts.push(subtreesOf(from, middle));
      from = middle;
      isWhole = false;
    }
  }
  // The verifier has the hash of a first tree that is itself a complete subtree of the second one.
  if (!isWhole) parts.push(subtreesOf(from, to));
  return parts.reverse();
}

/** Returns the hashes of the parts. `hashOf` has the hash of each complete subtree that they name. */
export const proofOf = (parts: readonly ProofPart[], hashOf: (subtree: Subtree) => Buffer): Buffer[] =>
  parts.map((part) => foldRight(part.map(hashOf)));

/** Returns `hashOf` for a tree whose leaves are all at hand. */
export function hashesOf(leaves: readonly Buffer[]): (subtree: Subtree) => Buffer {
  const rows: Buffer[][] = [[...leaves]];
  for (let row = rows[0] ?? []; row.length > 1; row = rows.at(-1) ?? []) {
    const next: Buffer[] = [];
    for (let at = 0; at + 1 < row.length; at += 2) {
      const [left, right] = [row[at], row[at + 1]];
      if (left && right) next.push(nodeHash(left, right));
    }
    rows.push(next);
  }
  return ({ level, index }) => {
    const hash = rows[level]?.[index];
    if (!hash) throw new RangeError(`the tree has no complete subtree ${index} of level ${level}`);
    return hash;
  };
}

export type InclusionProof = { index: number; size: number; path: readonly Buffer[] };

/**
 * Returns the root of a tree in which the leaf has this place (RFC 9162, 2.1.3.2), or null if no tree has such a path. A leaf is
 * included if the root is that of the signed head.
 */
export function rootFromInclusion(leaf: Buffer, { index, size, path }: InclusionProof): Buffer | null {
  const sides = sidesOfPath(index, size, path.length);
  if (!sides) return null;
  return path.reduce(
    (root, hash, at) => (sides[at] === 'left' ? nodeHash(hash, root) : nodeHash(root, hash)),
    leaf,
  );
}

export type SizedRoot = { size: number; root: Buffer };

/** Returns whether the proof shows that the first tree is the beginning of the second one (RFC 9162, 2.1.4.2). */
export function isConsistent(first: SizedRoot, second: SizedRoot, proof: readonly Buffer[]): boolean {
  if (first.size > second.size) return false;
  if (first.size === second.size) return proof.length === 0 && first.root.equals(second.root);
  if (first.size === 0) return proof.length === 0;
  let [node, last] = [first.size - 1, second.size - 1];
  while (node % 2 === 1) [node, last] = [half(node), half(last)];
  // A first tree that is a complete subtree of the second one is not sent.
  const [start, ...rest] = node === 0 ? [first.root, ...proof] : proof;
  if (!start) return false;
  let [firstRoot, secondRoot] = [start, start];
  for (const hash of rest) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      firstRoot = nodeHash(hash, firstRoot);
      secondRoot = nodeHash(hash, secondRoot);
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      secondRoot = nodeHash(secondRoot, hash);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && firstRoot.equals(first.root) && secondRoot.equals(second.root);
}
