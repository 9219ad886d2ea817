// SQL of users and user_roles. Password columns belong to the passwords module.
import { sql } from 'kysely';
import type { Db, Tx } from '../../database.ts';
import type { UserRecord } from './presentation.ts';

export type VersionedUser = UserRecord & { authz_version: string };

const userColumns = sql`
  u.id as user_id, u.email, u.first_name, u.last_name, u.is_active, u.is_superuser, u.verified, u.created_at, u.updated_at,
  array(select r.role_id from user_roles r where r.user_id = u.id) as role_ids,
  (select version from authz_version) as authz_version`;

export async function findUserById(db: Db, id: string): Promise<VersionedUser | undefined> {
  const { rows } = await sql<VersionedUser>`select ${userColumns} from users u where u.id = ${id}`.execute(
    db,
  );
  return rows[0];
}

/** The row stays locked until the transaction ends. */
export async function lockUser(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await sql`select from users where id = ${id} for update`.execute(tx);
  return rows.length === 1;
}

export async function insertUser(
  tx: Tx,
  user: {
    id: string;
    email: string;
    first_name: string;
    last_name: string;
    password_hash: string;
    verified: boolean;
    is_superuser?: boolean;
  },
): Promise<void> {
  await tx.insertInto('users').values(user).execute();
}

/** False when there is no role of this name. Names compare without regard to case. */
export async function addRoleByName(tx: Tx, userId: string, roleName: string): Promise<boolean> {
  const result = await sql`
    insert into user_roles (user_id, role_id) select ${userId}, id from roles where lower(name) = lower(${roleName})`.execute(
    tx,
  );
  return result.numAffectedRows === 1n;
}

export async function updateNames(
  tx: Tx,
  id: string,
  names: { first_name?: string | undefined; last_name?: string | undefined },
): Promise<void> {
  await sql`
    update users set first_name = coalesce(${names.first_name ?? null}, first_name),
                     last_name = coalesce(${names.last_name ?? null}, last_name), updated_at = now()
    where id = ${id}`.execute(tx);
}

/** False when it was verified already or the address has changed since the link was mailed. */
export async function markVerified(tx: Tx, id: string, email: string): Promise<boolean> {
  const result = await sql`
    update users set verified = true, updated_at = now() where id = ${id} and email = ${email} and not verified`.execute(
    tx,
  );
  return result.numAffectedRows === 1n;
}

/** Up to `limit` accounts that nobody verified within `hours`; the condition is judged again under each row's lock. */
export async function deleteUnverified(
  tx: Tx,
  hours: number,
  limit: number,
): Promise<{ id: string; email: string; created_at: Date }[]> {
  const stale = sql`is_active and not is_superuser and not verified and created_at < now() - make_interval(secs => ${hours * 3_600})`;
  const { rows: locked } = await sql<{ id: string }>`
    select id from users where ${stale} order by created_at limit ${limit} for update skip locked`.execute(
    tx,
  );
  const ids = locked.map((row) => row.id);
  if (ids.length === 0) return [];
  await sql`delete from user_roles where user_id = any(${ids}::uuid[])`.execute(tx);
  const { rows } = await sql<{ id: string; email: string; created_at: Date }>`
    delete from users where id = any(${ids}::uuid[]) and ${stale} returning id, email, created_at`.execute(
    tx,
  );
  return rows;
}
