// The interface of the module for other modules: reads user records and presents them.
import type { User } from '@castellan/contract/users';
import { AppError } from '../../platform/errors.ts';
import type { Versioned } from '../../platform/http/record-version.ts';
import type { Db, Tx } from '../../schema/database.ts';
import type { Audited } from '../audit/service.ts';
import type { GraphSource } from '../authz/graph/graph.ts';
import { toUser, type VersionedUser } from './presentation.ts';
import { findUserById } from './store.ts';

export { lockEmails } from './changes/change-store.ts';
export { deletePendingRegistration, removeUnverifiedAccounts } from './clean-up.ts';
export { useInvitationsUp } from './invitations/store.ts';
export { cleanNames } from './names.ts';
export type { VersionedUser } from './presentation.ts';
export { endLinksOf } from './second-factors/store.ts';
export {
  endOwnDeletion,
  insertRegistration,
  insertVouched,
  isPendingRegistration,
  markAccepted,
  markVerified,
  recordLanguage,
  setNames,
} from './store.ts';

export type UserDeps = Audited & { graphSource: GraphSource };

/** Returns the record for the API. Call it after the commit: it may read the graph, which takes another connection. */
export async function present(deps: UserDeps, record: VersionedUser): Promise<Versioned<User>> {
  return { record: toUser(record, await deps.graphSource.at(record.authz_stamp)), version: record.version };
}

/**
 * Reads a record for `present`. Call it inside the transaction, so that the response shows what this transaction
 * committed even if the user changes again. Throws `user_not_found`.
 */
export async function readRecord(db: Db | Tx, id: string): Promise<VersionedUser> {
  const record = await findUserById(db, id);
  if (!record) throw new AppError('user_not_found');
  return record;
}

export const getVersionedUser = async (deps: UserDeps, id: string): Promise<Versioned<User>> =>
  present(deps, await readRecord(deps.db, id));
