// Nobody hands out what he does not hold: the one check of every way to give rights to somebody.
// Its answer counts only inside the transaction that gives them, for the roles as that transaction sees them.
import { sql } from 'kysely';
import type { Tx } from '../../database.ts';
import { AppError } from '../../platform/errors.ts';
import { permissionsOf } from './effective.ts';
import type { Actor } from './guard.ts';

/** For assigning roles. Locks the roles, so that they cannot gain permissions before this transaction ends. */
export async function requireMayGrantRoles(tx: Tx, actor: Actor, roleIds: readonly string[]): Promise<void> {
  if (roleIds.length === 0) return;
  await sql`select from roles where id = any(${roleIds}::uuid[]) order by id for share`.execute(tx);
  const { rows } = await sql<{ name: string }>`
    select distinct p.name from role_permissions rp join permissions p on p.id = rp.permission_id
    where rp.role_id = any(${roleIds}::uuid[])`.execute(tx);
  requireHeld(
    actor,
    rows.map((row) => row.name),
  );
}

/** For putting permissions on a role. */
export async function requireMayGrantPermissions(
  tx: Tx,
  actor: Actor,
  permissionIds: readonly string[],
): Promise<void> {
  if (permissionIds.length === 0) return;
  const { rows } = await sql<{ name: string }>`
    select name from permissions where id = any(${permissionIds}::uuid[])`.execute(tx);
  requireHeld(
    actor,
    rows.map((row) => row.name),
  );
}

function requireHeld(actor: Actor, names: readonly string[]): void {
  if (actor.is_superuser) return;
  const held = new Set(permissionsOf(actor.graph, actor));
  const missing = names.filter((name) => !held.has(name)).sort();
  if (missing.length > 0)
    throw new AppError('privilege_escalation', {
      detail: `You cannot hand out permissions that you do not have yourself: ${missing.slice(0, 20).join(', ')}.`,
    });
}
