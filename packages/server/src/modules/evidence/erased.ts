// What an erasure leaves of the personal data of an entry: a hash without its salt, so that the seal still verifies and nobody can try
// names or addresses against it. It must not erase anything itself.
import { randomUUID } from 'node:crypto';
import { canonicalJson } from '@castellan/contract/canonical-json';
import { sql } from 'kysely';
import type { Tx } from '../../schema/database.ts';
import { type OpenMembers, openMembers, personalHash, type StoredEntry, splitEntry } from './leaves.ts';
import { listsIdOf } from './log.ts';
import { findLists, findSealsOfId, findSealsOfPosition } from './log-store.ts';

/** An entry as it is before its erasure. */
export type Erasable = Pick<
  StoredEntry,
  | 'id'
  | 'position'
  | 'action'
  | 'details'
  | 'actor_email'
  | 'actor_name'
  | 'resource_name'
  | 'salt'
  | 'personal_hash'
>;

/** Columns of `audit_logs e` that `hashesOfErased` needs, besides those that every reader has. */
export const erasableColumns = sql`
  e.position::float8 as position, e.actor_name, e.salt, encode(e.personal_hash, 'base64') as personal_hash`;

const ownListsId = listsIdOf(canonicalJson(openMembers));

/** Returns the hash to store with each entry. Its salt must be removed in the same transaction, where it is: see `removeSalts`. */
export async function hashesOfErased(tx: Tx, entries: readonly Erasable[]): Promise<Map<string, string>> {
  const salts = await saltsOfPast(tx, entries);
  const hasOtherLists = await isSealedWithOtherLists(tx);
  const hashes = new Map<string, string>();
  for (const entry of entries) {
    const { id, personal_hash: kept } = entry;
    const lists = kept === null && hasOtherLists ? await listsOf(tx, entry) : openMembers;
    const salt = entry.salt ?? salts.get(id) ?? randomUUID();
    hashes.set(id, kept ?? personalHash(salt, splitEntry(entry, lists).personal));
  }
  return hashes;
}

/** Removes the salts of entries without a position. */
export async function removeSalts(
  tx: Tx,
  entries: readonly Pick<Erasable, 'id' | 'position'>[],
): Promise<void> {
  const ids = idsOfPast(entries);
  if (ids.length > 0) await sql`delete from audit_salts where entry_id = any(${ids}::uuid[])`.execute(tx);
}

const idsOfPast = (entries: readonly Pick<Erasable, 'id' | 'position'>[]): string[] =>
  entries.flatMap(({ id, position }) => (position === null ? [id] : []));

/** Returns the salts of entries without a position. Gives one to those that have none, so that a seal uses the same. */
async function saltsOfPast(tx: Tx, entries: readonly Erasable[]): Promise<Map<string, string>> {
  const ids = idsOfPast(entries.filter(({ personal_hash: kept }) => kept === null));
  if (ids.length === 0) return new Map();
  await sql`
    insert into audit_salts (entry_id) select unnest(${ids}::uuid[]) order by 1 on conflict do nothing`.execute(
    tx,
  );
  const { rows } = await sql<{ entry_id: string; salt: string }>`
    select entry_id, salt from audit_salts where entry_id = any(${ids}::uuid[])`.execute(tx);
  return new Map(rows.map(({ entry_id, salt }) => [entry_id, salt]));
}

async function isSealedWithOtherLists(tx: Tx): Promise<boolean> {
  const { rows } = await sql`select from audit_member_lists where id <> ${ownListsId} limit 1`.execute(tx);
  return rows.length > 0;
}

/** Returns the lists with which the entry was sealed. */
async function listsOf(tx: Tx, { id, position }: Erasable): Promise<OpenMembers> {
  const seals = position === null ? await findSealsOfId(tx, id) : await findSealsOfPosition(tx, position);
  // The last one: a position that was missing in its range is in a later seal.
  const listsId = seals[0]?.lists_id;
  const lists = typeof listsId === 'string' ? await findLists(tx, listsId) : null;
  return lists ?? openMembers;
}
