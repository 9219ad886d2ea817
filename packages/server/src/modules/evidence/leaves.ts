// What the trees of the sealed audit log hash: an entry as a leaf of its seal, and a seal as a leaf of the log.
// It must not change how anything is hashed: what was sealed years ago is verified with it.
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { auditActions } from '@castellan/contract/audit';
import { canonicalJson } from '@castellan/contract/canonical-json';
import type { EntryLeaf, PersonalPart, Seal } from '@castellan/contract/evidence';
import { openMembersOf } from '@castellan/contract/personal-members';
import { leafHash, rootOf } from '../../platform/evidence/merkle-tree.ts';
import { isObject } from '../../platform/unknown-values.ts';

/**
 * The members of `details` that are not personal, by action, on whichever level. All other members are, and all of an action that is not
 * listed. A seal is made with the lists of the release that made it, which are stored: another release may declare more.
 */
export type OpenMembers = Readonly<Record<string, readonly string[]>>;

/** The lists of this release: the members are divided as in events (`splitDetails`). */
export const openMembers: OpenMembers = Object.fromEntries(
  auditActions.map((action) => [action, openMembersOf(action)]),
);

/** An entry as the database has it. `timestamp` is ISO 8601, UTC, with microseconds. */
export type StoredEntry = Omit<EntryLeaf, 'personal_hash'> &
  Omit<PersonalPart, 'details'> & {
    /** Null before its seal, in entries of earlier releases, and after an erasure. */
    salt: string | null;
    /** Base64; set by an erasure, which removes what it was made of. */
    personal_hash: string | null;
  };

/** Returns SHA-256 of the 16 bytes of the salt and the canonical JSON of the personal part, in base64. */
export const personalHash = (salt: string, personal: PersonalPart): string =>
  createHash('sha256')
    .update(Buffer.from(salt.replaceAll('-', ''), 'hex'))
    .update(canonicalJson(personal))
    .digest('base64');

/** Returns the personal part of an entry, and its other details. */
export function splitEntry(
  entry: Pick<StoredEntry, 'action' | 'details' | 'actor_email' | 'actor_name' | 'resource_name'>,
  lists: OpenMembers,
): { details: Record<string, unknown>; personal: PersonalPart } {
  const members = new Set(Object.hasOwn(lists, entry.action) ? lists[entry.action] : []);
  const { open, personal } = splitMembers(entry.details, members);
  const { actor_email, actor_name, resource_name } = entry;
  return { details: open, personal: { actor_email, actor_name, resource_name, details: personal } };
}

/** Divides the members of an object, and of `before` and `after` in it, which are then in both parts. */
function splitMembers(
  details: object,
  isOpen: ReadonlySet<string>,
): { open: Record<string, unknown>; personal: Record<string, unknown> } {
  const open: [string, unknown][] = [];
  const personal: [string, unknown][] = [];
  for (const [name, value] of Object.entries(details)) {
    if (!isOpen.has(name)) personal.push([name, value]);
    else if ((name === 'before' || name === 'after') && isObject(value) && !Array.isArray(value)) {
      const inner = splitMembers(value, isOpen);
      open.push([name, inner.open]);
      if (Object.keys(inner.personal).length > 0) personal.push([name, inner.personal]);
    } else open.push([name, value]);
  }
  return { open: Object.fromEntries(open), personal: Object.fromEntries(personal) };
}

/** An entry with its evidence; `personal` is null if it was erased. */
export type Leaf = { leaf: EntryLeaf; personal: PersonalPart | null };

/** Returns what a leaf hashes of an entry. Throws if the entry has neither salt nor hash: it cannot be sealed. */
export function entryLeaf(entry: StoredEntry, lists: OpenMembers): Leaf {
  const { details, personal } = splitEntry(entry, lists);
  const { salt, personal_hash: kept } = entry;
  const hash = kept ?? (salt === null ? null : personalHash(salt, personal));
  if (hash === null) throw new Error(`audit entry ${entry.id} has no salt`);
  const { id, position, timestamp, action, actor_type, actor_id, acted_by_id, resource_type, resource_id } =
    entry;
  return {
    leaf: {
      id,
      position,
      timestamp,
      action,
      actor_type,
      actor_id,
      acted_by_id,
      resource_type,
      resource_id,
      details,
      personal_hash: hash,
    },
    personal: kept === null ? personal : null,
  };
}

/** Returns the hash of an entry as a leaf of its seal. */
export const hashOfEntry = (leaf: EntryLeaf): Buffer => leafHash(canonicalJson(leaf));

/** Leaves that are hashed before others have a turn: some milliseconds. */
const HASHED_AT_ONCE = 128;

/** Returns the hashes of entries as leaves of their seal. */
export async function hashesOfEntries(
  entries: readonly StoredEntry[],
  lists: OpenMembers,
): Promise<Buffer[]> {
  const leaves: Buffer[] = [];
  for (const [index, entry] of entries.entries()) {
    if (index % HASHED_AT_ONCE === HASHED_AT_ONCE - 1) await nextTurn();
    leaves.push(hashOfEntry(entryLeaf(entry, lists).leaf));
  }
  return leaves;
}

/** Returns the root of a seal over these entries, in the order of its leaves. */
export const rootOfEntries = async (entries: readonly StoredEntry[], lists: OpenMembers): Promise<Buffer> =>
  rootOf(await hashesOfEntries(entries, lists));

/** Returns the hash of a seal as a leaf of the log. */
export const hashOfSeal = (seal: Seal): Buffer => leafHash(canonicalJson(seal));

/** Returns the origin of a log, under which its heads are signed. `publicUrl` says whose it is. */
export const originOf = (publicUrl: string, logId: string): string =>
  `${new URL(publicUrl).host}/audit/${logId}`;
