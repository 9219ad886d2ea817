// SQL that imports users. Apart from the modules that own these tables, the seed and the demo, it is the only code that
// inserts into them. Triggers keep the counters.
// It must not change or delete a record.
import { administrativePermissions } from '@castellan/contract/permissions';
import { sql } from 'kysely';
import type { Db, Tx } from '../../schema/database.ts';
import type { NewUser } from './user-rows.ts';

export type NamedRole = {
  id: string;
  name: string;
  is_system: boolean;
  /** A permission to administer the service that the role has; null if it has none. */
  administers_by: string | null;
};

/**
 * Locks the roles of these names, in any case, until the transaction ends: they can neither be deleted nor gain
 * permissions.
 */
export async function lockRolesByName(tx: Tx, names: readonly string[]): Promise<NamedRole[]> {
  const { rows: locked } = await sql<{ id: string }>`
    select id from roles
    where lower(name) = any(array(select lower(n) from unnest(${names}::text[]) n))
    order by id for share`.execute(tx);
  // A second statement sees what a transaction wrote that the first one waited for.
  const { rows } = await sql<NamedRole>`
    select r.id, r.name, r.is_system,
      (select min(p.name) from role_permissions rp join permissions p on p.id = rp.permission_id
       where rp.role_id = r.id and p.name = any(${administrativePermissions}::text[])) as administers_by
    from roles r where r.id = any(${locked.map(({ id }) => id)}::uuid[])`.execute(tx);
  return rows;
}

/** Returns the ids of the users who have these emails. */
export async function findByEmails(db: Db, emails: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; email: string }>`
    select id, email from users where email = any(${emails}::text[])`.execute(db);
  return new Map(rows.map(({ id, email }) => [email, id]));
}

/** Returns those of the external ids that a user has. */
export async function findTakenExternalIds(db: Db, externalIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ external_id: string | null }>`
    select external_id from users where external_id = any(${externalIds}::text[])`.execute(db);
  return new Set(rows.flatMap(({ external_id }) => external_id ?? []));
}

/**
 * Who has an id. `former`: an account that was deleted, of which the clean-up has not yet removed every session and token;
 * they would belong to a new account with the id.
 */
export type IdOwner = 'user' | 'service_account' | 'former';

/** Returns those of the ids that are not free. */
export async function findTakenIds(db: Db, ids: readonly string[]): Promise<Map<string, IdOwner>> {
  const { rows } = await sql<{ id: string; owner: IdOwner }>`
    select k.id, owned.owner
    from unnest(${ids}::uuid[]) as k (id)
    cross join lateral (select case
      when exists (select from users u where u.id = k.id) then 'user'
      when exists (select from service_accounts a where a.id = k.id) then 'service_account'
      when exists (select from sessions s where s.user_id = k.id)
        or exists (select from session_tokens t where t.user_id = k.id)
        or exists (select from client_tokens c where c.service_account_id = k.id)
        or k.id in (select user_id from session_ends) then 'former'
      end as owner) owned
    where owned.owner is not null`.execute(db);
  return new Map(rows.map(({ id, owner }) => [id, owner]));
}

export type InsertedUser = Omit<NewUser, 'id' | 'roles'> & { id: string };

/** What is written as it is given; the times have defaults. */
const written = {
  id: true,
  email: true,
  first_name: true,
  last_name: true,
  password_hash: true,
  is_active: true,
  is_superuser: true,
  verified: true,
  must_change_password: true,
  external_id: true,
  language: true,
} satisfies Record<
  Exclude<
    keyof InsertedUser,
    'created_at' | 'updated_at' | 'invited_at' | 'deletion_due_at' | 'invite' | 'attributes'
  >,
  true
>;
const columns = Object.keys(written).join(', ');

/**
 * Inserts users, of whom the invited ones may use a link for `invitationHours` once it is mailed. Leaves out those whose email or
 * external id is already taken, and returns the ids of the others.
 */
export async function insertUsers(
  tx: Tx,
  users: readonly InsertedUser[],
  invitationHours: number,
): Promise<Set<string>> {
  const { rows } = await sql<{ id: string }>`
    insert into users (${sql.raw(columns)}, created_at, updated_at, invited_at, deletion_due_at, invitation_hours, invitation_expires_at)
    select ${sql.raw(columns)}, coalesce(created_at, now()), coalesce(updated_at, created_at, now()), invited_at, deletion_due_at,
      case when invited_at is not null then ${invitationHours}::smallint end,
      case when invited_at is not null then now() end
    from json_populate_recordset(null::users, ${JSON.stringify(users)}::json)
    on conflict do nothing
    returning id`.execute(tx);
  return new Set(rows.map(({ id }) => id));
}

/** Collects the statistics that the planner needs after so many rows. */
export async function analyzeUsers(db: Db): Promise<void> {
  await sql`analyze users, user_roles, user_marks`.execute(db);
}
