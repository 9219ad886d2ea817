// Plans, checks and writes changes of the permissions of one or many roles.
// All changes of a role's permissions must be checked here, so that callers grant only permissions that they hold.
import type { FieldError } from '@castellan/contract/envelope';
import { AppError } from '../../platform/errors.ts';
import { canonicalIds, requireAllFound } from '../../platform/http/ids.ts';
import type { Tx } from '../../schema/database.ts';
import type { Entitled, Entry, Locking } from '../authz/change.ts';
import {
  findRoleOfHoldersBeyond,
  type RolePermissionsDelta,
  requireMayGrantPermissions,
} from '../authz/delegation.ts';
import type { AccessDelta } from '../authz/impact/impact.ts';
import { permissionNamesOf, roleEntry } from './record.ts';
import {
  addPermissions,
  findRoles,
  lockPermissions,
  type RoleRecord,
  removePermissions,
  touchRoles,
} from './store.ts';

// A longer list would not help the caller.
const MAX_NAMED = 20;

/** Ids of permissions. Adding one that the role has, or removing one that it does not have, changes nothing. */
export type PermissionChange =
  | { replace: readonly string[] }
  | { add?: readonly string[]; remove: readonly string[] };

/** A wanted change of a locked role. In a request for many roles, `at` returns the path of a field of this one. */
export type WantedPermissions = {
  role: RoleRecord;
  wanted: PermissionChange;
  at?: (field: string) => string;
};

/** The permissions that a role gets and loses by a wanted change. */
export type PlannedPermissions = RolePermissionsDelta & Pick<WantedPermissions, 'role' | 'at'>;

/** Returns the locked roles by id. `fieldOf` returns the field of an id. Throws `role_not_found`. */
export async function readRoles(
  tx: Tx,
  ids: readonly string[],
  fieldOf: (id: string) => string,
): Promise<ReadonlyMap<string, RoleRecord>> {
  const roles = new Map((await findRoles(tx, ids)).map((role) => [role.id, role]));
  requireAllFound('role_not_found', fieldOf, ids, [...roles.keys()]);
  return roles;
}

/** Returns what a wanted change adds and removes. */
export function planPermissions({ role, wanted, at }: WantedPermissions): PlannedPermissions {
  const held = new Set(role.permissions.map((permission) => permission.id));
  const kept = 'replace' in wanted ? new Set(canonicalIds(wanted.replace)) : held;
  const removed = new Set('replace' in wanted ? [] : canonicalIds(wanted.remove));
  const added = 'replace' in wanted ? wanted.replace : (wanted.add ?? []);
  return {
    role,
    roleId: role.id,
    added: canonicalIds(added).filter((one) => !held.has(one)),
    removed: [...held].filter((one) => !kept.has(one) || removed.has(one)),
    ...(at ? { at } : {}),
  };
}

export const changesAnything = ({ added, removed }: PlannedPermissions): boolean =>
  added.length + removed.length > 0;

/** Returns `errors` that name the roles at fault; nothing in a request for one role. */
function errorsAt(
  faults: readonly Pick<WantedPermissions, 'at'>[],
  error: Omit<FieldError, 'field'>,
  field = 'role_id',
): { errors?: FieldError[] } {
  const errors = faults.flatMap(({ at }) => (at ? [{ field: at(field), ...error }] : []));
  return errors.length > 0 ? { errors: errors.slice(0, MAX_NAMED) } : {};
}

/** Throws `system_role` if a change names permissions of a system role, unless it replaces them by themselves. */
export function requireNoSystemRoles(all: readonly WantedPermissions[]): void {
  const faults = all.filter((one) => {
    if (!one.role.is_system) return false;
    return 'replace' in one.wanted ? changesAnything(planPermissions(one)) : namedIn(one).length > 0;
  });
  if (faults.length === 0) return;
  throw new AppError('system_role', {
    detail: 'The permissions of a system role cannot be changed.',
    ...errorsAt(faults, { code: 'system_role', message: 'is a system role' }),
  });
}

/** Returns the ids whose existence the change depends on. Permissions that a role keeps exist. */
const namedIn = (one: WantedPermissions): readonly string[] =>
  'replace' in one.wanted ? planPermissions(one).added : [...(one.wanted.add ?? []), ...one.wanted.remove];

/** Locks the permissions that the changes name against deletion. Throws `permission_not_found`. */
export async function requirePermissions(tx: Tx, all: readonly WantedPermissions[]): Promise<void> {
  const ids = canonicalIds(all.flatMap(namedIn));
  const fieldOf = (id: string): string => {
    const naming = all.find((one) => canonicalIds(namedIn(one)).includes(id));
    const isAdded = naming && 'add' in naming.wanted && canonicalIds(naming.wanted.add ?? []).includes(id);
    return naming?.at?.(isAdded ? 'add_permission_ids' : 'remove_permission_ids') ?? 'permission_ids';
  };
  requireAllFound('permission_not_found', fieldOf, ids, await lockPermissions(tx, ids));
}

/**
 * Requires that every id (canonical) exists until the transaction ends, that the caller holds each of these
 * permissions, and that the caller still holds the route's permission.
 */
export async function requireGrantable(locking: Locking, ids: readonly string[]): Promise<Entitled> {
  requireAllFound('permission_not_found', 'permission_ids', ids, await lockPermissions(locking.tx, ids));
  const entitled = await locking.entitle();
  await requireMayGrantPermissions(entitled, ids);
  return entitled;
}

/**
 * Requires that the caller holds every added permission, and that nobody gains or loses a permission who holds built-in
 * ones that the caller lacks. What the plans take away is for the caller to check (`requireMayTake`). Throws
 * `privilege_escalation`.
 */
export async function requireMayChangePermissions(
  entitled: Entitled,
  plans: readonly PlannedPermissions[],
): Promise<void> {
  const code = 'privilege_escalation';
  const added = [...new Set(plans.flatMap((plan) => plan.added))];
  await requireMayGrantPermissions(entitled, added, (missing) =>
    errorsAt(
      plans.filter((plan) => plan.added.some((id) => missing.has(id))),
      { code, message: 'names permissions that you do not hold' },
      'add_permission_ids',
    ),
  );
  const beyond = await findRoleOfHoldersBeyond(entitled, plans);
  if (beyond === undefined) return;
  throw new AppError(code, {
    detail: 'Users or service accounts with this role hold permissions that you do not hold.',
    ...errorsAt(
      plans.filter(({ roleId }) => roleId === beyond),
      { code, message: 'has holders with permissions that you do not hold' },
    ),
  });
}

/** Writes the plans. The roles get a new version. */
export async function carryOut(entitled: Entitled, plans: readonly PlannedPermissions[]): Promise<void> {
  const changing = plans.filter(changesAnything);
  if (changing.length === 0) return;
  await addPermissions(entitled, linksOf(changing, 'added'));
  await removePermissions(entitled, linksOf(changing, 'removed'));
  await touchRoles(
    entitled,
    changing.map(({ roleId }) => roleId),
  );
}

const linksOf = (plans: readonly PlannedPermissions[], which: 'added' | 'removed') =>
  plans.flatMap((plan) => plan[which].map((permissionId) => ({ roleId: plan.roleId, permissionId })));

export const permissionsDelta = (plans: readonly PlannedPermissions[]): AccessDelta => ({
  rolePermissions: plans.map(({ roleId, added, removed }) => ({ roleId, added, removed })),
});

/** Returns the audit entry of changed permissions of a role. */
export const permissionsEntry = (before: RoleRecord, after: RoleRecord): Entry =>
  roleEntry('role_permissions_changed', after, {
    before: { permissions: permissionNamesOf(before) },
    after: { permissions: permissionNamesOf(after) },
  });
