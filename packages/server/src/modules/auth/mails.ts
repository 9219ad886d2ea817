// The mails about an account: queued inside the transaction that causes them, written when they are sent.
// Whether an address has an account is found out here, not while a stranger waits for his answer.
import { sql } from 'kysely';
import type { Db, Tx } from '../../database.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { enqueueMailStatement } from '../../platform/mail/outbox.ts';
import type { Mail } from '../../platform/mail/transport.ts';
import { issueOneTimeToken } from './one-time-tokens.ts';

export type MailKind = 'verification' | 'password_reset' | 'account_locked';

export type AccountMail = {
  /** The mail goes out if and only if the transaction commits; call `wake` after. */
  enqueue(tx: Tx, kind: MailKind, payload: { email: string }): Promise<void>;
  wake(): void;
};

type Recipient = { id: string; email: string; first_name: string; is_active: boolean; verified: boolean };

export async function enqueueAccountMail(tx: Tx, kind: MailKind, payload: { email: string }): Promise<void> {
  const statement = enqueueMailStatement(kind, payload);
  await sql`insert into outbox (kind, payload) values (${statement.values[0]}, ${statement.values[1]}::jsonb)`.execute(
    tx,
  );
}

/** What the outbox worker sends for a row. Null when nobody is to get it: no such account, or not the state for it. */
export function createMailComposer(deps: { db: Db; publicUrl: string; lockoutMinutes: number }) {
  return async (kind: string, payload: unknown): Promise<Mail | null> => {
    const { email } = payload as { email: string };
    const { rows } = await sql<Recipient>`
      select id, email, first_name, is_active, verified from users where email = ${email}`.execute(deps.db);
    const user = rows[0];
    if (!user?.is_active) return null;
    switch (kind as MailKind) {
      case 'verification':
        return user.verified
          ? null
          : verificationMail(user, await link(deps, 'verify_email', '/verify-email', user));
      case 'password_reset':
        return resetMail(user, await link(deps, 'reset_password', '/reset', user));
      case 'account_locked':
        return lockedMail(user, deps.lockoutMinutes, `${deps.publicUrl}/forgot`);
      default:
        throw new Error(`no mail of kind ${kind}`);
    }
  };
}

async function link(
  deps: { db: Db; publicUrl: string },
  purpose: 'verify_email' | 'reset_password',
  path: string,
  user: Recipient,
): Promise<string> {
  const token = await inTransaction(deps.db, (tx) => issueOneTimeToken(tx, purpose, user));
  return `${deps.publicUrl}${path}#token=${token}`;
}

type Paragraph = string | { link: string; label: string };

const verificationMail = (user: Recipient, href: string): Mail =>
  mail(user, 'Confirm your e-mail address', [
    'please confirm that this address is yours:',
    { link: href, label: 'Confirm my e-mail address' },
    'The link works once, for 24 hours. If you did not open an account, do nothing: it will be removed.',
  ]);

const resetMail = (user: Recipient, href: string): Mail =>
  mail(user, 'Set a new password', [
    'somebody, hopefully you, asked to set a new password for this account:',
    { link: href, label: 'Set a new password' },
    'The link works once, for 30 minutes. If it was not you, do nothing: your password stays as it is.',
  ]);

const lockedMail = (user: Recipient, minutes: number, href: string): Mail =>
  mail(user, 'Your account is locked for a while', [
    `signing in to your account failed several times, so it is locked for ${minutes} minutes. You stay signed in where you are.`,
    'If it was not you, somebody may be guessing your password. A new one ends the lock at once:',
    { link: href, label: 'Set a new password' },
  ]);

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

function mail(user: Recipient, subject: string, paragraphs: Paragraph[]): Mail {
  // Anybody can register with any address and any words for a name: those are not for us to deliver.
  const greeting = user.verified ? `Hello ${user.first_name},` : 'Hello,';
  const body: Paragraph[] = [greeting, ...paragraphs];
  const html = body.map((one) =>
    typeof one === 'string'
      ? `<p>${escapeHtml(one)}</p>`
      : `<p><a href="${escapeHtml(one.link)}">${escapeHtml(one.label)}</a></p><p style="color:#555;font-size:.85em">${escapeHtml(one.link)}</p>`,
  );
  return {
    to: user.email,
    subject,
    text: `${body.map((one) => (typeof one === 'string' ? one : one.link)).join('\n\n')}\n`,
    html: `<!doctype html><html lang="en"><body style="font-family:system-ui,sans-serif;max-width:34em">${html.join('')}</body></html>`,
  };
}
