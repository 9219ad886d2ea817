// What the lines of an export must have, and what of an entry its seal commits to. It must not know other lines.
import type { EvidenceLine, SealedEntry } from '@castellan/contract/evidence';
import { hashOfEntry, personalHash } from '@castellan/server/modules/evidence/leaves';
import { isObject } from '@castellan/server/platform/unknown-values';
import { AlteredError, UnreadableError } from './verdict.ts';

export type LineOf<Name extends EvidenceLine['line']> = Extract<EvidenceLine, { line: Name }>;

/** What each kind of line must have, besides what is read of it anyway. */
const leafMembers = [
  ...['id', 'position', 'timestamp', 'action', 'actor_type', 'actor_id', 'acted_by_id', 'resource_type'],
  ...['resource_id', 'details', 'personal_hash', 'personal', 'salt'],
];
const membersOf: Readonly<Record<EvidenceLine['line'], readonly string[]>> = {
  log: ['origin', 'keys'],
  entry: ['seal', ...leafMembers],
  seal: ['seal', 'is_removed'],
  unsealed: leafMembers,
  head: ['checkpoint'],
};

/** Throws UnreadableError for what is no line of an export. */
export function requireMembers(line: EvidenceLine): void {
  if (!Object.hasOwn(membersOf, line.line))
    throw new UnreadableError('it is no line of an export with evidence');
  const lacking = membersOf[line.line].find((name) => !Object.hasOwn(line, name));
  if (lacking !== undefined)
    throw new UnreadableError(`it is no line of an export with evidence: it has no ${lacking}`);
  if (line.line === 'seal' && !isObject(line.seal)) throw new UnreadableError('the seal is no JSON object');
}

/** Throws AlteredError if the personal data of the entry, unless it was erased, is not what was sealed. */
export function requireSealedPerson({ id, position, personal, salt, personal_hash }: SealedEntry): void {
  if (personal === null) return;
  if (salt === null || personalHash(salt, personal) !== personal_hash)
    throw new AlteredError(`the personal data of entry ${id} (position ${position}) was changed`);
}

/** Returns the hash of what is sealed of an entry: the line without what it has besides. */
export function leafOf({ line: _, seal: __, personal: ___, salt: ____, ...leaf }: LineOf<'entry'>): Buffer {
  return hashOfEntry(leaf);
}
