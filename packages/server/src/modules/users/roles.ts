// Which roles a user has: replaced as a whole, or taken away one by one.
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Client } from '../../platform/http/client.ts';
import type { Actor } from '../authz/guard.ts';
import { carryOut, planChanges, type RoleChange } from './changes.ts';
import type { VersionedUser } from './presentation.ts';
import { present, type UserDeps, type VersionedAnswer } from './service.ts';

/**
 * Ids are canonical. Taking away a role that the user does not have changes nothing. Throws 404 (user, or ids that name
 * no role), 412, 403.
 */
export async function changeRoles(
  deps: UserDeps,
  client: Client,
  actor: Actor,
  id: string,
  roles: RoleChange,
  ifMatch: readonly number[] | null,
): Promise<VersionedAnswer> {
  const at = (field: string) => (field === 'role_id' ? 'role_ids' : field);
  const [record] = await inTransaction(deps.db, async (tx) =>
    carryOut(
      tx,
      deps,
      client,
      actor,
      await planChanges(tx, actor, [{ id, fields: {}, roles, at }], { ifMatch }),
    ),
  );
  return present(deps, record as VersionedUser);
}
