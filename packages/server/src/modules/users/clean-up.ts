// Removes registered accounts that were not verified in time.
import { inTransaction } from '../../platform/db/transaction.ts';
import { recordChanges } from '../audit/service.ts';
import type { UserDeps } from './service.ts';
import { deleteUnverified } from './store.ts';

// Maximum accounts that one transaction removes, because it holds their locks until it ends.
const BATCH = 200;

/** Removes accounts that were not verified within `hours`, each with an audit entry. Returns their number. */
export async function removeUnverifiedAccounts(deps: UserDeps, hours: number): Promise<number> {
  let removed = 0;
  for (let batch = BATCH; batch === BATCH; removed += batch) {
    batch = await inTransaction(deps.db, async (tx) => {
      const users = await deleteUnverified(tx, hours, BATCH);
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
