// Removes the accounts whose owners deleted them, when they are due. Audit entries keep the id of the user.
// One account that cannot be removed must not keep the others.
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Logger } from '../../platform/logging/log.ts';
import { removeAllRoles } from '../assignments/unattended.ts';
import { type Audited, recordChange } from '../audit/service.ts';
import { lockGrantsCreatedBy } from '../users/authored-store.ts';
import { lockIfAuthor } from '../users/deletion.ts';
import { readRecord } from '../users/service.ts';
import { deleteUnattended } from '../users/store.ts';
import { findDue, lockDue } from './store.ts';

// A run of the clean-up removes at most so many; the next one goes on.
const MAX_REMOVED = 10_000;

/** Returns the number of removed accounts. Rejects at the end if some could not be removed, which the log names. */
export async function removeDueAccounts(deps: Audited & { log: Logger }): Promise<number> {
  const failed: string[] = [];
  let removed = 0;
  for (const id of await findDue(deps.db, MAX_REMOVED))
    try {
      if (await removeDue(deps, id)) removed += 1;
    } catch (error) {
      failed.push(id);
      deps.log.error({ err: error, user_id: id }, 'an account that its owner deleted could not be removed');
    }
  if (failed.length > 0) throw new Error(`accounts that could not be removed: ${failed.length}`);
  return removed;
}

/** Returns false if the account is no longer due, or somebody is acting on it at this moment. */
const removeDue = ({ db, auditLog }: Audited, id: string): Promise<boolean> =>
  inTransaction(db, async (tx) => {
    const isAuthor = await lockIfAuthor(tx, id);
    if (!(await lockDue(tx, id))) return false;
    const { user_id, role_ids, authz_stamp, version, has_password, created_at, updated_at, ...before } =
      await readRecord(tx, id);
    if (isAuthor) await lockGrantsCreatedBy(tx, id, role_ids);
    await removeAllRoles(tx, [id]);
    await deleteUnattended(tx, id);
    await recordChange(tx, auditLog, null, {
      action: 'user_deleted',
      actorId: null,
      resourceType: 'user',
      resourceId: id,
      details: { reason: 'self_deletion', roles: role_ids.length },
      before,
      after: null,
    });
    return true;
  });
