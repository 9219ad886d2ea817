// Rules of user records: reading one, changing one's own, removing those that nobody verified.
import type { UpdateMeBody, User } from '@castellan/contract/users';
import { fieldsRefusedOnMe } from '@castellan/contract/users';
import type { Db } from '../../database.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import type { Logger } from '../../platform/log.ts';
import { cleanText } from '../../platform/security/text.ts';
import { recordChange } from '../audit/service.ts';
import type { GraphSource } from '../authz/graph.ts';
import type { Actor } from '../authz/guard.ts';
import { toUser } from './presentation.ts';
import { deleteUnverified, findUserById, lockUser, updateNames } from './store.ts';

export { addRoleByName, insertUser, markVerified } from './store.ts';

export type UserDeps = { db: Db; log: Logger; graphSource: GraphSource };

/** Longest name, characters (decisions: 1 to 100; the database's CHECK says the same). */
const MAX_NAME_LENGTH = 100;

export async function getUser(deps: UserDeps, id: string): Promise<User> {
  const record = await findUserById(deps.db, id);
  if (!record) throw new AppError('user_not_found');
  return toUser(record, await deps.graphSource.at(record.authz_version));
}

/** The names as they are stored: NFC, trimmed. Throws 400 with every field at fault. */
export function cleanNames<T extends Partial<Record<'first_name' | 'last_name', string>>>(names: T): T {
  const cleaned: Record<string, string> = {};
  const errors = [];
  for (const field of ['first_name', 'last_name'] as const) {
    const given = names[field];
    if (given === undefined) continue;
    const result = cleanText(given, { min: 1, max: MAX_NAME_LENGTH });
    if (result.ok) cleaned[field] = result.value;
    else errors.push({ field, code: result.code, message: result.message });
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
): Promise<User> {
  const refused = fieldsRefusedOnMe.filter((field) => Object.hasOwn(body, field));
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
    if (!(await lockUser(tx, actor.user_id))) throw new AppError('token_revoked');
    const before = await findUserById(tx, actor.user_id);
    await updateNames(tx, actor.user_id, names);
    await recordChange(tx, deps.log, client, {
      action: 'user_profile_updated',
      actorId: actor.user_id,
      resourceType: 'user',
      resourceId: actor.user_id,
      details: {
        before: Object.fromEntries(
          Object.keys(names).map((field) => [field, before?.[field as keyof typeof names]]),
        ),
        after: names,
      },
    });
  });
  return getUser(deps, actor.user_id);
}

// Accounts one transaction removes at most: it holds their locks until its end.
const SWEEP_BATCH = 200;

/** The hourly sweep. Answers how many accounts went; each leaves an audit entry. */
export async function removeUnverifiedAccounts(deps: UserDeps, hours: number): Promise<number> {
  let removed = 0;
  for (let batch = SWEEP_BATCH; batch === SWEEP_BATCH; removed += batch) {
    batch = await inTransaction(deps.db, async (tx) => {
      const users = await deleteUnverified(tx, hours, SWEEP_BATCH);
      for (const user of users)
        await recordChange(tx, deps.log, null, {
          action: 'unverified_account_deleted',
          actorId: null,
          resourceId: user.id,
          details: { email: user.email, created_at: user.created_at },
        });
      return users.length;
    });
  }
  return removed;
}
