// Tests the hash tree: the vectors of Certificate Transparency, and every proof of every tree up to a size.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  consistencyParts,
  hashesOf,
  inclusionParts,
  isConsistent,
  proofOf,
  rootFromInclusion,
  subtreesOf,
} from './merkle-proofs.ts';
import {
  append,
  emptyFrontier,
  emptyRoot,
  type Frontier,
  frontierRoot,
  leafHash,
  nodeHash,
  rootOf,
} from './merkle-tree.ts';

// The leaves and roots that the tests of Certificate Transparency use (certificate-transparency-go, RFC 6962).
const contents = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
];
const roots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];
const leaves = contents.map((hex) => leafHash(Buffer.from(hex, 'hex')));

/** The root as RFC 6962, 2.1 defines it. */
function definedRoot(of: readonly Buffer[]): Buffer {
  const [only] = of;
  if (!only) return emptyRoot();
  if (of.length === 1) return only;
  const split = 2 ** Math.floor(Math.log2(of.length - 1));
  return nodeHash(definedRoot(of.slice(0, split)), definedRoot(of.slice(split)));
}

const many = Array.from({ length: 70 }, (_, at) => leafHash(String(at)));

test('roots are those of Certificate Transparency', () => {
  for (const [size, root] of roots.entries())
    assert.equal(rootOf(leaves.slice(0, size)).toString('hex'), root);
});

test('a tree that grows has the root of its leaves, and says which subtrees are complete', () => {
  let frontier: Frontier = emptyFrontier;
  for (const [index, leaf] of many.entries()) {
    const next = append(frontier, leaf);
    frontier = next.frontier;
    const sofar = many.slice(0, index + 1);
    assert.deepEqual(frontierRoot(frontier), definedRoot(sofar));
    assert.deepEqual(rootOf(sofar), definedRoot(sofar));
    for (const { level, index: at, hash } of next.completed)
      assert.deepEqual(hash, definedRoot(many.slice(at * 2 ** level, (at + 1) * 2 ** level)));
    assert.equal(next.completed.length, Math.log2((index + 1) & -(index + 1)) + 1);
  }
});

test('every leaf of every tree is proved, and no other leaf, place or path', () => {
  for (let size = 1; size <= many.length; size += 1) {
    const tree = many.slice(0, size);
    const root = rootOf(tree);
    const hashOf = hashesOf(tree);
    for (let index = 0; index < size; index += 1) {
      const leaf = many[index] ?? assert.fail();
      const path = proofOf(inclusionParts(index, size), hashOf);
      assert.deepEqual(rootFromInclusion(leaf, { index, size, path }), root);
      const wrong = [
        rootFromInclusion(leafHash('other'), { index, size, path }),
        rootFromInclusion(leaf, { index: index + 1, size, path }),
        rootFromInclusion(leaf, { index, size, path: [...path, root] }),
        ...(size > 1 ? [rootFromInclusion(leaf, { index, size, path: path.slice(1) })] : []),
        ...(size > 1 ? [rootFromInclusion(leaf, { index, size, path: path.slice(0, -1) })] : []),
      ];
      for (const other of wrong) assert.ok(other === null || !other.equals(root));
    }
  }
});

test('every tree is proved to begin every larger one, and no other', () => {
  for (let second = 0; second <= many.length; second += 1) {
    const hashOf = hashesOf(many.slice(0, second));
    const head = { size: second, root: rootOf(many.slice(0, second)) };
    for (let first = 0; first <= second; first += 1) {
      const proof = proofOf(consistencyParts(first, second), hashOf);
      const known = { size: first, root: rootOf(many.slice(0, first)) };
      assert.ok(isConsistent(known, head, proof), `${first} of ${second}`);
      if (first === 0) continue;
      assert.ok(!isConsistent({ size: first, root: leafHash('other') }, head, proof));
      assert.ok(!isConsistent(known, { size: second, root: leafHash('other') }, proof));
      assert.ok(!isConsistent(known, head, [...proof, head.root]));
      if (proof.length > 0) assert.ok(!isConsistent(known, head, proof.slice(0, -1)));
    }
  }
});

test('a proof of what is not in the tree is a RangeError', () => {
  for (const [index, size] of [
    [0, 0],
    [3, 3],
    [-1, 3],
    [0.5, 3],
  ] as const)
    assert.throws(() => inclusionParts(index, size), RangeError);
  assert.throws(() => consistencyParts(4, 3), RangeError);
  assert.equal(rootFromInclusion(leafHash(''), { index: 1, size: 1, path: [] }), null);
  assert.equal(isConsistent({ size: 4, root: emptyRoot() }, { size: 3, root: emptyRoot() }, []), false);
});

test('sizes beyond 32 bits keep their bits', () => {
  const size = 2 ** 40 + 3;
  assert.deepEqual(subtreesOf(0, size), [
    { level: 40, index: 0 },
    { level: 1, index: 2 ** 39 },
    { level: 0, index: 2 ** 40 + 2 },
  ]);
  assert.equal(inclusionParts(size - 1, size).length, 2);
});
