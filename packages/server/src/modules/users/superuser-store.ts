// SQL about superusers: making one, and whether one remains.
import { sql } from 'kysely';
import type { Tx } from '../../database.ts';
import { lockUntilCommit } from '../../platform/db/sql.ts';

type Standing = { user_id: string; is_superuser: boolean; is_active: boolean; verified: boolean };

/** The row stays locked until the transaction ends. */
export async function lockUserByEmail(tx: Tx, email: string): Promise<Standing | undefined> {
  const { rows } = await sql<Standing>`
    select id as user_id, is_superuser, is_active, verified from users where email = ${email} for update`.execute(
    tx,
  );
  return rows[0];
}

export async function raiseToSuperuser(tx: Tx, id: string): Promise<void> {
  await sql`
    update users set is_superuser = true, is_active = true, verified = true, updated_at = now() where id = ${id}`.execute(
    tx,
  );
}

/**
 * After a change that takes a superuser away: whether somebody is left who can sign in as one. The answer holds until
 * the transaction ends, because whoever takes another one away waits here. Locks of user rows come before.
 */
export async function isSuperuserLeft(tx: Tx): Promise<boolean> {
  await lockUntilCommit('users.is_superuser').execute(tx);
  // A statement of its own: it sees what was committed while the lock was waited for.
  const { rows } = await sql<{ left: boolean }>`
    select exists (select from users where is_superuser and is_active and verified) as "left"`.execute(tx);
  return rows[0]?.left ?? false;
}

/** As the seed's superuser has it, for those who count holders of the role. */
export async function addAdminRole(tx: Tx, id: string): Promise<void> {
  await sql`
    insert into user_roles (user_id, role_id) select ${id}, id from roles where is_system and lower(name) = 'admin'`.execute(
    tx,
  );
}
