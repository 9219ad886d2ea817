// Queues account mails in the transaction that causes them, and composes them when they are sent.
// The account is looked up only when the mail is composed, so that response times do not reveal whether it exists.
import { sql } from 'kysely';
import { duration } from '../../platform/counted.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Language } from '../../platform/languages.ts';
import { fillLink, type LinkTemplate, TOKEN_PLACEHOLDER } from '../../platform/mail/link-template.ts';
import type { Mail } from '../../platform/mail/message.ts';
import { shownEmail } from '../../platform/security/email.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import { languageOfMails } from './mail-language.ts';
import type { MailName, MailTemplates, MailValues } from './mail-templates.ts';
import { issueOneTimeToken, lifetimeMinutes, type Purpose } from './one-time-tokens.ts';

export type MailKind = 'verification' | 'password_reset' | 'account_locked';

export type AccountMail = {
  /** Queues a mail, which is sent only if the transaction commits. Call `wake` after the commit. */
  enqueue(tx: Tx, kind: MailKind, payload: { email: string }): Promise<void>;
  wake(): void;
};

type Recipient = Pick<
  Row<'users'>,
  'id' | 'email' | 'first_name' | 'last_name' | 'is_active' | 'verified' | 'link_epoch' | 'language'
>;

export async function enqueueAccountMail(tx: Tx, kind: MailKind, payload: { email: string }): Promise<void> {
  // With the account's current link epoch: if an administrator raises it before the mail is sent, the mail is dropped.
  await sql`
    insert into outbox (kind, payload)
    select ${kind}, ${JSON.stringify(payload)}::jsonb || jsonb_build_object('link_epoch',
      coalesce((select link_epoch from users where email = ${payload.email}), 0))`.execute(tx);
}

export type MailDeps = {
  db: Db;
  mailTemplates: MailTemplates;
  settings: {
    serviceName: string;
    language: Language;
    publicUrl: string;
    appUrl: string | undefined;
    verifyUrl: LinkTemplate | undefined;
    resetUrl: LinkTemplate | undefined;
    forgotUrl: string | undefined;
    lockoutMinutes: number;
  };
};

/**
 * Returns the function that composes the mail of an outbox row. It returns null if no mail must be sent: there is no
 * account, or its state has changed. The language is that of the account when the mail is composed: the row is the same
 * for known and unknown emails, and holds nothing of the request.
 */
export function createMailComposer(deps: MailDeps) {
  const { settings } = deps;
  return async (kind: string, payload: unknown): Promise<Mail | null> => {
    const { email, linkEpoch } = readPayload(payload);
    const { rows } = await sql<Recipient>`
      select id, email, first_name, last_name, is_active, verified, link_epoch, language from users where email = ${email}`.execute(
      deps.db,
    );
    const user = rows[0];
    if (!user?.is_active) return null;
    const language = languageOfMails(user.language, settings.language);
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
          link: settings.forgotUrl ?? `${settings.publicUrl}/forgot`,
          lock_duration: duration(settings.lockoutMinutes, language),
        });
      default:
        throw new Error(`no mail of kind ${kind}`);
    }
  };
}

/** Reads the payload of an outbox row. Throws if it has no email. */
function readPayload(payload: unknown): { email: string; linkEpoch: number } {
  if (typeof payload !== 'object' || payload === null) throw new Error('the mail has no payload');
  if (!('email' in payload) || typeof payload.email !== 'string') throw new Error('the mail has no email');
  // Rows of an earlier version have no epoch. 0 is the epoch of an account that no administrator has changed.
  const linkEpoch =
    'link_epoch' in payload && typeof payload.link_epoch === 'number' ? payload.link_epoch : 0;
  return { email: payload.email, linkEpoch };
}

/** Returns null if an administrator ended the links of the account after the mail was queued. */
async function issueLink(
  { db, settings }: MailDeps,
  purpose: Purpose,
  user: Recipient,
): Promise<string | null> {
  const ownPage = (path: string): LinkTemplate => `${settings.publicUrl}${path}#token=${TOKEN_PLACEHOLDER}`;
  const template =
    purpose === 'verify_email'
      ? (settings.verifyUrl ?? ownPage('/verify-email'))
      : (settings.resetUrl ?? ownPage('/reset'));
  const token = await inTransaction(db, (tx) => issueOneTimeToken(tx, purpose, user));
  return token === null ? null : fillLink(template, token);
}

type SharedValue = 'service_name' | 'app_url' | 'email' | 'first_name' | 'last_name';

function write<N extends MailName>(
  { mailTemplates, settings }: MailDeps,
  user: Recipient & { language: Language },
  name: N,
  own: Omit<MailValues<N>, SharedValue>,
): Mail {
  const values = {
    service_name: settings.serviceName,
    app_url: settings.appUrl ?? '',
    email: shownEmail(user.email),
    // Anyone can register another person's email with any text as the name. The service must not deliver that text.
    first_name: user.verified ? greetableName(user.first_name) : '',
    last_name: user.verified ? greetableName(user.last_name) : '',
    ...own,
  };
  const { subject, text, html } = mailTemplates[user.language][name];
  return { to: user.email, subject: subject(values), text: text(values), html: html(values) };
}

// Characters of addresses, and a dot between digits or before what may be a top-level domain. Initials are none: J.R.
const looksLikeAddress = /[@:/\\]|[.\u3002](?:\d|[\p{L}\p{M}]{2})/u;

/**
 * Returns the name, or nothing if it looks like an address: mail programs would make a link of it, in a mail that people
 * trust. It is judged as people see it, without invisible characters and with compatibility forms such as full-width dots.
 */
export const greetableName = (name: string): string =>
  looksLikeAddress.test(name.normalize('NFKC').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, ''))
    ? ''
    : name;
