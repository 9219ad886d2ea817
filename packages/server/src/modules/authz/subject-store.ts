// SQL that finds users, service accounts and roles by reference, with the fields for a decision or for a presentation.
// It must not decide anything, nor read permissions: the graph holds those.
import { type SubjectNotice, type SubjectType, subjectTypes } from '@castellan/contract/decisions';
import type { Pool } from 'pg';
import { onlyRow } from '../../platform/db/sql.ts';

/** Either the id is set, or what is looked for in turn: the name, which of a user is the canonical email, and the external id. */
export type SubjectKey = { type: string; id: string | null; name: string | null; externalId: string | null };

/** What a decision needs. */
export type SubjectRow = {
  type: SubjectType;
  id: string;
  is_active: boolean;
  is_superuser: boolean;
  role_ids: string[];
};

export type FoundSubjects = {
  /** In the order of the keys; undefined for unknown ones. */
  subjects: readonly (SubjectRow | undefined)[];
  /** Stamp of the role → permission graph in the same snapshot. */
  stamp: string;
};

// Each key runs the branch of its type alone, by indexes: `limit` keeps the planner from joining whole tables, however
// many keys it expects. The arrays are in subqueries as in token-lookup.ts. One text with all subjects costs a fraction of
// one row per subject.
const statement = {
  name: 'subjects-by-reference',
  text: `
    select (select stamp from authz_version) as stamp, string_agg(s.line, '|') as lines
    from unnest((select $1::text[]), (select $2::uuid[]), (select $3::text[]), (select $4::text[]))
      with ordinality as k (type, id, name, external_id, ordinal)
    cross join lateral (
      select k.ordinal || ',' || u.id || ',' || u.is_active || ',' || u.is_superuser || ','
        || array_to_string(array(select r.role_id from held_user_roles r where r.user_id = u.id), ' ') as line
      from users u
      where k.type = 'user' and u.id = coalesce(k.id,
        (select named.id from users named where named.email = k.name),
        (select named.id from users named where named.external_id = k.external_id))
      union all
      select k.ordinal || ',' || a.id || ',' || a.is_active || ',false,' || array_to_string(array(
        select r.role_id from held_account_roles r where r.service_account_id = a.id), ' ')
      from service_accounts a
      where k.type = 'service_account' and a.id = coalesce(k.id,
        (select named.id from service_accounts named where lower(named.name) = lower(k.name)),
        (select named.id from service_accounts named where named.external_id = k.external_id))
      union all
      select k.ordinal || ',' || r.id || ',true,false,' || r.id
      from roles r
      where k.type = 'role' and r.id = coalesce(k.id,
        (select named.id from roles named where lower(named.name) = lower(k.name)))
      limit 1
    ) s`,
};

/** Returns the subjects from one snapshot. */
export async function findSubjects(pool: Pool, keys: readonly SubjectKey[]): Promise<FoundSubjects> {
  const { rows } = await pool.query<{ stamp: string; lines: string | null }>({
    ...statement,
    values: [
      keys.map((one) => one.type),
      keys.map((one) => one.id),
      keys.map((one) => one.name),
      keys.map((one) => one.externalId),
    ],
  });
  const { stamp, lines } = onlyRow({ rows });
  const subjects = Array<SubjectRow | undefined>(keys.length).fill(undefined);
  for (const line of lines?.split('|') ?? []) {
    const [ordinal, id = '', active, superuser, roles] = line.split(',');
    const index = Number(ordinal) - 1;
    const type = subjectTypes.find((one) => one === keys[index]?.type);
    if (type)
      subjects[index] = {
        type,
        id,
        is_active: active === 'true',
        is_superuser: superuser === 'true',
        role_ids: roles ? roles.split(' ') : [],
      };
  }
  return { subjects, stamp };
}

/** The fields that present a subject. */
export type SubjectDetails = {
  /** First and last name of a user, otherwise the name of the record. */
  name: string;
  notices: SubjectNotice[];
};

const details = {
  name: 'subject-details',
  text: `
    select rtrim(u.first_name || ' ' || u.last_name) as name, array_remove(array[
      case when exists (
        select from login_attempts a where a.email = u.email and a.locked_until > clock_timestamp()) then 'locked' end,
      case when not u.verified then 'unverified' end], null) as notices
    from users u where $1::text = 'user' and u.id = $2::uuid
    union all
    select a.name, array[]::text[] from service_accounts a where $1::text = 'service_account' and a.id = $2::uuid
    union all
    select r.name, array[]::text[] from roles r where $1::text = 'role' and r.id = $2::uuid`,
};

/** Returns the fields that present a subject; undefined if it has been deleted since it was found. */
export async function findDetails(
  pool: Pool,
  { type, id }: Pick<SubjectRow, 'type' | 'id'>,
): Promise<SubjectDetails | undefined> {
  const { rows } = await pool.query<SubjectDetails>({ ...details, values: [type, id] });
  return rows[0];
}
