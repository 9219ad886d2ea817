// SQL of changes to many users at once: the number of statements does not depend on the number of users.
import { changeableFields } from '@castellan/contract/users';
import { sql } from 'kysely';
import { lockUntilCommit, onlyRow } from '../../../platform/db/sql.ts';
import type { Row, Tx } from '../../../schema/database.ts';
import type { Entitled } from '../../authz/change.ts';

/** The fields of a user that an administrator may change: those of the contract that are columns. */
type ChangeableField = 'email' | keyof typeof changeableFields;
export type FieldChanges = Partial<Pick<Row<'users'>, ChangeableField>>;

// The email stands apart: a statement that names a key column waits for all rows that refer to the user.
const columns = Object.keys(changeableFields).join(', ');
const values = Object.keys(changeableFields)
  .map((name) => `changed.${name}`)
  .join(', ');

/** Locks changes of emails until the transaction ends. Two transactions that swap emails would deadlock otherwise. */
export async function lockEmails(tx: Tx): Promise<void> {
  await lockUntilCommit('users.email').execute(tx);
}

/**
 * Updates users whose rows are locked. A missing field stays unchanged; null is stored. A user without fields gets a
 * new `updated_at` too, because the roles changed.
 */
export async function updateUsers(
  { tx }: Entitled,
  changes: readonly { id: string; fields: FieldChanges }[],
): Promise<void> {
  const rows = JSON.stringify(changes);
  const changesEmail = changes.some(({ fields }) => fields.email !== undefined);
  await sql`
    update users u set
      (${sql.raw(changesEmail ? 'email, ' : '')}${sql.raw(columns)}) = (
        select ${sql.raw(changesEmail ? 'changed.email, ' : '')}${sql.raw(values)}
        from jsonb_populate_record(u, c.fields) as changed),
      updated_at = now()
    from jsonb_to_recordset(${rows}::jsonb) as c (id uuid, fields jsonb)
    where u.id = c.id`.execute(tx);
}

/** Ends the plans of owners to delete these accounts. Call it with the users' rows locked. */
export async function endDeletions({ tx }: Entitled, userIds: readonly string[]): Promise<void> {
  if (userIds.length === 0) return;
  await sql`update users set deletion_due_at = null where id = any(${userIds}::uuid[])`.execute(tx);
}

/**
 * Ends the mailed links of these users and, through the link epoch, those of queued mails. Links that undo changes of the caller's own
 * address go on, sent or not: a thief of the caller's session must not end them. Call it with the users' rows locked, in every
 * transaction in which an administrator changes a user's access.
 */
export async function endPendingLinks({ tx, caller }: Entitled, userIds: readonly string[]): Promise<void> {
  if (userIds.length === 0) return;
  const self = caller.principal.id;
  await sql`
    update users set link_epoch = link_epoch + case when id = ${self} then 0 else 1 end,
      invitation_expires_at = case when invited_at is null then null else least(invitation_expires_at, now()) end
    where id = any(${userIds}::uuid[])`.execute(tx);
  await sql`
    delete from one_time_tokens where user_id = any(${userIds}::uuid[]) and used_at is null
      and (user_id <> ${self} or purpose <> 'revert_email')`.execute(tx);
}

/** Notes a change of the caller's own address, which takes effect at once. Returns the transaction's time. */
export async function insertOwnAddressChange(
  { tx, caller }: Entitled,
  change: Pick<Row<'email_changes'>, 'id' | 'former_email' | 'new_email' | 'session_id'>,
): Promise<Date> {
  const inserted = await sql<{ at: Date }>`
    insert into email_changes (id, user_id, former_email, new_email, session_id, session_epoch, confirmed_at)
    select ${change.id}, u.id, ${change.former_email}, ${change.new_email}, ${change.session_id}, u.session_epoch, now()
    from users u where u.id = ${caller.principal.id}
    returning requested_at as at`.execute(tx);
  return onlyRow(inserted).at;
}
