// Removes registered accounts: those that were not verified in time, and those that their owners declined.
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Tx } from '../../schema/database.ts';
import { removeAllRoles } from '../assignments/unattended.ts';
import { type Audited, recordChanges } from '../audit/service.ts';
import { deleteUnattended, deleteUnverified, isPendingRegistration, lockUnverified } from './store.ts';

// Maximum accounts that one transaction removes, because it holds their locks until it ends.
const BATCH = 200;

/** Removes accounts that were not verified within `hours`, each with an audit entry. Returns their number. */
export async function removeUnverifiedAccounts(deps: Audited, hours: number): Promise<number> {
  let removed = 0;
  for (let batch = BATCH; batch === BATCH; removed += batch) {
    batch = await inTransaction(deps.db, async (tx) => {
      const ids = await lockUnverified(tx, hours, BATCH);
      if (ids.length === 0) return 0;
      await removeAllRoles(tx, ids);
      const users = await deleteUnverified(tx, ids, hours);
      const events = users.map((user) => ({
        action: 'unverified_account_deleted' as const,
        actorId: null,
        resourceId: user.id,
        details: { email: user.email, created_at: user.created_at },
      }));
      await recordChanges(tx, deps.auditLog, null, events);
      return users.length;
    });
  }
  return removed;
}

/** Deletes a pending registration whose row is locked. Returns false if the account is not a pending registration. */
export async function deletePendingRegistration(tx: Tx, id: string): Promise<boolean> {
  if (!(await isPendingRegistration(tx, id))) return false;
  await removeAllRoles(tx, [id]);
  await deleteUnattended(tx, id);
  return true;
}
