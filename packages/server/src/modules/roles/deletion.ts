// Deletes roles that nobody holds and that have no permission, one or many.
// It must not take anything from a role: what stands in the way is the caller's to remove.
import type { FieldError } from '@castellan/contract/envelope';
import { counted } from '../../platform/counted.ts';
import { AppError } from '../../platform/errors.ts';
import type { Entitled, Entry } from '../authz/change.ts';
import { touchGroupsOf } from './group-links.ts';
import { roleEntry, snapshotOf } from './record.ts';
import { countHoldersByKind, deleteRoleRows, type RoleRecord } from './store.ts';

export { lockGroupTree } from './group-links.ts';

// A longer list would not help the caller.
const MAX_NAMED = 20;

/** A locked role, as it is. In a request for many records, `at` returns the path of a field of this one. */
export type DeletedRole = { role: RoleRecord; at?: (field: string) => string };

function errorsAt(
  faults: readonly DeletedRole[],
  error: (fault: DeletedRole) => Omit<FieldError, 'field'>,
): { errors?: FieldError[] } {
  const errors = faults.flatMap((fault) =>
    fault.at ? [{ field: fault.at('role_id'), ...error(fault) }] : [],
  );
  return errors.length > 0 ? { errors: errors.slice(0, MAX_NAMED) } : {};
}

/** Throws `system_role`. */
export function requireDeletable(all: readonly DeletedRole[]): void {
  const faults = all.filter(({ role }) => role.is_system);
  if (faults.length === 0) return;
  throw new AppError('system_role', {
    detail: 'A system role cannot be deleted.',
    ...errorsAt(faults, () => ({ code: 'system_role', message: 'is a system role' })),
  });
}

/**
 * Deletes the roles and returns their audit entries, at least one for one role. Call it under `lockGroupTree`, after every
 * other change. Throws `role_in_use`.
 */
export async function deleteRoles(
  entitled: Entitled,
  all: readonly [DeletedRole, ...DeletedRole[]],
): Promise<[Entry, ...Entry[]]> {
  const ids = all.map(({ role }) => role.id);
  const holders = await countHoldersByKind(entitled.tx, ids);
  const usesOf = ({ role }: DeletedRole): string => {
    const { users = 0, accounts = 0 } = holders.get(role.id) ?? {};
    return `${counted(role.permissions.length, 'permission')}, ${counted(users, 'user')} and ${counted(accounts, 'service account')}`;
  };
  const used = all.filter(({ role }) => role.permissions.length > 0 || holders.has(role.id));
  if (used[0])
    throw new AppError('role_in_use', {
      detail: `The role has ${usesOf(used[0])}. Remove them first.`,
      ...errorsAt(used, (one) => ({ code: 'role_in_use', message: `has ${usesOf(one)}` })),
    });
  await touchGroupsOf(entitled, ids);
  await deleteRoleRows(entitled, ids);
  const entryOf = ({ role }: DeletedRole): Entry =>
    roleEntry('role_deleted', role, { before: snapshotOf(role), after: null });
  const [first, ...others] = all;
  return [entryOf(first), ...others.map(entryOf)];
}
