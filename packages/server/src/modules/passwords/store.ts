// SQL of password_history and of the password columns of users. No other file updates those columns.
import { sql } from 'kysely';
import {
  type CredentialHolder,
  credentialColumns,
  type PasswordHolder,
  passwordColumns,
} from '../../schema/credential-holder.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';

type User = Row<'users'>;

export async function findPasswordHolder(db: Db, userId: string): Promise<PasswordHolder | undefined> {
  const { rows } =
    await sql<PasswordHolder>`select ${sql.raw(passwordColumns)} from users where id = ${userId}`.execute(db);
  return rows[0];
}

/** Returns also the flags that a sign-in checks after the password. */
export async function findPasswordHolderByEmail(
  db: Db,
  email: string,
): Promise<CredentialHolder | undefined> {
  const { rows } = await sql<CredentialHolder>`
    select ${sql.raw(credentialColumns)} from users where email = ${email}`.execute(db);
  return rows[0];
}

/** Returns the hashes of the last `count` former passwords, newest first. */
export async function findFormerHashes(db: Db, userId: string, count: number): Promise<string[]> {
  const rows = await db
    .selectFrom('password_history')
    .select('password_hash')
    .where('user_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(count)
    .execute();
  return rows.map((row) => row.password_hash);
}

export type LockedHolder = Pick<
  User,
  'email' | 'password_epoch' | 'session_epoch' | 'is_active' | 'verified' | 'language' | 'recovery_pending'
> & {
  /** Whether the account has an app, a passkey or a security key now. */
  has_factor: boolean;
  /** The transaction's time. */
  now: Date;
};

/** Locks the user's row. Returns undefined if there is no such user. */
export async function lockEpoch(tx: Tx, userId: string): Promise<LockedHolder | undefined> {
  // The factors are read from what the transaction before left: it held the same lock.
  const { rows } = await sql<LockedHolder>`
    select email, password_epoch, session_epoch, is_active, verified, language, recovery_pending, now() as now,
      has_factor
    from users where id = ${userId} for update`.execute(tx);
  return rows[0];
}

/**
 * Moves the current hash into the history, which keeps `historyCount` hashes, and raises the password epoch. `byUser`:
 * the user chose the new password, so they no longer need to change it.
 */
export async function replaceHash(
  tx: Tx,
  user: { id: string; newHistoryId: string; byUser: boolean },
  hash: string,
  historyCount: number,
): Promise<void> {
  await sql`
    insert into password_history (id, user_id, password_hash)
    select ${user.newHistoryId}, id, password_hash from users where id = ${user.id} and password_hash is not null`.execute(
    tx,
  );
  await sql`
    delete from password_history where user_id = ${user.id} and id not in (
      select id from password_history where user_id = ${user.id} order by created_at desc, id desc limit ${historyCount})`.execute(
    tx,
  );
  await sql`
    update users set password_hash = ${hash}, password_epoch = password_epoch + 1, updated_at = now(),
      must_change_password = must_change_password and not ${user.byUser}::boolean
    where id = ${user.id}`.execute(tx);
}

/** Removes the password and its history, and raises the password epoch. Call it with the lock of the user's row. */
export async function removePassword(tx: Tx, userId: string): Promise<void> {
  await sql`delete from password_history where user_id = ${userId}`.execute(tx);
  await sql`
    update users set password_hash = null, password_epoch = password_epoch + 1, must_change_password = false,
      updated_at = now()
    where id = ${userId}`.execute(tx);
}

/** Stores a new hash of the same password. Changes neither the history nor the password epoch. */
export async function replaceHashInPlace(
  db: Db,
  userId: string,
  oldHash: string,
  newHash: string,
): Promise<void> {
  await sql`
    update users set password_hash = ${newHash} where id = ${userId} and password_hash = ${oldHash}`.execute(
    db,
  );
}
