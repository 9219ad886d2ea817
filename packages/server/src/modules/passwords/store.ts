// SQL of password_history and of the password columns of users. Nobody else writes those columns.
import { sql } from 'kysely';
import type { Db, Tx } from '../../database.ts';

export type PasswordHolder = {
  user_id: string;
  email: string;
  first_name: string;
  last_name: string;
  password_hash: string | null;
  password_epoch: number;
};

const columns = sql`id as user_id, email, first_name, last_name, password_hash, password_epoch`;

export async function findPasswordHolder(db: Db, userId: string): Promise<PasswordHolder | undefined> {
  const { rows } = await sql<PasswordHolder>`select ${columns} from users where id = ${userId}`.execute(db);
  return rows[0];
}

/** Also what a login has to look at once the password has been verified. */
export async function findPasswordHolderByEmail(
  db: Db,
  email: string,
): Promise<(PasswordHolder & { is_active: boolean; verified: boolean }) | undefined> {
  const { rows } = await sql<PasswordHolder & { is_active: boolean; verified: boolean }>`
    select ${columns}, is_active, verified from users where email = ${email}`.execute(db);
  return rows[0];
}

/** Hashes of the last `count` former passwords, newest first. */
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

/** Locks the user's row. Undefined when the user is gone; `now` is the transaction's time. */
export async function lockEpoch(
  tx: Tx,
  userId: string,
): Promise<{ password_epoch: number; is_active: boolean; now: Date } | undefined> {
  const { rows } = await sql<{ password_epoch: number; is_active: boolean; now: Date }>`
    select password_epoch, is_active, now() as now from users where id = ${userId} for update`.execute(tx);
  return rows[0];
}

/** Moves the present hash into the history, which keeps `historyCount`, and raises the epoch. */
export async function replaceHash(
  tx: Tx,
  user: { id: string; newHistoryId: string },
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
    update users set password_hash = ${hash}, password_epoch = password_epoch + 1, updated_at = now()
    where id = ${user.id}`.execute(tx);
}

/** The same password under newer parameters: neither history nor epoch changes. */
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
