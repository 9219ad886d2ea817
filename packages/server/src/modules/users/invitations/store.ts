// SQL of invitations, for administrators. Their acceptance is in the auth module.
import { sql } from 'kysely';
import type { Row, Tx } from '../../../schema/database.ts';
import type { Entitled } from '../../authz/change.ts';

export type NewInvitation = Pick<Row<'users'>, 'id' | 'email' | 'first_name' | 'last_name'> & {
  /** How long a link works. */
  hours: number;
};

/**
 * Inserts invited users, who have no password and are not verified. Leaves out those whose email is already taken, and returns
 * the ids of the others.
 */
export async function insertInvited(
  { tx }: Entitled,
  invitations: readonly NewInvitation[],
): Promise<ReadonlySet<string>> {
  if (invitations.length === 0) return new Set();
  // In one order, so that parallel requests with the same emails wait for each other instead of deadlocking.
  const { rows } = await sql<{ id: string }>`
    insert into users (id, email, first_name, last_name, verified, invited_at, invitation_hours, invitation_expires_at)
    select id, email, first_name, last_name, false, now(), hours, now() + make_interval(hours => hours)
    from json_to_recordset(${JSON.stringify(invitations)}::json)
      as i (id uuid, email text, first_name text, last_name text, hours integer)
    order by email
    on conflict (email) do nothing
    returning id`.execute(tx);
  return new Set(rows.map(({ id }) => id));
}

/** Returns those of the emails that an account has. */
export async function findTakenEmails(
  { tx }: Entitled,
  emails: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ email: string }>`
    select email from users where email = any(${emails}::text[])`.execute(tx);
  return new Set(rows.map(({ email }) => email));
}

/** Starts the time of the invitation of a user whose row is locked anew. */
export async function extendInvitation({ tx }: Entitled, id: string): Promise<void> {
  await sql`
    update users set invitation_expires_at = now() + make_interval(hours => invitation_hours)
    where id = ${id} and invited_at is not null`.execute(tx);
}

/**
 * Uses up the links of a user whose row is locked, as a click on one of them does: they then say that the invitation was accepted.
 */
export async function useInvitationsUp(tx: Tx, id: string): Promise<void> {
  await sql`
    update one_time_tokens set used_at = now()
    where user_id = ${id} and purpose = 'invitation' and used_at is null`.execute(tx);
}
