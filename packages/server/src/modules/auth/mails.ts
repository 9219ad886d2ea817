// Queues account mails in the transaction that causes them, and composes them when they are sent.
// The account is looked up only when the mail is composed, so that response times do not reveal whether it exists.
import { sql } from 'kysely';
import { duration } from '../../platform/counted.ts';
import type { Mail } from '../../platform/mail/message.ts';
import type { Tx } from '../../schema/database.ts';
import { mayMail } from './abuse.ts';
import { languageOfMails } from './mail-language.ts';
import { composeEmailChange, composeEmailChanged } from './mails/email-change.ts';
import { greetableName } from './mails/greetable-name.ts';
import {
  isCounted,
  type MailKind,
  type MailPayloads,
  readPayload,
  readSignIn,
  readWarning,
  type Warning,
  type WarningKind,
} from './mails/payloads.ts';
import { mayWarn } from './mails/warning-limit.ts';
import { isWarning, utcTime, warningNames, warningValues } from './mails/warnings.ts';
import {
  accountLink,
  findRecipient,
  forgotLink,
  issueLink,
  type MailDeps,
  type Reader,
  type Recipient,
  write,
} from './mails/writing.ts';
import { lifetimeMinutes } from './one-time-tokens.ts';

export type { MailDeps } from './mails/writing.ts';

export type AccountMail = {
  /** Queues a mail, which is sent only if the transaction commits. Call `wake` after the commit. */
  enqueue<K extends MailKind>(tx: Tx, kind: K, payload: MailPayloads[K]): Promise<void>;
  /** Queues one mail to each of these invited users. */
  enqueueInvitations(tx: Tx, emails: readonly string[]): Promise<void>;
  wake(): void;
};

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
  // The names are of the person who registered the account, and this one has not seen them yet.
  const verified = user.verified && kind !== 'account_taken_over';
  return write(deps, { ...user, verified }, warningNames[kind], {
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
  if (kind === 'webhook_paused') return `${deps.settings.publicUrl}/webhooks`;
  if (kind === 'second_factor_reset') return recoveryLink(deps, user, row, warning);
  return aboutAccount.has(kind) ? accountLink(deps) : forgotLink(deps);
}

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
