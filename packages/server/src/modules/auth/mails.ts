// Queues account mails in the transaction that causes them, and composes them when they are sent.
// The account is looked up only when the mail is composed, so that response times do not reveal whether it exists.
import { sql } from 'kysely';
import { duration } from '../../platform/counted.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Language } from '../../platform/languages.ts';
import type { RateLimitRule } from '../../platform/limits/rate-limit.ts';
import { fillLink, type LinkTemplate, TOKEN_PLACEHOLDER } from '../../platform/mail/link-template.ts';
import type { Mail } from '../../platform/mail/message.ts';
import { shownEmail } from '../../platform/security/email.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import { mayMail } from './abuse.ts';
import { languageOfMails } from './mail-language.ts';
import type { MailName, MailTemplates, MailValues } from './mail-templates.ts';
import { greetableName } from './mails/greetable-name.ts';
import {
  isCounted,
  type MailKind,
  type MailPayloads,
  readEmailChange,
  readPayload,
  readSignIn,
  readWarning,
  type Warning,
  type WarningKind,
} from './mails/payloads.ts';
import { mayWarn, type WarningLimitDeps } from './mails/warning-limit.ts';
import { isWarning, utcTime, warningNames, warningValues } from './mails/warnings.ts';
import { issueOneTimeToken, lifetimeMinutes, type Purpose } from './one-time-tokens.ts';

export type AccountMail = {
  /** Queues a mail, which is sent only if the transaction commits. Call `wake` after the commit. */
  enqueue<K extends MailKind>(tx: Tx, kind: K, payload: MailPayloads[K]): Promise<void>;
  /** Queues one mail to each of these invited users. */
  enqueueInvitations(tx: Tx, emails: readonly string[]): Promise<void>;
  wake(): void;
};

type Recipient = Pick<
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
type Reader = Recipient & { language: Language };

/** A row of the outbox; `attempt` counts from 1. */
type QueuedMail = { payload: unknown; linkEpoch: number; attempt: number };

export async function enqueueAccountMail<K extends MailKind>(
  tx: Tx,
  kind: K,
  payload: MailPayloads[K],
): Promise<void> {
  // With the account's current link epoch: if an administrator raises it before the mail is sent, no link is sent.
  await sql`
    insert into outbox (kind, payload)
    select ${kind}, ${JSON.stringify(payload)}::jsonb || jsonb_build_object('link_epoch',
      coalesce((select link_epoch from users where email = ${payload.email}), 0))`.execute(tx);
}

/** Queues one mail to each of these invited users, as `enqueueAccountMail` does. */
export async function enqueueInvitations(tx: Tx, emails: readonly string[]): Promise<void> {
  if (emails.length === 0) return;
  await sql`
    insert into outbox (kind, payload)
    select 'invitation', jsonb_build_object('email', u.email, 'link_epoch', u.link_epoch)
    from users u where u.email = any(${emails}::text[])`.execute(tx);
}

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

/**
 * Returns the function that composes the mail of an outbox row. It returns null if no mail must be sent: there is no
 * account, its state has changed, or it has had its share of warnings. The language is that of the account when the mail
 * is composed: rows of mails that anybody can request are the same for known and unknown emails, and hold nothing of the
 * request.
 */
export function createMailComposer(deps: MailDeps) {
  const { settings } = deps;
  return async (kind: string, payload: unknown, attempt: number): Promise<Mail | null> => {
    const { email, linkEpoch } = readPayload(payload);
    if (kind === 'email_change') return composeEmailChange(deps, payload, linkEpoch);
    if (kind === 'email_changed') return composeEmailChanged(deps, payload, linkEpoch);
    const user = await findRecipient(deps.db, email);
    if (kind === 'provider_code') return composeCode(deps, user, { email, payload });
    if (kind === 'deletion_planned') return composeDeletion(deps, user, { payload, linkEpoch, attempt });
    if (!user?.is_active) return null;
    const language = languageOfMails(user.language, settings.language);
    if (user.invited_at !== null)
      return composeInvitation(deps, { ...user, language }, kind, { payload, linkEpoch, attempt });
    switch (kind) {
      case 'verification': {
        if (user.verified || user.link_epoch !== linkEpoch) return null;
        const link = await issueLink(deps, 'verify_email', user);
        if (link === null) return null;
        return write(deps, { ...user, language }, 'verification', {
          link,
          link_lifetime: duration(lifetimeMinutes.verify_email, language),
        });
      }
      case 'password_reset': {
        if (user.link_epoch !== linkEpoch) return null;
        const link = await issueLink(deps, 'reset_password', user);
        if (link === null) return null;
        return write(deps, { ...user, language }, 'password-reset', {
          link,
          link_lifetime: duration(lifetimeMinutes.reset_password, language),
        });
      }
      case 'account_locked':
        return write(deps, { ...user, language }, 'account-locked', {
          link: forgotLink(deps),
          lock_duration: duration(settings.lockoutMinutes, language),
        });
      case 'invitation':
        return null;
      default:
        if (!isWarning(kind)) throw new Error(`no mail of kind ${kind}`);
        return composeWarning(deps, { ...user, language }, kind, { payload, linkEpoch, attempt });
    }
  };
}

/** Of `users u`. */
const recipientColumns = `u.id, u.email, u.first_name, u.last_name, u.is_active, u.verified, u.link_epoch, u.language,
  u.recovery_pending, u.recovery_handed_over, u.invited_at, u.invitation_hours, u.deletion_due_at`;

async function findRecipient(db: Db, email: string): Promise<Recipient | undefined> {
  const { rows } = await sql<Recipient>`
    select ${sql.raw(recipientColumns)} from users u where u.email = ${email}`.execute(db);
  return rows[0];
}

type ChangeOfEmail = Recipient &
  Pick<Row<'email_changes'>, 'former_email' | 'new_email'> & { is_requested: boolean; is_confirmed: boolean };

/**
 * Returns a change of an address with its account, which is active and in the same epoch of links. By the id: another account may
 * have got the address in the meantime.
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
    where c.id = ${id} and u.is_active and u.invited_at is null and u.link_epoch = ${linkEpoch}`.execute(db);
  return rows[0] && { id, change: rows[0] };
}

/**
 * Returns the mail to the new address. If an account has it, its owner is told of the attempt, and gets no link. Returns null if the
 * request has ended.
 */
async function composeEmailChange(deps: MailDeps, payload: unknown, linkEpoch: number): Promise<Mail | null> {
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
async function composeEmailChanged(
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

/**
 * Returns the mail with a code. The owner of a verified account is told of the attempt, and gets no
 * code: a code does not open such an account. Returns null if the sign-in is over.
 */
async function composeCode(
  deps: MailDeps,
  user: Recipient | undefined,
  { email, payload }: { email: string; payload: unknown },
): Promise<Mail | null> {
  const { providerCodes, settings } = deps;
  const signIn = readSignIn(payload);
  const provider = await providerCodes.findProvider(signIn, email);
  if (provider === null || user?.is_active === false) return null;
  const language = languageOfMails(user?.language ?? null, settings.language);
  if (user?.verified) {
    const seen = warningValues(readWarning(payload), language);
    return write(deps, { ...user, language }, 'provider-attempt', {
      ...seen,
      provider: greetableName(provider),
      link: accountLink(deps),
    });
  }
  const code = await providerCodes.issue(signIn, email);
  if (code === null) return null;
  const reader = { email, first_name: '', last_name: '', verified: false, language };
  const lifetime = duration(providerCodes.lifetimeMinutes, language);
  return write(deps, reader, 'provider-code', {
    provider: greetableName(provider),
    code,
    code_lifetime: lifetime,
  });
}

/** Returns null if the account stays, or if an administrator ended its links: then its owner cannot keep it. */
async function composeDeletion(
  deps: MailDeps,
  user: Recipient | undefined,
  { payload, linkEpoch }: QueuedMail,
): Promise<Mail | null> {
  if (!user?.deletion_due_at || user.link_epoch !== linkEpoch) return null;
  const link = await issueLink(deps, 'undo_deletion', user);
  if (link === null) return null;
  const language = languageOfMails(user.language, deps.settings.language);
  return write(deps, { ...user, language }, 'deletion-planned', {
    ...warningValues(readWarning(payload), language),
    due: utcTime(user.deletion_due_at, language),
    link,
  });
}

// What anybody asks for an address that has yet to accept: its owner gets the invitation again.
const answeredByInvitation: ReadonlySet<string> = new Set<MailKind>([
  'invitation',
  'verification',
  'password_reset',
]);

/** Returns null for a mail that invited people do not get, and if the email has had its share of invitations. */
async function composeInvitation(
  deps: MailDeps,
  user: Reader,
  kind: string,
  { payload, linkEpoch, attempt }: QueuedMail,
): Promise<Mail | null> {
  if (!answeredByInvitation.has(kind) || user.link_epoch !== linkEpoch) return null;
  // The other kinds were counted, each by itself, when they were requested. An administrator who invites and withdraws
  // again and again must not fill a mailbox.
  const isNew = kind === 'invitation' && attempt === 1 && !isCounted(payload);
  if (isNew && !(await mayMail(deps, 'invitation', user.email))) return null;
  const link = await issueLink(deps, 'invitation', user);
  if (link === null) return null;
  return write(deps, user, 'invitation', {
    link,
    link_lifetime: duration((user.invitation_hours ?? 0) * 60, user.language),
  });
}

/** Returns null if the account has had its share of warnings. */
async function composeWarning(
  deps: MailDeps,
  user: Reader,
  kind: WarningKind,
  row: QueuedMail,
): Promise<Mail | null> {
  // Counted once, or a mail server that is away would use up the room, and the mail would be dropped.
  if (row.attempt === 1 && !(await mayWarn(deps, user.id, kind))) return null;
  const warning = readWarning(row.payload);
  const link = await warningLink(deps, user, kind, { row, warning });
  return write(deps, user, warningNames[kind], {
    ...warningValues(warning, user.language),
    link,
    link_lifetime: duration(lifetimeMinutes.recover, user.language),
  });
}

/** About accounts that have no password, or that need no other. */
const aboutAccount: ReadonlySet<WarningKind> = new Set(['account_made', 'account_taken_over', 'acted_as']);

async function warningLink(
  deps: MailDeps,
  user: Recipient,
  kind: WarningKind,
  { row, warning }: { row: QueuedMail; warning: Warning },
): Promise<string> {
  if (kind === 'second_factor_reset') return recoveryLink(deps, user, row, warning);
  return aboutAccount.has(kind) ? accountLink(deps) : forgotLink(deps);
}

/** Returns the link to the page of one's own account. It has no token, so it does nothing by itself. */
const accountLink = ({ settings }: MailDeps): string => `${settings.publicUrl}/account`;

/** Returns nothing if the administrator hands over the link, or if the account needs none or gets a newer one. */
async function recoveryLink(
  deps: MailDeps,
  user: Recipient,
  { linkEpoch }: QueuedMail,
  { isLinkShown }: Warning,
): Promise<string> {
  // The administrator may have decided to hand it over after somebody asked for this mail.
  const isNeeded = user.recovery_pending && !user.recovery_handed_over && user.link_epoch === linkEpoch;
  return isLinkShown || !isNeeded ? '' : ((await issueLink(deps, 'recover', user)) ?? '');
}

/** Returns the link to the page that sets a new password. It has no token, so it does nothing by itself. */
const forgotLink = ({ settings }: MailDeps): string => settings.forgotUrl ?? `${settings.publicUrl}/forgot`;

/** Returns null if an administrator ended the links of the account after the mail was queued. */
async function issueLink(
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

function write<N extends MailName>(
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
