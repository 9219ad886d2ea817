// SQL that fills an empty database with a made-up company. Apart from the modules that own these tables and the seed, it
// is the only code that inserts into them. Triggers keep the counters and the stamp of the graph.
// It must not change or delete a record.
import { sql } from 'kysely';
import type { Db, Tx } from '../../schema/database.ts';
import type { Attribute } from './attributes.ts';
import type { Role, RoleGroup, ServiceAccount } from './company.ts';
import { INVITATION_HOURS, type LastLogin, type LiveSession, type Lock, type Person } from './people.ts';

/** Names of the records that the start creates. */
export type Seeded = {
  roles: readonly string[];
  roleGroups: readonly string[];
  permissionGroups: readonly string[];
};

/** Number of records that neither the seed created nor a superuser is, by what they are. */
export type Found = Readonly<
  Record<
    'user' | 'role' | 'role group' | 'permission' | 'permission group' | 'service account' | 'user attribute',
    number
  >
>;

export async function countRecords(db: Db, seeded: Seeded): Promise<Found> {
  const { rows } = await sql<Found>`
    select (select count(*) from users where not is_superuser)::integer as "user",
      (select count(*) from roles where name <> all(${seeded.roles}::text[]))::integer as "role",
      (select count(*) from role_groups where name <> all(${seeded.roleGroups}::text[]))::integer as "role group",
      (select count(*) from permissions where not is_builtin)::integer as "permission",
      (select count(*) from permission_groups where name <> all(${seeded.permissionGroups}::text[]))::integer
        as "permission group",
      (select count(*) from service_accounts)::integer as "service account",
      (select count(*) from user_attributes)::integer as "user attribute"`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('the records were not counted');
  return row;
}

/**
 * Keeps other fillings out until the end of the transaction, and everybody from creating users. Returns false if another
 * filling runs. Throws `lock_not_available` (55P03) if users are being written for longer than the lock timeout.
 */
export async function lockForFilling(tx: Tx): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtext('castellan demo')) as locked`.execute(tx);
  if (rows[0]?.locked !== true) return false;
  await sql`lock table users in share row exclusive mode`.execute(tx);
  return true;
}

type Start = { now: Date; creatorId: string | null; reservedEmails: ReadonlySet<string> };

/** Returns the database's time, the superuser that was created first, and the addresses of all users. */
export async function readStart(tx: Tx): Promise<Start> {
  const { rows } = await sql<{ now: Date; creator_id: string | null; emails: string[] }>`
    select now() as now, (select id from users where is_superuser order by created_at, id limit 1) as creator_id,
      array(select email from users) as emails`.execute(tx);
  const [row] = rows;
  if (!row) throw new Error('the time was not read');
  return { now: row.now, creatorId: row.creator_id, reservedEmails: new Set(row.emails) };
}

type NewRecord = { id: string; name: string; description: string };

export async function insertPermissionGroups(
  tx: Tx,
  groups: readonly (NewRecord & { parent: string | null })[],
): Promise<void> {
  for (const { id, name, description, parent } of groups)
    await sql`
      insert into permission_groups (id, name, description, parent_id)
      values (${id}, ${name}, ${description}, (select id from permission_groups where name = ${parent}))`.execute(
      tx,
    );
}

type WithId<T> = T & { id: string };

/** Inserts the groups, in which a parent comes before its children. */
export async function insertRoleGroups(tx: Tx, groups: readonly WithId<RoleGroup>[]): Promise<void> {
  const ids = idsOf(groups);
  await tx
    .insertInto('role_groups')
    .values(groups.map(({ parent, ...group }) => ({ ...group, parent_id: ids.get(parent) ?? null })))
    .execute();
}

const idsOf = (groups: readonly WithId<RoleGroup>[]): ReadonlyMap<string | null, string> =>
  new Map(groups.map(({ id, name }) => [name, id]));

/** Inserts the permissions and gives them to the system roles, which hold every permission. */
export async function insertPermissions(
  tx: Tx,
  permissions: readonly { id: string; name: string; group: string }[],
): Promise<void> {
  await sql`
    insert into permissions (id, name, group_id)
    select p.id, p.name, g.id
    from json_to_recordset(${JSON.stringify(permissions)}::json) as p (id uuid, name text, "group" text)
    join permission_groups g on g.name = p."group"`.execute(tx);
  await sql`
    insert into role_permissions (role_id, permission_id)
    select r.id, p.id from roles r cross join permissions p where r.is_system
    on conflict do nothing`.execute(tx);
}

/** Inserts the roles with their groups and permissions. */
export async function insertRoles(
  tx: Tx,
  roles: readonly WithId<Role>[],
  { groups, creatorId }: { groups: readonly WithId<RoleGroup>[]; creatorId: string | null },
): Promise<void> {
  const ids = idsOf(groups);
  const rows = JSON.stringify(roles.map(({ id, permissions }) => ({ id, permissions })));
  await tx
    .insertInto('roles')
    .values(
      roles.map(({ group, permissions: _, ...role }) => ({
        ...role,
        role_group_id: ids.get(group) ?? null,
        created_by_id: creatorId,
      })),
    )
    .execute();
  await sql`
    insert into role_group_roles (role_group_id, role_id)
    select r.role_group_id, r.id from roles r
    join json_to_recordset(${rows}::json) as made (id uuid) on made.id = r.id`.execute(tx);
  await sql`
    insert into role_permissions (role_id, permission_id)
    select made.id, p.id
    from json_to_recordset(${rows}::json) as made (id uuid, permissions json)
    cross join json_array_elements_text(made.permissions) as held (name)
    join permissions p on p.name = held.name`.execute(tx);
}

export async function insertServiceAccounts(
  tx: Tx,
  accounts: readonly WithId<ServiceAccount>[],
): Promise<void> {
  await tx
    .insertInto('service_accounts')
    .values(accounts.map(({ roles: _, ...account }) => account))
    .execute();
}

const person = {
  id: true,
  email: true,
  first_name: true,
  last_name: true,
  is_active: true,
  verified: true,
  must_change_password: true,
  external_id: true,
  pending_registration: true,
  language: true,
} satisfies Record<keyof Omit<Person, 'age_s' | 'is_invited'>, true>;
const columns = Object.keys(person).join(', ');

/** Inserts users. Those who may sign in get the hash; without one, nobody can sign in. */
export async function insertPeople(
  tx: Tx,
  people: readonly Person[],
  passwordHash: string | null,
): Promise<void> {
  await sql`
    insert into users (${sql.raw(columns)}, password_hash, created_at, updated_at,
      invited_at, invitation_sent_at, invitation_hours, invitation_expires_at)
    select ${sql.raw(columns)}, case when is_active and verified then ${passwordHash}::text end, made.at, made.at,
      invited.at, invited.at, invited.hours, invited.at + make_interval(hours => invited.hours)
    from json_array_elements(${JSON.stringify(people)}::json) as item
    cross join json_populate_record(null::users, item)
    cross join lateral (select now() - (item ->> 'age_s')::integer * interval '1 second' as at) as made
    left join lateral (select made.at, ${INVITATION_HOURS}::integer as hours) as invited on (item ->> 'is_invited')::boolean`.execute(
    tx,
  );
}

export async function insertAttributes(
  tx: Tx,
  attributes: readonly WithId<Attribute>[],
  creatorId: string | null,
): Promise<void> {
  await tx
    .insertInto('user_attributes')
    .values(attributes.map((attribute) => ({ ...attribute, created_by_id: creatorId })))
    .execute();
}

/** A value of an attribute; `key`: what equal values share, in hexadecimal digits. */
export type WrittenValue = { user_id: string; name: string; value: unknown; key: string };

export async function insertAttributeValues(tx: Tx, values: readonly WrittenValue[]): Promise<void> {
  await sql`
    insert into user_attribute_values (user_id, attribute_id, value, key, is_unique)
    select made.user_id, a.id, made.value, decode(made.key, 'hex'), a."unique"
    from jsonb_to_recordset(${JSON.stringify(values)}::jsonb) as made (user_id uuid, name text, value jsonb, key text)
    join user_attributes a on a.name = made.name`.execute(tx);
}

/** Inserts sessions without tokens: they are shown, and nobody can use them. Factors come first: they need a proof. */
export async function insertSessions(tx: Tx, sessions: readonly LiveSession[]): Promise<void> {
  await sql`
    insert into sessions (id, user_id, origin_address, user_agent, proof, created_at, last_used_at, expires_at)
    select id, user_id, address, user_agent, proof, now() - age_s * interval '1 second',
      now() - last_used_age_s * interval '1 second',
      now() + (lifetime_s - last_used_age_s) * interval '1 second'
    from json_to_recordset(${JSON.stringify(sessions)}::json) as s (id uuid, user_id uuid, address text, user_agent text,
      proof text, age_s integer, last_used_age_s integer, lifetime_s float8)`.execute(tx);
}

export async function insertLastLogins(tx: Tx, logins: readonly LastLogin[]): Promise<void> {
  await sql`
    insert into last_logins (user_id, logged_in_at)
    select user_id, now() - age_s * interval '1 second'
    from json_to_recordset(${JSON.stringify(logins)}::json) as l (user_id uuid, age_s integer)`.execute(tx);
}

export async function insertLocks(
  tx: Tx,
  locks: readonly Lock[],
  limits: { lockoutAttempts: number; lockoutMinutes: number },
): Promise<void> {
  await sql`
    insert into login_attempts (email, failures, locked_until)
    select email, ${limits.lockoutAttempts}::integer,
      now() + ${limits.lockoutMinutes}::float8 * interval '1 minute' - age_s * interval '1 second'
    from json_to_recordset(${JSON.stringify(locks)}::json) as l (email text, age_s integer)`.execute(tx);
}

/** Collects the statistics that the planner needs after so many rows. */
export async function analyzeFilled(db: Db): Promise<void> {
  await sql`analyze users, user_roles, sessions, last_logins, login_attempts, totp_factors, passkeys,
    recovery_codes, user_marks, user_attribute_values, audit_logs`.execute(db);
}
