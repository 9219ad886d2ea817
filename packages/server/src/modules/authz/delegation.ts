// Nobody hands out what he does not hold: the one check of every way to give rights to somebody.
// Its answer counts only inside the transaction that gives them, for the roles as that transaction sees them.
import { sql } from 'kysely';
import type { Tx } from '../../database.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor } from './guard.ts';

/** For assigning roles. Locks the roles, so that they cannot gain permissions before this transaction ends. */
export async function requireMayGrantRoles(tx: Tx, actor: Actor, roleIds: readonly string[]): Promise<void> {
  if (roleIds.length === 0) return;
  await sql`select from roles where id = any(${roleIds}::uuid[]) order by id for share`.execute(tx);
  const { rows } = await sql<{ name: string }>`
    select distinct p.name from role_permissions rp join permissions p on p.id = rp.permission_id
    where rp.role_id = any(${roleIds}::uuid[]) and ${isLacking(actor)}`.execute(tx);
  refuseWhatIsLacking(rows);
}

/** For putting permissions on a role. */
export async function requireMayGrantPermissions(
  tx: Tx,
  actor: Actor,
  permissionIds: readonly string[],
): Promise<void> {
  if (permissionIds.length === 0) return;
  const { rows } = await sql<{ name: string }>`
    select p.name from permissions p where p.id = any(${permissionIds}::uuid[]) and ${isLacking(actor)}`.execute(
    tx,
  );
  refuseWhatIsLacking(rows);
}

// Asked anew: the transaction may have waited for its locks, and what the actor held before may be gone.
const isLacking = (actor: Actor) => sql`
  not exists (select from users u where u.id = ${actor.user_id} and u.is_active and (u.is_superuser or exists (
    select from user_roles held join role_permissions through on through.role_id = held.role_id
    where held.user_id = u.id and through.permission_id = p.id)))`;

function refuseWhatIsLacking(rows: readonly { name: string }[]): void {
  if (rows.length === 0) return;
  const missing = rows.map((row) => row.name).sort();
  throw new AppError('privilege_escalation', {
    detail: `You cannot hand out permissions that you do not have yourself: ${missing.slice(0, 20).join(', ')}.`,
  });
}
