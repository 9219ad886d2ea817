// Erases the personal data of one person in audit entries, in batches that each end by themselves.
// It must not delete an entry, nor the id of its actor.
import { ERASED } from '@castellan/contract/personal-members';
import { type RawBuilder, sql } from 'kysely';
import type { PageKey } from '../../../platform/cursors.ts';
import { keyTime } from '../../../platform/db/sql.ts';
import { plannedForValues } from '../../../platform/db/statement-names.ts';
import type { Row, Tx } from '../../../schema/database.ts';
import { type Erasable, erasableColumns, hashesOfErased, removeSalts } from '../../evidence/erased.ts';
import { replacePersonal } from './members.ts';

export type ErasedPerson = { userId: string; email: string };
export type Stage = Row<'erasures'>['stage'];

type Found = Pick<
  Row<'audit_logs'>,
  | 'id'
  | 'action'
  | 'actor_id'
  | 'acted_by_id'
  | 'actor_email'
  | 'resource_type'
  | 'resource_id'
  | 'resource_name'
> &
  Erasable & { details: Record<string, unknown>; time: string };

/** How many entries one statement reads and writes: some ten milliseconds. */
const BATCH = 500;

// Of `audit_logs e`: ranges and orders that fit one index each, as in reading-store.ts.
function isOf(stage: Stage, { userId, email }: ErasedPerson): RawBuilder<unknown> {
  const ofStage: Readonly<Record<Stage, RawBuilder<unknown>>> = {
    actor: sql`e.actor_id >= ${userId}::uuid and e.actor_id <= ${userId}::uuid`,
    acted_by: sql`e.acted_by_id >= ${userId}::uuid and e.acted_by_id <= ${userId}::uuid`,
    resource: sql`e.resource_id >= ${userId}::text and e.resource_id <= ${userId}::text`,
    email: sql`e.details ->> 'email' = ${email}`,
  };
  return ofStage[stage];
}
const newestFirst: Readonly<Record<Stage, RawBuilder<unknown>>> = {
  actor: sql`e.actor_id, e."timestamp" desc, e.id desc`,
  acted_by: sql`e.acted_by_id, e."timestamp" desc, e.id desc`,
  resource: sql`e.resource_id, e."timestamp" desc, e.id desc`,
  // An erased entry no longer has the address.
  email: sql`e.details ->> 'email'`,
};

const isOlder = (stage: Stage, after: PageKey | null): RawBuilder<unknown> =>
  after === null || stage === 'email'
    ? sql`true`
    : sql`(e."timestamp", e.id) < (${after.time}::timestamptz, ${after.id}::uuid)`;

/**
 * Erases the next entries of a stage. Returns how many it changed and the last one that it read; `last` is null at the end of the
 * stage.
 */
export async function eraseBatch(
  tx: Tx,
  person: ErasedPerson,
  { stage, after }: { stage: Stage; after: PageKey | null },
): Promise<{ erased: number; last: PageKey | null }> {
  const { rows } = await sql<Found>`${plannedForValues}
    select e.id, e.action, e.actor_id, e.acted_by_id, e.actor_email, e.resource_type, e.resource_id, e.resource_name, e.details,
      ${erasableColumns}, ${keyTime('e.timestamp')} as time
    from audit_logs e where ${isOf(stage, person)} and ${isOlder(stage, after)}
    order by ${newestFirst[stage]} limit ${BATCH}`.execute(tx);
  const changed = rows.flatMap((row) => erasedOf(person, row) ?? []);
  if (changed.length > 0) await writeErased(tx, rows, changed);
  const last = rows.at(-1);
  return {
    erased: changed.length,
    last: last && rows.length === BATCH ? { time: last.time, id: last.id } : null,
  };
}

/** Writes erased entries. Their seals still verify: the hash of what they had stays, without its salt. */
async function writeErased(tx: Tx, rows: readonly Found[], changed: readonly Changed[]): Promise<void> {
  const ids = new Set(changed.map(({ id }) => id));
  const before = rows.filter(({ id }) => ids.has(id));
  const hashes = await hashesOfErased(tx, before);
  const values = changed.map((entry) => ({ ...entry, personal_hash: hashes.get(entry.id) }));
  await sql`
    update audit_logs a set details = c.details, actor_email = c.actor_email, resource_name = c.resource_name,
      personal_hash = decode(c.personal_hash, 'base64'), salt = null
    from jsonb_to_recordset(${JSON.stringify(values)}::jsonb)
      as c (id uuid, details jsonb, actor_email text, resource_name text, personal_hash text)
    where a.id = c.id`.execute(tx);
  await removeSalts(tx, before);
}

type Changed = Pick<Found, 'id' | 'details' | 'actor_email' | 'resource_name'>;

/** Returns what the entry is afterwards; null if it has nothing to erase. */
function erasedOf({ userId, email }: ErasedPerson, entry: Found): Changed | null {
  const isBy = entry.actor_id === userId;
  const namesAddress = entry.details.email === email;
  const isAbout = entry.resource_id === userId || namesAddress || !isAboutSomebody(entry);
  // Where an administrator sent their request from is not the erased person's, also when they acted as that person.
  const senderId = entry.acted_by_id ?? entry.actor_id;
  const whose = { sender: senderId === userId || senderId === null, subject: isAbout };
  const replaced = replacePersonal(entry, whose, ERASED);
  const details = namesAddress ? { ...replaced, email: ERASED } : replaced;
  const actorEmail = isBy || entry.actor_email === email ? ERASED : entry.actor_email;
  const isNamed = entry.resource_id === userId || entry.resource_name === email;
  const resourceName = isNamed ? ERASED : entry.resource_name;
  if (details === entry.details && actorEmail === entry.actor_email && resourceName === entry.resource_name)
    return null;
  return { id: entry.id, details, actor_email: actorEmail, resource_name: resourceName };
}

/** Whether the entry is about an account. A security event without one is about the sender of the request. */
const isAboutSomebody = ({ resource_type: type, resource_id: id }: Found): boolean =>
  type === 'user' || (type === 'security_event' && id !== '');
