// What the caller may at the moment of his deed: still do what his route let him begin, and hand out what he holds.
// Its answers count only inside the transaction of the deed, after every lock that can be waited for.
import { sql } from 'kysely';
import type { Tx } from '../../database.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor } from './guard.ts';

/**
 * After the locks and before the first write. Answers the actor with `is_superuser` as it is now; where his row is locked
 * it stays so until the transaction ends. Throws `token_revoked` (deactivated or deleted), `permission_denied`.
 */
export async function requireStillEntitled(tx: Tx, actor: Actor): Promise<Actor> {
  const { rows } = await sql<{ is_superuser: boolean; is_permitted: boolean }>`
    select u.is_superuser, exists (
      select from user_roles held join role_permissions through on through.role_id = held.role_id
      join permissions p on p.id = through.permission_id
      where held.user_id = u.id and p.name = ${actor.access}) as is_permitted
    from users u where u.id = ${actor.user_id} and u.is_active`.execute(tx);
  const [now] = rows;
  if (!now) throw new AppError('token_revoked');
  if (!now.is_superuser && !now.is_permitted) throw new AppError('permission_denied');
  return { ...actor, is_superuser: now.is_superuser };
}

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
