// SQL of erasures: what goes with the account, and where each of those that are not finished goes on.
import { sql } from 'kysely';
import type { PageKey } from '../../platform/cursors.ts';
import { keyTime } from '../../platform/db/sql.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';

type Erasure = Row<'erasures'>;

/**
 * Deletes the rows of mails that were sent to the account, or given up, and what limits count of its address; likewise of its former
 * addresses that no other account has, with failed sign-ins to these. Mails that wait have no recipient without the account, and go by
 * themselves. Call it before the account is deleted.
 */
export async function forgetMails(
  tx: Tx,
  { user_id, email }: Pick<Erasure, 'user_id' | 'email'>,
): Promise<void> {
  // The keys of limits end with the address: see modules/auth/abuse.ts.
  await sql`
    with named as (
      select ${email}::text as email
      union select former_email from email_changes where user_id = ${user_id}
      union select new_email from email_changes where user_id = ${user_id}
    ), own as materialized (
      select email from named where not exists (
        select from users u where u.email = named.email and u.id <> ${user_id})
    ), mails as (
      delete from outbox o using own
      where o.payload ->> 'email' = own.email and (o.sent_at is not null or o.failed_at is not null)
    ), attempts as (
      delete from login_attempts l using own where l.email = own.email and l.email <> ${email}
    )
    delete from rate_limits r using own
    where right(r.key, char_length(own.email) + 1) in ('|' || own.email, ':' || own.email)`.execute(tx);
}

export async function insertErasure(
  tx: Tx,
  erasure: Pick<
    Erasure,
    'user_id' | 'email' | 'actor_id' | 'actor_type' | 'actor_name' | 'actor_key_id' | 'roles' | 'sessions'
  >,
): Promise<void> {
  await tx.insertInto('erasures').values(erasure).execute();
}

export async function listErasures(db: Db): Promise<string[]> {
  const { rows } = await sql<Pick<Erasure, 'user_id'>>`
    select user_id from erasures order by created_at, user_id`.execute(db);
  return rows.map(({ user_id }) => user_id);
}

export type LockedErasure = Omit<Erasure, 'created_at' | 'after_time' | 'after_id'> & {
  after: PageKey | null;
};

/** Locks an erasure; undefined if it is finished, or another transaction works on it. */
export async function lockErasure(tx: Tx, userId: string): Promise<LockedErasure | undefined> {
  const { rows } = await sql<Omit<LockedErasure, 'after'> & { time: string | null; after_id: string | null }>`
    select user_id, email, actor_id, actor_type, actor_name, actor_key_id, roles, sessions, entries, stage,
      ${keyTime('after_time')} as time, after_id
    from erasures where user_id = ${userId} for update skip locked`.execute(tx);
  const [row] = rows;
  if (!row) return undefined;
  const { time, after_id: id, ...erasure } = row;
  return { ...erasure, after: time === null || id === null ? null : { time, id } };
}

export async function moveOn(
  tx: Tx,
  userId: string,
  { entries, stage, after }: Pick<LockedErasure, 'entries' | 'stage' | 'after'>,
): Promise<void> {
  await sql`
    update erasures set entries = ${entries}, stage = ${stage}, after_time = ${after?.time ?? null}::timestamptz,
      after_id = ${after?.id ?? null}::uuid
    where user_id = ${userId}`.execute(tx);
}

export async function deleteErasure(tx: Tx, userId: string): Promise<void> {
  await sql`delete from erasures where user_id = ${userId}`.execute(tx);
}

/** Returns how many entries were erased so far; null if the erasure is finished. */
export async function findProgress(db: Db, userId: string): Promise<number | null> {
  const { rows } = await sql<Pick<Erasure, 'entries'>>`
    select entries from erasures where user_id = ${userId}`.execute(db);
  return rows[0]?.entries ?? null;
}
