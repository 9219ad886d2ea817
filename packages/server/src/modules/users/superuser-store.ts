// SQL that creates superusers and checks whether one remains.
import { sql } from 'kysely';
import { lockUntilCommit } from '../../platform/db/sql.ts';
import type { Row, Tx } from '../../schema/database.ts';

type SuperuserState = Pick<Row<'users'>, 'is_superuser' | 'is_active' | 'verified'> & { user_id: string };

/** Locks the user's row until the transaction ends. Returns undefined if there is no such user. */
export async function lockUserByEmail(tx: Tx, email: string): Promise<SuperuserState | undefined> {
  const { rows } = await sql<SuperuserState>`
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
 * Returns whether a superuser who can sign in remains. Call it after a change that removes a superuser, with the users'
 * rows locked. The result holds until the transaction ends, because other such transactions wait for the same lock.
 */
export async function isSuperuserLeft(tx: Tx): Promise<boolean> {
  await lockUntilCommit('users.is_superuser').execute(tx);
  // A separate statement, so that it sees what was committed while this one waited for the lock.
  const { rows } = await sql<{ left: boolean }>`
    select exists (select from users where is_superuser and is_active and verified) as "left"`.execute(tx);
  return rows[0]?.left ?? false;
}
