// Which permissions a role has, and who may change that.
// Permissions come onto a role here alone, so that nobody hands out what he does not hold.
import type { Role } from '@castellan/contract/roles';
import type { Tx } from '../../database.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { canonicalIds, requireAllFound } from '../../platform/http/ids.ts';
import type { Versioned } from '../../platform/http/record-version.ts';
import { requireMayGrantPermissions, requireStillEntitled } from '../authz/delegation.ts';
import type { Actor } from '../authz/guard.ts';
import { permissionNamesOf, type RoleDeps, recordRole, requireRole, versionedRole } from './record.ts';
import {
  addPermissions,
  findRole,
  lockPermissions,
  type RoleRecord,
  removePermissions,
  touchRole,
} from './store.ts';

export type PermissionChange = { replace: readonly string[] } | { remove: readonly string[] };
type Plan = { added: readonly string[]; removed: readonly string[] };

/** 404 names ids that are no permission at all; removing one that the role does not have changes nothing. */
export async function changePermissions(
  deps: RoleDeps,
  client: Client,
  actor: Actor,
  id: string,
  change: PermissionChange,
  ifMatch: readonly number[] | null,
): Promise<Versioned<Role>> {
  return inTransaction(deps.db, async (tx) => {
    const before = await requireRole(tx, id, ifMatch);
    const plan = await planPermissions(tx, actor, before, change);
    if (plan.added.length + plan.removed.length === 0) return versionedRole(before);
    await carryOut(tx, id, plan);
    const after = (await findRole(tx, id)) as RoleRecord;
    await recordRole(tx, deps, client, actor, 'role_permissions_changed', id, {
      before: { permissions: permissionNamesOf(before) },
      after: { permissions: permissionNamesOf(after) },
    });
    return versionedRole(after);
  });
}

/**
 * What a change comes to, with the permissions locked. It writes nothing, so that a transaction takes its locks first.
 * Throws `system_role`, `permission_not_found`, 401 and 403 (no longer entitled), `privilege_escalation`; keeping what is there needs no right.
 */
export async function planPermissions(
  tx: Tx,
  actor: Actor,
  role: RoleRecord,
  change: PermissionChange,
): Promise<Plan> {
  if (role.is_system)
    throw new AppError('system_role', { detail: 'The permissions of a system role cannot be changed.' });
  const named = canonicalIds('replace' in change ? change.replace : change.remove);
  if ('remove' in change) {
    await requirePermissions(tx, named);
    await requireStillEntitled(tx, actor);
    const present = new Set(role.permissions.map((permission) => permission.id));
    return { added: [], removed: named.filter((one) => present.has(one)) };
  }
  const wanted = new Set(named);
  const held = new Set(role.permissions.map((permission) => permission.id));
  const added = named.filter((one) => !held.has(one));
  await requireGrantable(tx, actor, added);
  return { added, removed: [...held].filter((one) => !wanted.has(one)) };
}

export async function carryOut(tx: Tx, roleId: string, { added, removed }: Plan): Promise<void> {
  if (added.length + removed.length === 0) return;
  await addPermissions(tx, roleId, added);
  await removePermissions(tx, roleId, removed);
  await touchRole(tx, roleId);
}

/**
 * Canonical ids. They are there until the transaction ends, the caller holds each of them, and he may still do what his
 * route let him begin.
 */
export async function requireGrantable(tx: Tx, actor: Actor, ids: readonly string[]): Promise<void> {
  await requirePermissions(tx, ids);
  await requireStillEntitled(tx, actor);
  await requireMayGrantPermissions(tx, actor, ids);
}

async function requirePermissions(tx: Tx, ids: readonly string[]): Promise<void> {
  requireAllFound('permission_not_found', 'permission_ids', ids, await lockPermissions(tx, ids));
}
