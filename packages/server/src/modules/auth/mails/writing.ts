// What every account mail is made of: to whom it goes, its link, and its text in the language of the reader.
// Whether a mail is sent is decided elsewhere.
import { sql } from 'kysely';
import { inTransaction } from '../../../platform/db/transaction.ts';
import type { Language } from '../../../platform/languages.ts';
import type { RateLimitRule } from '../../../platform/limits/rate-limit.ts';
import { fillLink, type LinkTemplate, TOKEN_PLACEHOLDER } from '../../../platform/mail/link-template.ts';
import type { Mail } from '../../../platform/mail/message.ts';
import { shownEmail } from '../../../platform/security/email.ts';
import type { Db, Row } from '../../../schema/database.ts';
import type { MailName, MailTemplates, MailValues } from '../mail-templates.ts';
import { issueOneTimeToken, type Purpose } from '../one-time-tokens.ts';
import { greetableName } from './greetable-name.ts';
import type { WarningLimitDeps } from './warning-limit.ts';

export type Recipient = Pick<
  Row<'users'>,
  | 'id'
  | 'email'
  | 'first_name'
  | 'last_name'
  | 'is_active'
  | 'verified'
  | 'link_epoch'
  | 'language'
  | 'recovery_pending'
  | 'recovery_handed_over'
  | 'invited_at'
  | 'invitation_hours'
  | 'deletion_due_at'
>;
/** A recipient, with the language of the mail. */
export type Reader = Recipient & { language: Language };

export type MailDeps = WarningLimitDeps & {
  db: Db;
  /** Issues the codes for people who come from an identity provider. */
  providerCodes: {
    /** Returns the name of the provider of the sign-in if it still waits for a code to this address. */
    findProvider(signIn: string, email: string): Promise<string | null>;
    /** Returns null if the sign-in no longer waits for one to this address. */
    issue(signIn: string, email: string): Promise<string | null>;
    lifetimeMinutes: number;
  };
  mailTemplates: MailTemplates;
  settings: {
    serviceName: string;
    language: Language;
    publicUrl: string;
    appUrl: string | undefined;
    verifyUrl: LinkTemplate | undefined;
    resetUrl: LinkTemplate | undefined;
    inviteUrl: LinkTemplate | undefined;
    changeEmailUrl: LinkTemplate | undefined;
    undoEmailUrl: LinkTemplate | undefined;
    forgotUrl: string | undefined;
    lockoutMinutes: number;
    accountEmailLimit: RateLimitRule | null;
  };
};

/** Of `users u`. */
export const recipientColumns = `u.id, u.email, u.first_name, u.last_name, u.is_active, u.verified, u.link_epoch, u.language,
  u.recovery_pending, u.recovery_handed_over, u.invited_at, u.invitation_hours, u.deletion_due_at`;

export async function findRecipient(db: Db, email: string): Promise<Recipient | undefined> {
  const { rows } = await sql<Recipient>`
    select ${sql.raw(recipientColumns)} from users u where u.email = ${email}`.execute(db);
  return rows[0];
}

/** Returns the link to the page of one's own account. It has no token, so it does nothing by itself. */
export const accountLink = ({ settings }: MailDeps): string => `${settings.publicUrl}/account`;

/** Returns the link to the page that sets a new password. It has no token, so it does nothing by itself. */
export const forgotLink = ({ settings }: MailDeps): string =>
  settings.forgotUrl ?? `${settings.publicUrl}/forgot`;

/** Returns null if an administrator ended the links of the account after the mail was queued. */
export async function issueLink(
  { db, settings }: MailDeps,
  purpose: Purpose,
  user: Recipient,
  emailChangeId: string | null = null,
): Promise<string | null> {
  const ownPage = (page: string): LinkTemplate => `${settings.publicUrl}${page}=${TOKEN_PLACEHOLDER}`;
  const templates: Record<Purpose, LinkTemplate> = {
    verify_email: settings.verifyUrl ?? ownPage('/verify-email#token'),
    reset_password: settings.resetUrl ?? ownPage('/reset#token'),
    recover: ownPage('/login#recovery'),
    invitation: settings.inviteUrl ?? ownPage('/invitation#token'),
    change_email: settings.changeEmailUrl ?? ownPage('/confirm-email#token'),
    revert_email: settings.undoEmailUrl ?? ownPage('/undo-email#token'),
    undo_deletion: ownPage('/undo-deletion#token'),
  };
  const token = await inTransaction(db, (tx) => issueOneTimeToken(tx, purpose, user, emailChangeId));
  return token === null ? null : fillLink(templates[purpose], token);
}

type SharedValue = 'service_name' | 'app_url' | 'email' | 'first_name' | 'last_name';

export function write<N extends MailName>(
  { mailTemplates, settings }: MailDeps,
  user: Pick<Reader, 'email' | 'first_name' | 'last_name' | 'verified' | 'language'>,
  name: N,
  own: Omit<MailValues<N>, SharedValue>,
): Mail {
  // The names of an invitation are those that an administrator gave.
  const isKnown = user.verified || name === 'invitation';
  const values = {
    service_name: settings.serviceName,
    app_url: settings.appUrl ?? '',
    email: shownEmail(user.email),
    // Anyone can register another person's email with any text as the name. The service must not deliver that text.
    first_name: isKnown ? greetableName(user.first_name) : '',
    last_name: isKnown ? greetableName(user.last_name) : '',
    ...own,
  };
  const { subject, text, html } = mailTemplates[user.language][name];
  return { to: user.email, subject: subject(values), text: text(values), html: html(values) };
}
