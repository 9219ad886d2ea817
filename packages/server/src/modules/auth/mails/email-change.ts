// The mails of a change of an email address: to the new one, and to the former one when the change is made.
// The mail to a new address that an account has goes to its owner, and has no link.
import { sql } from 'kysely';
import { duration } from '../../../platform/counted.ts';
import type { Mail } from '../../../platform/mail/message.ts';
import { shownEmail } from '../../../platform/security/email.ts';
import type { Db, Row } from '../../../schema/database.ts';
import { languageOfMails } from '../mail-language.ts';
import { lifetimeMinutes } from '../one-time-tokens.ts';
import { readEmailChange, readWarning } from './payloads.ts';
import { warningValues } from './warnings.ts';
import {
  accountLink,
  findRecipient,
  issueLink,
  type MailDeps,
  type Recipient,
  recipientColumns,
  write,
} from './writing.ts';

type ChangeOfEmail = Recipient &
  Pick<Row<'email_changes'>, 'former_email' | 'new_email'> & { is_requested: boolean; is_confirmed: boolean };

/**
 * Returns a change of an address with its account, which is active, or which its owner deleted, and in the same epoch of links. By the
 * id: another account may have got the address in the meantime.
 */
async function findChange(
  db: Db,
  payload: unknown,
  linkEpoch: number,
): Promise<{ id: string; change: ChangeOfEmail } | undefined> {
  const id = readEmailChange(payload);
  const { rows } = await sql<ChangeOfEmail>`
    select ${sql.raw(recipientColumns)}, c.former_email, c.new_email, c.confirmed_at is not null as is_confirmed,
      c.confirmed_at is null and c.session_epoch = u.session_epoch and c.former_email = u.email as is_requested
    from email_changes c join users u on u.id = c.user_id
    where c.id = ${id} and (u.is_active or u.deletion_due_at is not null) and u.invited_at is null and u.link_epoch = ${linkEpoch}`.execute(
    db,
  );
  return rows[0] && { id, change: rows[0] };
}

/**
 * Returns the mail to the new address. If an account has it, its owner is told of the attempt, and gets no link. Returns null if the
 * request has ended.
 */
export async function composeEmailChange(
  deps: MailDeps,
  payload: unknown,
  linkEpoch: number,
): Promise<Mail | null> {
  const { settings } = deps;
  const found = await findChange(deps.db, payload, linkEpoch);
  if (!found?.change.is_requested) return null;
  const { id, change } = found;
  const owner = await findRecipient(deps.db, change.new_email);
  if (owner) {
    if (!owner.is_active || owner.invited_at !== null) return null;
    const language = languageOfMails(owner.language, settings.language);
    return write(deps, { ...owner, language }, 'email-change-attempt', {
      ...warningValues(readWarning(payload), language),
      link: accountLink(deps),
    });
  }
  const link = await issueLink(deps, 'change_email', change, id);
  if (link === null) return null;
  const language = languageOfMails(change.language, settings.language);
  // Anybody can type another person's address, so the mail says nothing of the account.
  const reader = { email: change.new_email, first_name: '', last_name: '', verified: false, language };
  return write(deps, reader, 'email-change', {
    link,
    link_lifetime: duration(lifetimeMinutes.change_email, language),
  });
}

/** Returns the mail to the former address, whose link undoes the change. Null if an administrator has ended the links since. */
export async function composeEmailChanged(
  deps: MailDeps,
  payload: unknown,
  linkEpoch: number,
): Promise<Mail | null> {
  const found = await findChange(deps.db, payload, linkEpoch);
  if (!found?.change.is_confirmed) return null;
  const { id, change } = found;
  const link = await issueLink(deps, 'revert_email', change, id);
  if (link === null) return null;
  const language = languageOfMails(change.language, deps.settings.language);
  return write(deps, { ...change, email: change.former_email, language }, 'email-changed', {
    ...warningValues(readWarning(payload), language),
    new_email: shownEmail(change.new_email),
    link,
    link_lifetime: duration(lifetimeMinutes.revert_email, language),
  });
}
