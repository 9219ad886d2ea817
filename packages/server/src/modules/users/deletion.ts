// Deleting a user. Audit entries keep the id of who did what; records the user made stay without an author.
import type { User } from '@castellan/contract/users';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { requireVersion } from '../../platform/http/record-version.ts';
import { recordChange } from '../audit/service.ts';
import type { Actor } from '../authz/guard.ts';
import { lockPermissionGroupTree } from '../permission-groups/service.ts';
import { lockGroupTree } from '../roles/service.ts';
import { hasMadeRecords, lockGrantsMadeBy, lockGroupsMadeBy } from './authored-store.ts';
import { toUser } from './presentation.ts';
import { present, type UserDeps } from './service.ts';
import { requireMayActOn, requireSuperuserWithout } from './standing.ts';
import { deleteUserRow } from './store.ts';

/** Answers the user as it was. Throws, in this order, 401, 403, 404, 403, 412, 409 (roles), 409 (last superuser). */
export async function deleteUser(
  deps: UserDeps,
  client: Client,
  actor: Actor,
  id: string,
  ifMatch: readonly number[] | null,
): Promise<User> {
  const deleted = await inTransaction(deps.db, async (tx) => {
    // Before any lock: a record that he makes meanwhile costs at worst a deadlock, which is retried with it in view.
    const isAuthor = await hasMadeRecords(tx, id);
    if (isAuthor) {
      await lockGroupTree(tx);
      await lockPermissionGroupTree(tx);
      await lockGroupsMadeBy(tx, id);
    }
    const user = await requireMayActOn(tx, actor, id);
    if (id === actor.user_id) throw new AppError('self_delete');
    await requireVersion(ifMatch, user.version, () => toUser(user, actor.graph));
    const roles = user.role_ids.length;
    if (roles > 0)
      throw new AppError('user_has_roles', {
        detail: `The user has ${roles} ${roles === 1 ? 'role' : 'roles'} assigned. Remove the roles first.`,
      });
    if (isAuthor) await lockGrantsMadeBy(tx, id);
    await deleteUserRow(tx, id);
    await requireSuperuserWithout(tx, user);
    const { email, first_name, last_name, is_active, is_superuser, verified } = user;
    await recordChange(tx, deps.log, client, {
      action: 'user_deleted',
      actorId: actor.user_id,
      resourceType: 'user',
      resourceId: id,
      before: { email, first_name, last_name, is_active, is_superuser, verified },
      after: null,
    });
    return user;
  });
  return (await present(deps, deleted)).user;
}
