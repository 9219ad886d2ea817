// SQL of users. Password columns belong to the passwords module.
import type { changeableFields } from '@castellan/contract/users';
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { isRemovedAfter } from '../../schema/attention.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import { userColumns } from '../../schema/user-record.ts';
import type { Entitled } from '../authz/change.ts';
import type { VersionedUser } from './presentation.ts';

export async function findUserById(db: Db, id: string): Promise<VersionedUser | undefined> {
  return (await findUsersByIds(db, [id]))[0];
}

/** Returns the users in no particular order. Leaves out unknown ids. */
export async function findUsersByIds(db: Db, ids: readonly string[]): Promise<VersionedUser[]> {
  const { rows } = await sql<VersionedUser>`
    select ${sql.raw(userColumns)} from users u where u.id = any(${ids}::uuid[])`.execute(db);
  return rows;
}

/** Locks the user's row until the transaction ends. Returns whether the user exists. */
export async function lockUser(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await sql`select from users where id = ${id} for update`.execute(tx);
  return rows.length === 1;
}

type NewUser = Pick<Row<'users'>, 'id' | 'email' | 'first_name' | 'last_name'> & { password_hash: string };

/** Inserts a verified user for an administrator. */
export async function insertUser(
  { tx }: Entitled,
  user: NewUser & Pick<Row<'users'>, keyof typeof changeableFields>,
): Promise<void> {
  await tx.insertInto('users').values(user).execute();
}

/** Inserts a user who registers. The clean-up removes the account if it is not verified. */
export async function insertRegistration(
  tx: Tx,
  user: NewUser & Pick<Row<'users'>, 'language'>,
): Promise<void> {
  await tx
    .insertInto('users')
    .values({ ...user, verified: false, pending_registration: true })
    .execute();
}

/** Inserts a user whom an identity provider vouches for: verified, without a password. Returns the transaction's time. */
export async function insertVouched(
  tx: Tx,
  user: Omit<NewUser, 'password_hash'> & Pick<Row<'users'>, 'language'>,
): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`
    insert into users (id, email, first_name, last_name, password_hash, language, verified)
    values (${user.id}, ${user.email}, ${user.first_name}, ${user.last_name}, null, ${user.language}, true)
    returning now() as now`.execute(tx);
  return onlyRow({ rows }).now;
}

/** Inserts a superuser for the command line. */
export async function insertSuperuser(tx: Tx, user: NewUser): Promise<void> {
  await tx
    .insertInto('users')
    .values({ ...user, verified: true, is_superuser: true })
    .execute();
}

/** Gives the record a new version, because something that belongs to it changed. */
export async function touchUser({ tx }: Entitled, id: string): Promise<void> {
  await sql`update users set updated_at = now() where id = ${id}`.execute(tx);
}

/** Stores the language of the user's mails. Call it only for a request that proves the account. */
export async function recordLanguage(tx: Tx, id: string, language: string): Promise<void> {
  await sql`
    update users set language = ${language} where id = ${id} and language is distinct from ${language}`.execute(
    tx,
  );
}

export async function updateNames(
  { tx }: Entitled,
  id: string,
  names: { first_name?: string | undefined; last_name?: string | undefined },
): Promise<void> {
  await sql`
    update users set first_name = coalesce(${names.first_name ?? null}, first_name),
                     last_name = coalesce(${names.last_name ?? null}, last_name), updated_at = now()
    where id = ${id}`.execute(tx);
}

/** Sets the names of a user, whose row is locked, on behalf of nobody. */
export async function setNames(
  tx: Tx,
  id: string,
  names: Pick<Row<'users'>, 'first_name' | 'last_name'>,
): Promise<void> {
  await sql`
    update users set first_name = ${names.first_name}, last_name = ${names.last_name}, updated_at = now()
    where id = ${id}`.execute(tx);
}

/**
 * Marks the email as verified. Returns false if it already was, or if the email has changed since the link was mailed.
 */
export async function markVerified(tx: Tx, id: string, email: string): Promise<boolean> {
  const result = await sql`
    update users set verified = true, updated_at = now() where id = ${id} and email = ${email} and not verified`.execute(
    tx,
  );
  return result.numAffectedRows === 1n;
}

/**
 * Reactivates a user whose row is locked if the account waits for the deletion that its owner planned. Returns whether it did; an
 * account that an administrator deactivated waits for none.
 */
export async function endOwnDeletion(tx: Tx, id: string): Promise<boolean> {
  const result = await sql`
    update users set is_active = true, deletion_due_at = null, updated_at = now()
    where id = ${id} and deletion_due_at is not null`.execute(tx);
  return result.numAffectedRows === 1n;
}

/**
 * Ends the invitation of a user whose row is locked: verified, with these names. Returns false if the user is no longer invited, or has
 * another email.
 */
export async function markAccepted(
  tx: Tx,
  id: string,
  { email, first_name, last_name }: Pick<Row<'users'>, 'email' | 'first_name' | 'last_name'>,
): Promise<boolean> {
  // The database ends the invitation with the verification: see migration 0070.
  const result = await sql`
    update users set verified = true, first_name = ${first_name}, last_name = ${last_name}, updated_at = now()
    where id = ${id} and email = ${email} and invited_at is not null`.execute(tx);
  return result.numAffectedRows === 1n;
}

type Registration = Pick<Row<'users'>, 'id' | 'email' | 'created_at'>;

/** Locks up to `limit` registered accounts that were not verified within `hours`. Returns their ids. */
export async function lockUnverified(tx: Tx, hours: number, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select u.id from users u where ${isRemovedAfter(hours)} order by u.created_at limit ${limit}
    for update skip locked`.execute(tx);
  return rows.map(({ id }) => id);
}

/** Deletes those of the locked accounts that are still not verified, and returns them. They must have no roles. */
export async function deleteUnverified(
  tx: Tx,
  ids: readonly string[],
  hours: number,
): Promise<Registration[]> {
  const { rows } = await sql<Registration>`
    delete from users u where u.id = any(${ids}::uuid[]) and ${isRemovedAfter(hours)}
    returning u.id, u.email, u.created_at`.execute(tx);
  return rows;
}

// An account is not pending if its email was ever verified, or if an administrator created it.
const isPending = sql`pending_registration and is_active and not is_superuser`;

export async function isPendingRegistration(db: Db | Tx, id: string): Promise<boolean> {
  const { rows } = await sql`select from users where id = ${id} and ${isPending}`.execute(db);
  return rows.length === 1;
}

/** Deletes a user whose row is locked, on behalf of nobody. Fails if the user still has roles. */
export async function deleteUnattended(tx: Tx, id: string): Promise<void> {
  await sql`delete from users where id = ${id}`.execute(tx);
}

/**
 * Deletes the user with former passwords and links; the clean-up deletes sessions and tokens later. Fails if the user
 * still has roles.
 */
export async function deleteUserRow({ tx }: Entitled, id: string): Promise<void> {
  await sql`delete from users where id = ${id}`.execute(tx);
}
