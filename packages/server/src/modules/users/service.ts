// Rules of user records: reading one, changing one's own, removing those that nobody verified.
import type { UpdateMeBody, User } from '@castellan/contract/users';
import { fieldsRefusedOnMe } from '@castellan/contract/users';
import type { Db, Tx } from '../../database.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { requireVersion } from '../../platform/http/record-version.ts';
import type { Logger } from '../../platform/log.ts';
import { cleanText } from '../../platform/security/text.ts';
import { recordChange, recordChanges } from '../audit/service.ts';
import { requireStillEntitled } from '../authz/delegation.ts';
import type { GraphSource } from '../authz/graph.ts';
import type { Actor } from '../authz/guard.ts';
import { toUser, type VersionedUser } from './presentation.ts';
import { deleteUnverified, findUserById, lockUser, updateNames } from './store.ts';

export type { VersionedUser } from './presentation.ts';
export { addRoleByName, insertUser, markVerified } from './store.ts';

export type UserDeps = { db: Db; log: Logger; graphSource: GraphSource };

/** Longest name, characters (decisions: 1 to 100; the database's CHECK says the same). */
const MAX_NAME_LENGTH = 100;

/** A user with the version that its ETag tells. */
export type VersionedAnswer = { user: User; version: number };

/** After the commit: the graph may have to be read, on a connection of its own. */
export async function present(deps: UserDeps, record: VersionedUser): Promise<VersionedAnswer> {
  return { user: toUser(record, await deps.graphSource.at(record.authz_version)), version: record.version };
}

/**
 * To `present` after the commit. Read inside the transaction, it is what was committed, whatever becomes of the user
 * before the answer goes out. Throws `user_not_found`.
 */
export async function readRecord(db: Db | Tx, id: string): Promise<VersionedUser> {
  const record = await findUserById(db, id);
  if (!record) throw new AppError('user_not_found');
  return record;
}

export const getVersionedUser = async (deps: UserDeps, id: string): Promise<VersionedAnswer> =>
  present(deps, await readRecord(deps.db, id));

/** The names as they are stored: NFC, trimmed. Throws 400 with every field at fault, named by `at`. */
export function cleanNames<T extends Partial<Record<'first_name' | 'last_name', string>>>(
  names: T,
  at: (field: string) => string = (field) => field,
): T {
  const cleaned: Record<string, string> = {};
  const errors = [];
  for (const field of ['first_name', 'last_name'] as const) {
    const given = names[field];
    if (given === undefined) continue;
    const result = cleanText(given, { min: 1, max: MAX_NAME_LENGTH });
    if (result.ok) cleaned[field] = result.value;
    else errors.push({ field: at(field), code: result.code, message: result.message });
  }
  if (errors.length > 0)
    throw new AppError('invalid_input', {
      detail: `${errors.map((one) => `${one.field} ${one.message}`).join('; ')}.`,
      errors,
    });
  return cleaned as T;
}

export async function updateMe(
  deps: UserDeps,
  client: Client,
  actor: Actor,
  body: UpdateMeBody,
  ifMatch: readonly number[] | null,
): Promise<VersionedAnswer> {
  const named: ReadonlySet<string> = new Set(fieldsRefusedOnMe);
  const refused = Object.keys(body).filter((field) => named.has(field) || field.startsWith('is_'));
  if (refused.length > 0)
    throw new AppError('field_not_allowed', {
      detail: `These fields cannot be changed here: ${refused.join(', ')}.`,
      errors: refused.map((field) => ({ field, code: 'not_allowed', message: 'cannot be changed here' })),
    });
  const names = cleanNames({
    ...(body.first_name === undefined ? {} : { first_name: body.first_name }),
    ...(body.last_name === undefined ? {} : { last_name: body.last_name }),
  });
  await inTransaction(deps.db, async (tx) => {
    await lockUser(tx, actor.user_id);
    await requireStillEntitled(tx, actor);
    const before = await findUserById(tx, actor.user_id);
    if (before) await requireVersion(ifMatch, before.version, () => toUser(before, actor.graph));
    const present = { first_name: before?.first_name, last_name: before?.last_name };
    const after = { ...present, ...names };
    if (after.first_name === present.first_name && after.last_name === present.last_name) return;
    await updateNames(tx, actor.user_id, names);
    await recordChange(tx, deps.log, client, {
      action: 'user_profile_updated',
      actorId: actor.user_id,
      resourceType: 'user',
      resourceId: actor.user_id,
      before: present,
      after,
    });
  });
  return getVersionedUser(deps, actor.user_id);
}

// Accounts one transaction removes at most: it holds their locks until its end.
const SWEEP_BATCH = 200;

/** The hourly sweep. Answers how many accounts went; each leaves an audit entry. */
export async function removeUnverifiedAccounts(deps: UserDeps, hours: number): Promise<number> {
  let removed = 0;
  for (let batch = SWEEP_BATCH; batch === SWEEP_BATCH; removed += batch) {
    batch = await inTransaction(deps.db, async (tx) => {
      const users = await deleteUnverified(tx, hours, SWEEP_BATCH);
      const events = users.map((user) => ({
        action: 'unverified_account_deleted' as const,
        actorId: null,
        resourceId: user.id,
        details: { email: user.email, created_at: user.created_at },
      }));
      await recordChanges(tx, deps.log, null, events);
      return users.length;
    });
  }
  return removed;
}
