// Proofs of the service are verified with its own hashes, and with any change of what they prove, they are not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EntryProof } from '@castellan/sdk';
import { hashOfEntry, hashOfSeal, personalHash } from '@castellan/server/modules/evidence/leaves';
import { hashesOf, inclusionParts, proofOf } from '@castellan/server/platform/evidence/merkle-proofs';
import { leafHash, rootOf } from '@castellan/server/platform/evidence/merkle-tree';
import { checkProof } from './proof.ts';

const salt = '0192f0c1-2345-4890-8abc-def012345678';
const personal = {
  actor_email: 'zoë@example.com',
  actor_name: null,
  resource_name: 'Editor',
  details: { address: '192.0.2.1' },
};

function proofAt(index: number, count: number, number: number, size: number): EntryProof {
  const leaf = {
    id: '00000000-0000-7000-8000-000000000001',
    position: 7,
    timestamp: '2026-11-28T20:00:00.123456Z',
    action: 'role_updated',
    actor_type: 'user',
    actor_id: null,
    acted_by_id: null,
    resource_type: 'role',
    resource_id: 'r',
    details: { after: { permissions: ['a', 'b'] }, count: 1.5 },
    personal_hash: personalHash(salt, personal),
  };
  const pathIn = (leaves: Buffer[], at: number): string[] =>
    proofOf(inclusionParts(at, leaves.length), hashesOf(leaves)).map((hash) => hash.toString('base64'));
  const filled = (length: number, at: number, own: Buffer): Buffer[] =>
    Array.from({ length }, (_, place) => (place === at ? own : leafHash(`other ${place}`)));
  const entries = filled(count, index, hashOfEntry(leaf));
  const seal = {
    kind: 'entries' as const,
    number,
    partition: null,
    from: 1,
    to: count,
    missing: [],
    late: [],
    void: [],
    count,
    root: rootOf(entries).toString('base64'),
    at: '2026-11-28T20:00:10.000Z',
  };
  const seals = filled(size, number, hashOfSeal(seal));
  return {
    entry: { ...leaf, personal },
    salt,
    seal,
    index,
    path: pathIn(entries, index),
    log_index: number,
    log_path: pathIn(seals, number),
    checkpoint: `id.example.com/audit/1\n${size}\n${rootOf(seals).toString('base64')}\n\n— id.example.com/audit/1 AAAA\n`,
  };
}

test('proofs of every place in trees of several sizes are good', async () => {
  for (const count of [1, 2, 3, 6, 7, 8, 13])
    for (let index = 0; index < count; index += 1)
      assert.deepEqual(
        await checkProof(proofAt(index, count, count - 1 - index, count)),
        { isInSeal: true, isInHead: true, personal: 'same' },
        `${index} of ${count}`,
      );
});

const good = { isInSeal: true, isInHead: true, personal: 'same' };

test('what was changed shows, and where', async () => {
  const proof = proofAt(2, 5, 3, 6);
  const { entry, seal } = proof;
  const changes: [Partial<EntryProof>, object][] = [
    [{ entry: { ...entry, action: 'role_deleted' } }, { ...good, isInSeal: false }],
    [{ index: 1 }, { ...good, isInSeal: false }],
    [{ path: proof.path.slice(1) }, { ...good, isInSeal: false }],
    [
      { entry: { ...entry, personal: { ...personal, actor_email: 'eve@example.com' } } },
      { ...good, personal: 'other' },
    ],
    [{ salt: salt.replace('0192', '0193') }, { ...good, personal: 'other' }],
    [{ seal: { ...seal, count: 6 } }, { ...good, isInHead: false }],
    [{ log_index: 2 }, { ...good, isInHead: false }],
    [{ log_path: [...proof.log_path].reverse() }, { ...good, isInHead: false }],
    [{ checkpoint: proof.checkpoint.replace(/\n6\n/, '\n60\n') }, { ...good, isInHead: false }],
  ];
  for (const [change, expected] of changes)
    assert.deepEqual(await checkProof({ ...proof, ...change }), expected, JSON.stringify(change));
});

test('an erased entry is good without its personal data', async () => {
  const proof = proofAt(0, 2, 0, 1);
  const erased = { ...proof, entry: { ...proof.entry, personal: null }, salt: null };
  assert.deepEqual(await checkProof(erased), { ...good, personal: 'erased' });
});
