// SQL that compares what every affected user and service account holds before a change of access and after it.
// It reads only: it locks nothing, and no row per holder leaves the database.
import { sql } from 'kysely';
import { onlyRow } from '../../../platform/db/sql.ts';
import type { Tx } from '../../../schema/database.ts';

/** A permission that a role gets or loses. */
type ChangedPermission = { role_id: string; permission_id: string; added: boolean };
/** A role that a user or service account gets or loses. */
type ChangedRole = { subject_id: string; role_id: string; added: boolean };
/** The new state of a user or service account; null where it stays. */
type ChangedSubject = {
  id: string;
  is_active: boolean | null;
  is_superuser: boolean | null;
  is_deleted: boolean;
};

export type ImpactRow = {
  gaining: number;
  losing: number;
  /** Subjects that gain or lose. */
  affected: number;
  inactive: number;
  permissions: { name: string; gaining: number; losing: number }[];
  /** The first by name. The names of permissions are in no particular order. */
  subjects: {
    type: 'user' | 'service_account';
    id: string;
    name: string;
    gained: string[];
    lost: string[];
  }[];
};

/** Plans each statement of the transaction for its values: lists of one role and of a thousand need other plans. */
export async function planForValues(tx: Tx): Promise<void> {
  await sql`set local plan_cache_mode = force_custom_plan`.execute(tx);
}

type Changes = {
  permissions: readonly ChangedPermission[];
  roles: readonly ChangedRole[];
  subjects: readonly ChangedSubject[];
};

/** The change as tables. `direct` has the subjects that it names; all others are affected through their roles only. */
const changed = ({ permissions, roles, subjects }: Changes) => sql`
  changed_permission as materialized (
    select * from unnest(
      ${permissions.map((one) => one.role_id)}::uuid[], ${permissions.map((one) => one.permission_id)}::uuid[],
      ${permissions.map((one) => one.added)}::boolean[]) as t (role_id, permission_id, added)
  ), changed_role as materialized (
    select * from unnest(
      ${roles.map((one) => one.subject_id)}::uuid[], ${roles.map((one) => one.role_id)}::uuid[],
      ${roles.map((one) => one.added)}::boolean[]) as t (id, role_id, added)
  ), changed_subject as materialized (
    select * from unnest(
      ${subjects.map((one) => one.id)}::uuid[], ${subjects.map((one) => one.is_active)}::boolean[],
      ${subjects.map((one) => one.is_superuser)}::boolean[], ${subjects.map((one) => one.is_deleted)}::boolean[])
      as t (id, is_active, is_superuser, is_deleted)
  ), direct as materialized (
    select id from changed_role union select id from changed_subject
  )`;

/**
 * `universe` has the permissions that somebody may gain or lose, each with its place in the bit strings. `role` has what
 * each role gives of them, before and after the change.
 */
const bitStrings = sql`
  universe as materialized (
    select p.id, p.name, (row_number() over () - 1)::integer as at
    from permissions p
    where exists (select from changed_subject) or p.id in (select permission_id from changed_permission)
      or p.id in (select held.permission_id from changed_role c join role_permissions held on held.role_id = c.role_id)
  ), bits as materialized (
    select repeat('0', count(*)::integer)::varbit as none, repeat('1', count(*)::integer)::varbit as every
    from universe
  ), role as materialized (
    select role_id, bit_or(bit) filter (where was) as was, bit_or(bit) filter (where will) as will
    from (
      select held.role_id, set_bit(bits.none, universe.at, 1) as bit, true as was, c.role_id is null as will
      from bits cross join universe join role_permissions held on held.permission_id = universe.id
      left join changed_permission c
        on not c.added and c.role_id = held.role_id and c.permission_id = held.permission_id
      union all
      select c.role_id, set_bit(bits.none, universe.at, 1), false, true
      from bits cross join changed_permission c join universe on universe.id = c.permission_id where c.added
    ) each group by role_id
  )`;

/**
 * `state` has what the roles of each affected subject give, before and after. The holders of each kind are read from their
 * own view, because the planner has no statistics for those of all subjects; the ids of the roles tell it how many there are.
 */
const states = (roleIds: readonly string[]) => sql`
  state as (
    select 'user' as type, s.id, rtrim(s.first_name || ' ' || s.last_name) as name, s.is_active, s.is_superuser, was, will
    from (
      select held.user_id as id, bit_or(role.was) as was, bit_or(role.will) as will
      from held_user_roles held join role on role.role_id = held.role_id
      where held.user_id in (select user_id from held_user_roles where role_id = any(${roleIds}::uuid[]))
      group by held.user_id
    ) mask join users s on s.id = mask.id
    where not s.is_superuser and not exists (select from direct where direct.id = mask.id)
    union all
    select 'service_account', s.id, s.name, s.is_active, false, was, will
    from (
      select held.service_account_id as id, bit_or(role.was) as was, bit_or(role.will) as will
      from held_account_roles held join role on role.role_id = held.role_id
      where held.service_account_id in (
        select service_account_id from held_account_roles where role_id = any(${roleIds}::uuid[]))
      group by held.service_account_id
    ) mask join service_accounts s on s.id = mask.id
    where not exists (select from direct where direct.id = mask.id)
    union all
    select s.type, s.id, s.name, s.is_active, s.is_superuser, was, will
    from (
      select id, bit_or(was) as was, bit_or(will) as will
      from (
        select direct.id, role.was, case when c.id is null then role.will end as will
        from direct join held_roles held on held.subject_id = direct.id
        join role on role.role_id = held.role_id
        left join changed_role c on not c.added and c.id = held.subject_id and c.role_id = held.role_id
        union all
        select c.id, null, role.will from changed_role c join role on role.role_id = c.role_id where c.added
        union all
        select id, null, null from direct
      ) link group by id
    ) mask join subjects s on s.id = mask.id
  )`;

/**
 * `net` has what each affected subject gains and loses. A subject that is inactive before and after (`is_dormant`) is
 * compared as if it were active.
 */
const comparison = sql`
  compared as (
    select s.type, s.id, s.name, bits.none, not s.is_active and c.is_active is not true as is_dormant,
      s.is_active as was_active, coalesce(c.is_active, s.is_active) as will_be_active,
      case when s.is_superuser then bits.every else coalesce(s.was, bits.none) end as was,
      case when c.is_deleted then bits.none when coalesce(c.is_superuser, s.is_superuser) then bits.every
        else coalesce(s.will, bits.none) end as will
    from bits cross join state s left join changed_subject c on c.id = s.id
  ), effective as (
    select type, id, name, is_dormant, none,
      case when is_dormant or was_active then was else none end as was,
      case when is_dormant or will_be_active then will else none end as will
    from compared
  ), net as materialized (
    select type, id, name, is_dormant, will & ~was as gained, was & ~will as lost,
      will & ~was <> none as is_gaining, was & ~will <> none as is_losing
    from effective where was <> will
  )`;

/** The counts of each permission are made from pieces of 10 bits, of which there are at most 1,024 different ones. */
const countsAndNames = (named: number) => sql`
  piece as (
    select at, is_gain, value, count(*)::integer as subjects
    from (
      select at, true as is_gain, substring(gained from at * 10 + 1 for 10)::bit(10)::integer as value
      from bits cross join generate_series(0, (length(bits.none) - 1) / 10) as at cross join net
      where is_gaining and not is_dormant
      union all
      select at, false, substring(lost from at * 10 + 1 for 10)::bit(10)::integer
      from bits cross join generate_series(0, (length(bits.none) - 1) / 10) as at cross join net
      where is_losing and not is_dormant
    ) part where value <> 0 group by at, is_gain, value
  ), counts as (
    select universe.name, coalesce(sum(subjects) filter (where is_gain), 0) as gaining,
      coalesce(sum(subjects) filter (where not is_gain), 0) as losing
    from universe join piece on piece.at = universe.at / 10 and (piece.value >> (9 - universe.at % 10)) & 1 = 1
    group by universe.name
  ), named as (
    select * from net where not is_dormant order by lower(name), type, id limit ${named}
  )`;

/**
 * Returns the impact of a change with the names of the first `named` subjects, in one statement. Each permission that it concerns is a place in a bit string, and a
 * subject holds the union of the strings of its roles. So the cost of a holder hardly depends on how many permissions its
 * roles have, and it does not matter whether any two holders have the same roles. Measured on PostgreSQL 15 with 100,000
 * holders who all have different roles, among 200,000 users: 0.4 s for a role that gets one permission, 0.6 s for 10,
 * 1.2 s for 100.
 */
export async function compareHoldings(tx: Tx, changes: Changes, named: number): Promise<ImpactRow> {
  const roleIds = [...new Set(changes.permissions.map(({ role_id }) => role_id))];
  const result = await sql<ImpactRow>`
    with ${changed(changes)}, ${bitStrings}, ${states(roleIds)}, ${comparison}, ${countsAndNames(named)}
    select (select count(*) from net where is_gaining and not is_dormant)::integer as gaining,
      (select count(*) from net where is_losing and not is_dormant)::integer as losing,
      (select count(*) from net where not is_dormant)::integer as affected,
      (select count(*) from net where is_dormant)::integer as inactive,
      coalesce((select json_agg(counts) from counts), '[]'::json) as permissions,
      coalesce((
        select json_agg(json_build_object('type', type, 'id', id, 'name', name,
          'gained', array(select universe.name from universe where get_bit(gained, at) = 1),
          'lost', array(select universe.name from universe where get_bit(lost, at) = 1))
          order by lower(name), type, id)
        from named), '[]'::json) as subjects`.execute(tx);
  return onlyRow(result);
}
