// Delegation rules: callers grant and take away only permissions that they hold, and cannot change users who hold more.
import { levelsFrom } from '@castellan/contract/authentication';
import type { FieldError } from '@castellan/contract/envelope';
import { administrativePermissions, freshPermissions } from '@castellan/contract/permissions';
import { type RawBuilder, sql } from 'kysely';
import { lockUntilCommit } from '../../platform/db/sql.ts';
import { AppError } from '../../platform/errors.ts';
import type { Row } from '../../schema/database.ts';
import { type Caller, isByToken } from './caller.ts';
import type { Entitled } from './change.ts';
import { permissionsOf } from './effective.ts';
import { bothOf, type Need, needIn } from './graph/needs.ts';
import { isHeldBy, isMetBy } from './holding.ts';
import { isAnythingRequired } from './requirements/account.ts';
import { proofRequired, provedBy } from './requirements/call.ts';
import { everywhere } from './scope.ts';

// A longer list would not help the caller.
const MAX_NAMED = 20;
const isFresh: ReadonlySet<string> = new Set(freshPermissions);

/**
 * Requires that the caller holds every permission of the roles. Locks the roles, so that they cannot gain permissions
 * before this transaction ends. Throws `privilege_escalation`.
 */
export async function requireMayGrantRoles(entitled: Entitled, roleIds: readonly string[]): Promise<void> {
  if (roleIds.length === 0) return;
  const { tx, caller } = entitled;
  await sql`select from roles where id = any(${roleIds}::uuid[]) order by id for share`.execute(tx);
  const { rows } = await sql<Unusable>`
    select distinct p.id, ${unusableColumns(caller)}
    from role_permissions rp join permissions p on p.id = rp.permission_id
    where rp.role_id = any(${roleIds}::uuid[]) and ${isUnusable(entitled)}`.execute(tx);
  refuseUnusable(entitled, rows);
}

/**
 * Returns those of the roles that grant a permission that the caller lacks. Locks the roles, as `requireMayGrantRoles`. Throws
 * `step_up_required` where only a proof is missing for one of the others.
 */
export async function findRolesBeyond(
  entitled: Entitled,
  roleIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (roleIds.length === 0) return new Set();
  const { tx, caller } = entitled;
  await sql`select from roles where id = any(${roleIds}::uuid[]) order by id for share`.execute(tx);
  const { rows } = await sql<Unusable & { role_id: string }>`
    select rp.role_id, p.id, ${unusableColumns(caller)}
    from role_permissions rp join permissions p on p.id = rp.permission_id
    where rp.role_id = any(${roleIds}::uuid[]) and ${isUnusable(entitled)}`.execute(tx);
  const beyond = new Set(rows.filter(({ is_held }) => !is_held).map(({ role_id }) => role_id));
  refuseUnusable(
    entitled,
    rows.filter(({ role_id }) => !beyond.has(role_id)),
  );
  return beyond;
}

/** Returns the ids of the permissions of the roles that the caller holds and has proved enough to use. */
export async function findGrantable(entitled: Entitled, roleIds: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select p.id from permissions p
    where exists (
        select from role_permissions through where through.permission_id = p.id and through.role_id = any(${roleIds}::uuid[]))
      and not ${isUnusable(entitled)}`.execute(entitled.tx);
  return rows.map(({ id }) => id);
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
    if (!(error instanceof AppError) || error.code !== 'privilege_escalation') throw error;
    const { graph, principal } = entitled.caller;
    const held = new Set(
      permissionsOf(graph, everywhere({ ...principal.subject, is_superuser: entitled.isSuperuser })),
    );
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
  entitled: Entitled,
  permissionIds: readonly string[],
  errorsOf: (missing: ReadonlySet<string>) => { errors?: FieldError[] } = () => ({}),
): Promise<void> {
  if (permissionIds.length === 0) return;
  const { tx, caller } = entitled;
  const { rows } = await sql<Unusable>`
    select p.id, ${unusableColumns(caller)} from permissions p
    where p.id = any(${permissionIds}::uuid[]) and ${isUnusable(entitled)}`.execute(tx);
  refuseUnusable(entitled, rows, errorsOf);
}

/** Requires that the call has proved what every permission asks for: who becomes a superuser gets them all. */
export async function requireProvedAll(entitled: Entitled): Promise<void> {
  if (!asksForProof(entitled)) return;
  const { rows } = await sql<Unusable>`
    select p.id, p.name, p.required_acr, p.max_auth_age, true as is_held
    from permissions p where not ${isProved(entitled)}`.execute(entitled.tx);
  refuseUnusable(entitled, rows);
}

/**
 * Requires of a change by which the caller can sign in as these subjects that the call has proved what their permissions ask for. Throws
 * `step_up_required` (403).
 */
export async function requireProvedForTakeover(
  entitled: Entitled,
  targets: readonly Target[],
): Promise<void> {
  const { tx, caller } = entitled;
  const ids = targets.filter(({ id, all }) => all && id !== caller.principal.id).map(({ id }) => id);
  if (ids.length === 0 || !asksForProof(entitled)) return;
  const { rows } = await sql<Unusable>`
    select distinct p.id, p.name, p.required_acr, p.max_auth_age, true as is_held
    from held_roles held join role_permissions through on through.role_id = held.role_id
    join permissions p on p.id = through.permission_id
    where held.subject_id = any(${ids}::uuid[]) and not ${isProved(entitled)}`.execute(tx);
  refuseUnusable(entitled, rows);
}

/** Requires that the caller holds every permission there is. Throws `privilege_escalation` with the detail. */
export async function requireHoldsAll({ tx, caller, isSuperuser }: Entitled, detail: string): Promise<void> {
  if (isSuperuser) return;
  const { rows } = await sql`select from permissions p where ${isLacking(caller)} limit 1`.execute(tx);
  if (rows.length > 0) throw new AppError('privilege_escalation', { detail });
}

/** What a change removes. `at` returns the path of a field of the record in a request for many. */
export type Taken = {
  /** Ids of roles that users and service accounts lose. */
  assignments?: readonly {
    id: string;
    removed: readonly string[];
    at: (field: string) => string;
    about: string;
  }[];
  /** Ids of permissions that roles lose. */
  permissions?: readonly { roleId: string; removed: readonly string[]; at?: (field: string) => string }[];
};

/**
 * Requires that the caller holds every permission that somebody loses, whom no other role leaves it. Otherwise a caller
 * could empty an account, take it over, and wait until its roles come back. Call it once for the whole change, with the
 * subjects and roles locked, and after the checks of what the change grants: what it adds is held by the caller and
 * replaces nothing that the caller lacks. Superusers lose nothing with a role. Throws `privilege_escalation`.
 */
export async function requireMayTake(
  { tx, caller, isSuperuser }: Entitled,
  { assignments = [], permissions = [] }: Taken,
): Promise<void> {
  const links = assignments.flatMap(({ id, removed }) => removed.map((roleId) => ({ id, roleId })));
  const removals = permissions.flatMap(({ roleId, removed }) => removed.map((id) => ({ id, roleId })));
  if (isSuperuser || links.length + removals.length === 0) return;
  const roleIds = [...new Set(links.map(({ roleId }) => roleId))];
  const { rows: lacking } = await sql<{ id: string }>`
    select p.id from permissions p
    where (p.id = any(${[...new Set(removals.map(({ id }) => id))]}::uuid[]) or exists (
        select from role_permissions rp where rp.permission_id = p.id and rp.role_id = any(${roleIds}::uuid[])))
      and ${isLacking(caller)}`.execute(tx);
  if (lacking.length === 0) return;
  // Two transactions could otherwise each take a permission from one of two roles, and rely on the other role.
  await lockUntilCommit('taken_permissions').execute(tx);
  const { rows } = await sql<{ subject_id: string | null; role_id: string | null; name: string }>`
    with gone_link as materialized (
      select * from unnest(${links.map(({ id }) => id)}::uuid[], ${links.map(({ roleId }) => roleId)}::uuid[])
        as t (subject_id, role_id)
    ), gone as materialized (
      select * from unnest(${removals.map(({ roleId }) => roleId)}::uuid[], ${removals.map(({ id }) => id)}::uuid[])
        as t (role_id, permission_id)
    ), lacking as materialized (
      select id, name from permissions where id = any(${lacking.map(({ id }) => id)}::uuid[])
    )
    select distinct l.subject_id, null::uuid as role_id, p.name
    from gone_link l join role_permissions rp on rp.role_id = l.role_id join lacking p on p.id = rp.permission_id
    where ${isLost(sql`l.subject_id`, sql`p.id`)}
    union all
    select distinct null::uuid, gone.role_id, p.name
    from gone join lacking p on p.id = gone.permission_id join held_roles held on held.role_id = gone.role_id
    where ${isLost(sql`held.subject_id`, sql`p.id`)}`.execute(tx);
  if (rows.length === 0) return;
  const faults = new Set(rows.map((row) => row.subject_id ?? row.role_id));
  const code = 'privilege_escalation';
  const errors: FieldError[] = [
    ...assignments
      .filter(({ id }) => faults.has(id))
      .map(({ at, about }) => ({
        field: at('role_id'),
        code,
        message: `takes away permissions that you do not hold (${about})`,
      })),
    ...permissions.flatMap(({ roleId, at }) =>
      at && faults.has(roleId)
        ? [
            {
              field: at('remove_permission_ids'),
              code,
              message: 'takes away permissions that you do not hold',
            },
          ]
        : [],
    ),
  ];
  throw new AppError(code, {
    detail: `You cannot take away permissions that you do not hold: ${named(rows)}.`,
    ...(errors.length > 0 ? { errors: errors.slice(0, MAX_NAMED) } : {}),
  });
}

/**
 * SQL condition beside the CTEs of `requireMayTake`: the subject is no superuser, and keeps the permission by no role. Each
 * part begins with `not exists`, so that the planner joins. With 100,000 holders, one after the other takes four times as long.
 */
const isLost = (
  subjectId: RawBuilder<unknown>,
  permissionId: RawBuilder<unknown>,
): RawBuilder<unknown> => sql`
  not exists (select from users u where u.id = ${subjectId} and u.is_superuser)
  and not exists (
    select from held_roles kept join role_permissions has on has.role_id = kept.role_id
    where kept.subject_id = ${subjectId} and has.permission_id = ${permissionId}
      and not exists (
        select from gone_link x where x.subject_id = kept.subject_id and x.role_id = kept.role_id)
      and not exists (
        select from gone x where x.role_id = has.role_id and x.permission_id = has.permission_id))`;

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
      from held_roles held join held_roles other on other.subject_id = held.subject_id
      where held.role_id = any(${beyond.map(({ id }) => id)}::uuid[])
        and other.role_id = any(${[...new Set(changes.map((one) => one.roleId))]}::uuid[])
        and not exists (select from users u where u.id = held.subject_id and u.is_superuser)
    )
    select c.role_id
    from holder join changed c on c.role_id = holder.role_id
    where not exists (
        select from held_roles beside join role_permissions has on has.role_id = beside.role_id
        left join changed gone on not gone.added and gone.role_id = has.role_id and gone.permission_id = has.permission_id
        where beside.subject_id = holder.subject_id and has.permission_id = c.permission_id
          and (c.added or gone.role_id is null))
      and not exists (
        select from held_roles beside
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
    join held_roles held on held.subject_id = target.id
    join role_permissions through on through.role_id = held.role_id
    join permissions p on p.id = through.permission_id
    where target.id is distinct from ${exempt}::uuid and p.name <> 'self.update_profile'
      and (target.every or p.name = any(${administrativePermissions}::text[])) and ${isLacking(caller)}`.execute(
    tx,
  );
  return new Set(rows.flatMap((row) => row.subject_id ?? []));
}

/** A subject that a change acts on. `field` is what the error names if the subject holds more than the caller. */
export type Target = { id: string; all: boolean; field: string; about: string };

/** Requires that `findSubjectsBeyond` finds none. Throws `privilege_escalation`, naming up to 20 subjects. */
export async function requireNotBeyond(entitled: Entitled, targets: readonly Target[]): Promise<void> {
  const code = 'privilege_escalation';
  const beyond = await findSubjectsBeyond(entitled, targets);
  const errors = targets
    .filter(({ id }) => beyond.has(id))
    .slice(0, MAX_NAMED)
    .map(({ field, about }) => ({
      field,
      code,
      message: `holds permissions that you do not hold (${about})`,
    }));
  if (errors.length > 0) throw new AppError(code, { errors });
}

// Reads the caller's permissions again, because the caller may have lost some while the transaction waited for locks.
const isLacking = ({ principal }: Caller) => sql`not ${isHeldBy(everywhere(principal))}`;

/** SQL condition on a permission `p`: the caller lacks it, or this call has not proved what it asks for. */
const isUnusable = (entitled: Entitled) => sql`
  not (${isHeldBy(everywhere(entitled.caller.principal))} and ${isProved(entitled)})`;

/** SQL condition on a permission `p`: this call has proved what using it, and handing it out, asks for. */
const isProved = (entitled: Entitled): RawBuilder<unknown> => {
  const { principal } = entitled.caller;
  const isMet = isMetBy(everywhere(principal));
  const need = freshNeed(entitled);
  if (!need || principal.type !== 'user') return sql`(${isMet})`;
  const { acr, authTime } = provedBy(principal);
  const isFreshNow =
    acr !== null && levelsFrom(need.acr).includes(acr)
      ? sql`extract(epoch from clock_timestamp() - ${authTime}::timestamptz) <= ${need.maxAgeSeconds}::integer`
      : sql`false`;
  return sql`(${isMet} and (p.name <> all(${freshPermissions}::text[]) or ${isFreshNow}))`;
};

/**
 * Returns what handing out one of `freshPermissions` asks of the caller, as their operations do: a factor of those who have one,
 * else the password. Null for service accounts, and while nobody has a factor and nothing is required of anybody: changes of
 * roles and users are then as they were before there were factors. A personal access token is never fresh.
 */
function freshNeed({ caller, hasFactor, areFactorsInUse }: Entitled): Need | null {
  const { principal, proofMaxAgeSeconds, judgedAt } = caller;
  if (principal.type !== 'user') return null;
  if (isByToken(principal)) return { acr: 'aal1', maxAgeSeconds: proofMaxAgeSeconds };
  if (!areFactorsInUse && !isAnythingRequired({ ...caller, now: judgedAt })) return null;
  return { acr: hasFactor ? 'aal2' : 'aal1', maxAgeSeconds: proofMaxAgeSeconds };
}

/** Returns whether any permission may ask this caller for a proof before it is handed out. */
export const asksForProof = (entitled: Entitled): boolean =>
  entitled.caller.graph.permissions.hasNeeds || freshNeed(entitled) !== null;

/** A permission that this call cannot hand out. `is_held`: only a proof is missing. */
type Unusable = Pick<Row<'permissions'>, 'id' | 'name' | 'required_acr' | 'max_auth_age'> & {
  is_held: boolean;
};

const unusableColumns = ({ principal }: Caller) => sql`
  p.name, p.required_acr, p.max_auth_age, ${isHeldBy(everywhere(principal))} as is_held`;

/**
 * Throws `privilege_escalation` for the permissions that the caller lacks; `step_up_required` where only a proof is missing:
 * what a call may not do itself, it gives to nobody.
 */
function refuseUnusable(
  entitled: Entitled,
  rows: readonly Unusable[],
  errorsOf: (missing: ReadonlySet<string>) => { errors?: FieldError[] } = () => ({}),
): void {
  const lacking = rows.filter(({ is_held }) => !is_held);
  refuseWhatIsLacking(lacking, errorsOf(new Set(lacking.map(({ id }) => id))));
  const fresh = freshNeed(entitled);
  const need = rows
    .map((row) => (isFresh.has(row.name) ? bothOf(needIn(row), fresh) : needIn(row)))
    .reduce(bothOf, null);
  if (need) throw proofRequired(entitled.caller.principal, need);
}

function refuseWhatIsLacking(rows: readonly { name: string }[], more: { errors?: FieldError[] } = {}): void {
  if (rows.length === 0) return;
  throw new AppError('privilege_escalation', {
    detail: `You cannot grant permissions that you do not hold: ${named(rows)}.`,
    ...more,
  });
}

const named = (rows: readonly { name: string }[]): string =>
  [...new Set(rows.map(({ name }) => name))].sort().slice(0, MAX_NAMED).join(', ');
