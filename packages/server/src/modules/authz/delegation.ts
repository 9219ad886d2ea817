// Delegation rules: callers grant only permissions that they hold, and cannot change users who hold more.
import type { FieldError } from '@castellan/contract/envelope';
import { administrativePermissions } from '@castellan/contract/permissions';
import { sql } from 'kysely';
import { AppError } from '../../platform/errors.ts';
import type { Caller } from './caller.ts';
import type { Entitled } from './change.ts';
import { permissionsOf } from './effective.ts';
import { isHeldBy } from './holding.ts';

// A longer list would not help the caller.
const MAX_NAMED = 20;

/**
 * Requires that the caller holds every permission of the roles. Locks the roles, so that they cannot gain permissions
 * before this transaction ends. Throws `privilege_escalation`.
 */
export async function requireMayGrantRoles(
  { tx, caller }: Entitled,
  roleIds: readonly string[],
): Promise<void> {
  if (roleIds.length === 0) return;
  await sql`select from roles where id = any(${roleIds}::uuid[]) order by id for share`.execute(tx);
  const { rows } = await sql<{ name: string }>`
    select distinct p.name from role_permissions rp join permissions p on p.id = rp.permission_id
    where rp.role_id = any(${roleIds}::uuid[]) and ${isLacking(caller)}`.execute(tx);
  refuseWhatIsLacking(rows);
}

/**
 * Requires that the caller holds every permission of the roles added to each of many subjects. Throws
 * `privilege_escalation`; its errors name the subjects at fault by `about`, at the field `role_id`.
 */
export async function requireMayAssign(
  entitled: Entitled,
  assigned: readonly { added: readonly string[]; at: (field: string) => string; about: string }[],
): Promise<void> {
  try {
    await requireMayGrantRoles(entitled, [...new Set(assigned.flatMap((one) => one.added))]);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { graph, principal } = entitled.caller;
    const held = new Set(permissionsOf(graph, { ...principal.subject, is_superuser: entitled.isSuperuser }));
    const isTooMuch = (id: string): boolean =>
      graph.roles.get(id)?.permissions.some((permission) => !held.has(permission)) ?? true;
    const errors = assigned
      .filter((one) => one.added.some(isTooMuch))
      .slice(0, MAX_NAMED)
      .map(({ at, about }) => ({
        field: at('role_id'),
        code: error.code,
        message: `grants permissions that you do not hold (${about})`,
      }));
    throw new AppError(error.code, { ...error.extras, errors });
  }
}

/**
 * Requires that the caller holds every one of these permissions. Throws `privilege_escalation`, with what `errorsOf`
 * returns for the ids of the missing ones.
 */
export async function requireMayGrantPermissions(
  { tx, caller }: Entitled,
  permissionIds: readonly string[],
  errorsOf: (missing: ReadonlySet<string>) => { errors?: FieldError[] } = () => ({}),
): Promise<void> {
  if (permissionIds.length === 0) return;
  const { rows } = await sql<{ id: string; name: string }>`
    select p.id, p.name from permissions p where p.id = any(${permissionIds}::uuid[]) and ${isLacking(caller)}`.execute(
    tx,
  );
  refuseWhatIsLacking(rows, errorsOf(new Set(rows.map(({ id }) => id))));
}

/** Permissions that a role does not have and gets, and such that it has and loses; ids. */
export type RolePermissionsDelta = { roleId: string; added: readonly string[]; removed: readonly string[] };

/**
 * Checks changes of the permissions of roles, which change what the holders of the roles hold. Returns the id of a role
 * by which somebody gains or loses a permission who holds a built-in permission that the caller lacks; undefined if there
 * is none. All changes count together: who has a permission before and after them is not affected. Superusers hold every
 * permission whatever their roles, so nothing changes for them.
 */
export async function findRoleOfHoldersBeyond(
  { tx, caller }: Entitled,
  deltas: readonly RolePermissionsDelta[],
): Promise<string | undefined> {
  const changes = deltas.flatMap(({ roleId, added, removed }) => [
    ...added.map((permissionId) => ({ roleId, permissionId, isAdded: true })),
    ...removed.map((permissionId) => ({ roleId, permissionId, isAdded: false })),
  ]);
  if (changes.length === 0) return undefined;
  const { rows: beyond } = await sql<{ id: string }>`
    select distinct through.role_id as id from permissions p join role_permissions through on through.permission_id = p.id
    where p.name = any(${administrativePermissions}::text[]) and ${isLacking(caller)}`.execute(tx);
  if (beyond.length === 0) return undefined;
  // Few have those roles, but many may have these. Given the ids, the planner starts with the few.
  const { rows } = await sql<{ role_id: string | null }>`
    with changed as materialized (
      select * from unnest(
        ${changes.map((one) => one.roleId)}::uuid[], ${changes.map((one) => one.permissionId)}::uuid[],
        ${changes.map((one) => one.isAdded)}::boolean[]) as t (role_id, permission_id, added)
    ), holder as materialized (
      select distinct held.subject_id, other.role_id
      from subject_roles held join subject_roles other on other.subject_id = held.subject_id
      where held.role_id = any(${beyond.map(({ id }) => id)}::uuid[])
        and other.role_id = any(${[...new Set(changes.map((one) => one.roleId))]}::uuid[])
        and not exists (select from users u where u.id = held.subject_id and u.is_superuser)
    )
    select c.role_id
    from holder join changed c on c.role_id = holder.role_id
    where not exists (
        select from subject_roles beside join role_permissions has on has.role_id = beside.role_id
        left join changed gone on not gone.added and gone.role_id = has.role_id and gone.permission_id = has.permission_id
        where beside.subject_id = holder.subject_id and has.permission_id = c.permission_id
          and (c.added or gone.role_id is null))
      and not exists (
        select from subject_roles beside
        join changed gets on gets.added and gets.role_id = beside.role_id and gets.permission_id = c.permission_id
        where not c.added and beside.subject_id = holder.subject_id)
    limit 1`.execute(tx);
  return rows[0]?.role_id ?? undefined;
}

/**
 * Returns the ids of users and service accounts, except the caller, that hold a permission that the caller lacks: a
 * built-in one, or any if `all` is true. `self.update_profile` never counts, because it gives no power over others.
 */
export async function findSubjectsBeyond(
  { tx, caller }: Entitled,
  subjects: readonly { id: string; all: boolean }[],
): Promise<ReadonlySet<string>> {
  if (subjects.length === 0) return new Set();
  const { id, subject } = caller.principal;
  // A narrowed key may do less than its account, so it is not exempt from the check of its own account.
  const exempt = subject.narrowed_to ? null : id;
  const { rows } = await sql<{ subject_id: string | null }>`
    select distinct held.subject_id
    from unnest(${subjects.map(({ id }) => id)}::uuid[], ${subjects.map(({ all }) => all)}::boolean[]) as target (id, every)
    join subject_roles held on held.subject_id = target.id
    join role_permissions through on through.role_id = held.role_id
    join permissions p on p.id = through.permission_id
    where target.id is distinct from ${exempt}::uuid and p.name <> 'self.update_profile'
      and (target.every or p.name = any(${administrativePermissions}::text[])) and ${isLacking(caller)}`.execute(
    tx,
  );
  return new Set(rows.flatMap((row) => row.subject_id ?? []));
}

// Reads the caller's permissions again, because the caller may have lost some while the transaction waited for locks.
const isLacking = ({ principal }: Caller) => sql`not ${isHeldBy(principal)}`;

function refuseWhatIsLacking(rows: readonly { name: string }[], more: { errors?: FieldError[] } = {}): void {
  if (rows.length === 0) return;
  const missing = rows.map((row) => row.name).sort();
  throw new AppError('privilege_escalation', {
    detail: `You cannot grant permissions that you do not hold: ${missing.slice(0, MAX_NAMED).join(', ')}.`,
    ...more,
  });
}
