// Deletes users. Audit entries keep the user's id, and the records that the user created stay without an author.
import type { AccessPreviewEnvelope } from '@castellan/contract/access-changes';
import type { User } from '@castellan/contract/users';
import { counted } from '../../platform/counted.ts';
import { AppError } from '../../platform/errors.ts';
import { requireVersion } from '../../platform/http/record-version.ts';
import type { Tx } from '../../schema/database.ts';
import type { Caller } from '../authz/caller.ts';
import { change, type Run } from '../authz/change.ts';
import { type PreviewDeps, preview } from '../authz/impact/preview.ts';
import { lockPermissionGroupTree } from '../permission-groups/service.ts';
import { lockGroupTree } from '../roles/service.ts';
import { hasCreatedRecords, lockGrantsCreatedBy, lockGroupsCreatedBy } from './authored-store.ts';
import { toUser, type VersionedUser } from './presentation.ts';
import { requireMayActOn, requireSuperuserWithout } from './protection.ts';
import { present, type UserDeps } from './service.ts';
import { deleteUserRow } from './store.ts';

/**
 * Deletes a user. Returns the deleted record. Throws, in order, 401, 403, 404, 403, 412, 409 (roles, last superuser).
 */
export async function deleteUser(deps: UserDeps, caller: Caller, id: string): Promise<User> {
  const deleted = await change(deps, caller, deleting(id));
  return (await present(deps, deleted)).record;
}

export const previewUserDeletion = (
  deps: PreviewDeps,
  caller: Caller,
  id: string,
): Promise<AccessPreviewEnvelope> =>
  preview(deps, caller, { resourceType: 'user', resourceId: id }, deleting(id));

/**
 * Locks the groups that the user created, if the user created anything, and returns whether they did: then call `lockGrantsCreatedBy`
 * after the user's row is locked.
 */
export async function lockIfAuthor(tx: Tx, id: string): Promise<boolean> {
  // Read before any lock. A record that the user creates in between causes at worst a deadlock, and the retry sees it.
  const isAuthor = await hasCreatedRecords(tx, id);
  if (isAuthor) {
    await lockGroupTree(tx);
    await lockPermissionGroupTree(tx);
    await lockGroupsCreatedBy(tx, id);
  }
  return isAuthor;
}

const deleting =
  (id: string): Run<VersionedUser> =>
  async (locking) => {
    const { caller } = locking;
    const { tx } = locking;
    const isAuthor = await lockIfAuthor(tx, id);
    const { entitled, user } = await requireMayActOn(locking, id);
    if (id === caller.principal.id) throw new AppError('self_delete');
    await requireVersion(caller.ifMatch, user.version, () => toUser(user, caller.graph));
    const roles = user.role_ids.length;
    if (roles > 0)
      throw new AppError('user_has_roles', {
        detail: `The user has ${counted(roles, 'role')} assigned. Remove the roles first.`,
      });
    if (isAuthor) await lockGrantsCreatedBy(tx, id);
    await deleteUserRow(entitled, id);
    await requireSuperuserWithout(tx, user);
    const { user_id, role_ids, authz_stamp, version, has_password, created_at, updated_at, ...before } = user;
    const entry = {
      action: 'user_deleted',
      resourceType: 'user',
      resourceId: id,
      before,
      after: null,
    } as const;
    return entitled.done(user, { subjects: [{ id, is_deleted: true }] }, entry);
  };
