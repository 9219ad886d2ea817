// Verifies a whole sealed log from what is in the database, with nothing but the leaves and the trees of the product.
import assert from 'node:assert/strict';
import type { Seal } from '@castellan/contract/evidence';
import type { TestService } from '@castellan/testing/harness';
import {
  entryLeaf,
  hashOfEntry,
  type OpenMembers,
  type StoredEntry,
} from '../../../src/modules/evidence/leaves.ts';
import { leafHash, rootOf } from '../../../src/platform/evidence/merkle-tree.ts';
import {
  publicKeyOf,
  readCheckpoint,
  readNote,
  verifiedBy,
} from '../../../src/platform/evidence/signed-note.ts';

export type Found = {
  /** What does not fit, in words. Empty for a whole log. */
  faults: string[];
  seals: Seal[];
  sealed: number;
  unsealed: number;
  removed: number;
  missing: number;
  voided: number;
};

type SealRow = {
  log: number;
  number: string;
  content: string;
  leaf: Buffer;
  lists_id: string | null;
  removed_by: string | null;
};

const entryColumns = `e.id, e.position::float8 as position,
  to_char(e."timestamp" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "timestamp", e.action, e.actor_type, e.actor_id,
  e.actor_email, e.actor_name, e.acted_by_id, e.resource_type, e.resource_id, e.resource_name, e.details,
  coalesce(e.salt, s.salt) as salt, encode(e.personal_hash, 'base64') as personal_hash`;

/** Reads everything, so it is for logs of some ten thousand entries. */
export async function verifyLog(service: Pick<TestService, 'sql'>): Promise<Found> {
  const faults: string[] = [];
  const rows = await service.sql<SealRow>('select * from audit_seals order by log, number');
  const seals = rows.map(({ content }) => JSON.parse(content) as Seal);
  const lists = new Map(
    (await service.sql<{ id: string; lists: OpenMembers }>('select id, lists from audit_member_lists')).map(
      (one) => [one.id, one.lists],
    ),
  );
  const entries = await service.sql<StoredEntry>(
    `select ${entryColumns} from audit_logs e left join audit_salts s on s.entry_id = e.id and e.position is null`,
  );
  const byPosition = Map.groupBy(
    entries.filter(({ position }) => position !== null),
    ({ position }) => position ?? 0,
  );
  const past = entries.filter(({ position }) => position === null).sort((a, b) => (a.id < b.id ? -1 : 1));
  const seen = new Set<string>();
  const open = new Set<number>();
  const voids = new Set<number>();
  let [next, removed] = [1, 0];
  for (const [index, row] of rows.entries()) {
    const seal = seals[index] ?? assert.fail();
    const where = `seal ${row.log}/${row.number}`;
    if (!leafHash(row.content).equals(row.leaf)) faults.push(`${where}: leaf`);
    if (seal.number !== Number(row.number)) faults.push(`${where}: number`);
    if (seal.kind !== 'entries' && seal.kind !== 'before_sealing') continue;
    for (const position of seal.late)
      if (!open.delete(position)) faults.push(`${where}: ${position} was not missing`);
    for (const [from, to] of seal.void)
      for (let at = from; at <= to; at += 1) {
        if (!open.delete(at)) faults.push(`${where}: ${at} was not missing`);
        voids.add(at);
      }
    const covered: StoredEntry[] = [];
    if (seal.kind === 'before_sealing') {
      covered.push(...past.filter(({ id }) => id >= seal.from && id <= seal.to));
    } else {
      const positions = [...seal.late];
      const gaps = new Set<number>();
      for (const [from, to] of seal.missing) for (let at = from; at <= to; at += 1) gaps.add(at);
      if (seal.from !== null && seal.to !== null) {
        if (seal.from !== next) faults.push(`${where}: begins at ${seal.from}, not at ${next}`);
        for (let at = seal.from; at <= seal.to; at += 1) if (!gaps.has(at)) positions.push(at);
        next = seal.to + 1;
      }
      for (const gap of gaps) open.add(gap);
      for (const position of positions) covered.push(...(byPosition.get(position) ?? []));
    }
    if (row.removed_by !== null) {
      removed += seal.count;
      if (covered.length > 0) faults.push(`${where}: removed entries are there`);
      continue;
    }
    if (covered.length !== seal.count)
      faults.push(`${where}: ${covered.length} entries instead of ${seal.count}`);
    const used = lists.get(row.lists_id ?? '') ?? assert.fail(`${where}: no lists`);
    const leaves = covered.flatMap((entry) =>
      entry.salt === null && entry.personal_hash === null ? [] : [hashOfEntry(entryLeaf(entry, used).leaf)],
    );
    if (rootOf(leaves).toString('base64') !== seal.root) faults.push(`${where}: root`);
    for (const { id } of covered) {
      if (seen.has(id)) faults.push(`${where}: ${id} is sealed twice`);
      seen.add(id);
    }
  }
  const [head] = await service.sql<{
    log: number;
    size: string;
    checkpoint: string;
    sealed_position: string;
  }>('select * from audit_log_head');
  if (head?.checkpoint) {
    const ofLog = rows.filter(({ log }) => log === head.log);
    const note = readNote(head.checkpoint);
    const checkpoint = readCheckpoint(note.text);
    if (checkpoint.size !== ofLog.length) faults.push('head: size');
    if (!rootOf(ofLog.map(({ content }) => leafHash(content))).equals(checkpoint.root))
      faults.push('head: root');
    const keys = await service.sql<{ public_key: Buffer }>(
      'select public_key from audit_keys where retired_at is null',
    );
    const verifiers = keys.map(({ public_key }) => ({
      name: checkpoint.origin,
      publicKey: publicKeyOf(public_key),
    }));
    if (verifiedBy(note, verifiers).length !== 1) faults.push('head: signature');
  }
  const sealedTo = Number(head?.sealed_position ?? 0);
  let unsealed = 0;
  for (const { id, position } of entries) {
    if (seen.has(id)) continue;
    if (
      position === null
        ? past.length > 0 && seals.some((one) => one.kind === 'before_sealing')
        : position <= sealedTo && !open.has(position)
    )
      faults.push(`entry ${id} at ${position}: is in no seal`);
    else unsealed += 1;
  }
  return { faults, seals, sealed: seen.size, unsealed, removed, missing: open.size, voided: voids.size };
}
