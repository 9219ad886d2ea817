// SQL of users and user_roles. Password columns belong to the passwords module.
import { sql } from 'kysely';
import type { Db, Tx } from '../../database.ts';
import { userColumns, type VersionedUser } from './presentation.ts';

export async function findUserById(db: Db, id: string): Promise<VersionedUser | undefined> {
  return (await findUsersByIds(db, [id]))[0];
}

/** In no particular order; ids that name nobody are left out. */
export async function findUsersByIds(db: Db, ids: readonly string[]): Promise<VersionedUser[]> {
  const { rows } = await sql<VersionedUser>`
    select ${userColumns} from users u where u.id = any(${ids}::uuid[])`.execute(db);
  return rows;
}

/** The rows stay locked until the transaction ends; two who lock several never wait for each other in a circle. */
export async function lockUsers(tx: Tx, ids: readonly string[]): Promise<VersionedUser[]> {
  // Not `for update`: whoever makes records without a pause, and so is referred to all the time, would keep others from
  // taking his rights.
  await sql`select from users where id = any(${ids}::uuid[]) order by id for no key update`.execute(tx);
  // A statement of its own: it sees what was committed while the first one waited.
  return findUsersByIds(tx, ids);
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
    insert into user_roles (user_id, role_id) select ${userId}, id from roles where lower(name) = lower(${roleName}) and not is_system`.execute(
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

/** Sessions, tokens and former passwords go with it; roles still assigned refuse it. */
export async function deleteUserRow(tx: Tx, id: string): Promise<void> {
  await sql`delete from users where id = ${id}`.execute(tx);
}
