// Hands one finished mail to an SMTP server or, without one, to a folder and the terminal.
// It must not retry, and must not log: a mail carries one-time tokens.
import nodemailer from 'nodemailer';
import { createOutboxFolder } from './outbox-folder.ts';

export type Mail = { to: string; subject: string; text: string; html: string };

export type MailTransport = {
  /**
   * Settles within SEND_TIMEOUT_MS. Rejects with a MailRefusedError when sending this mail again is pointless, with
   * any other error when it may be tried again. `messageId` is the part before the @, the same at each attempt.
   */
  send(mail: Mail, options: { messageId: string }): Promise<void>;
  /** Rejects when mails could not be handed over now: server unreachable, login refused, folder not writable. */
  verify(): Promise<void>;
  /** Cuts the connections; a mail under way fails. */
  close(): void;
  /** Where mails go, for people; without credentials. */
  description: string;
};

/** The receiving side refuses this mail for good. */
export class MailRefusedError extends Error {
  override name = 'MailRefusedError';
}

/** Longest that `send` takes, milliseconds: a server that trickles its answers is cut then. */
export const SEND_TIMEOUT_MS = 30_000;

/** Mails under way at once; the usual limit of providers per sender is 10 or more. */
export const MAX_SMTP_CONNECTIONS = 5;

const connectTimeoutMs = 10_000; // name look-up and every address tried
const greetingTimeoutMs = 10_000;
const socketTimeoutMs = 15_000; // silence; an answer after that is of no use to anyone
const idleTimeoutMs = 10_000; // an unused connection is closed before the server drops it

// What an SMTP URL may say besides address and login. Anything else could undo the bounds above or print mails.
const urlOptions = [
  'requireTLS',
  'ignoreTLS',
  'name',
  'tls.rejectUnauthorized',
  'tls.servername',
  'tls.minVersion',
];

// Characters that would end a header or an address, or add a second one. Stored addresses have none of them.
const plainAddress = /^[^\s\p{C}<>()[\]\\,;:"@]+@[^\s\p{C}<>()[\]\\,;:"@]+$/u;
const terminalControl = /[^\P{Cc}\n\t]/gu; // what could move a terminal's cursor or recolour it
const plainMessageId = /^[\w.-]{1,64}$/;

/** Answers the URL as given. The error's message continues a sentence that begins with the setting's name. */
export function parseSmtpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !['smtp:', 'smtps:'].includes(url.protocol) || url.hostname === '') {
    throw new Error('is no URL of the form smtp://user:password@host:port or smtps://…');
  }
  for (const name of url.searchParams.keys()) {
    if (!urlOptions.includes(name))
      throw new Error(`has the unknown option "${name}"; known are ${urlOptions.join(', ')}`);
  }
  return text;
}

/** The addr-spec of `Name <user@host>` or `user@host`. The error's message continues the setting's name. */
export function addressOfSender(from: string): string {
  const address = /^[^<>\p{C}]*<([^<>]+)>$/u.exec(from)?.[1] ?? from;
  if (!plainAddress.test(address))
    throw new Error('is no sender; write no-reply@example.com or Name <no-reply@example.com>');
  return address;
}

// 5yz to RCPT TO or to the message is about this mail (RFC 5321, 4.2.1). To anything earlier it is about our login,
// address or configuration, which someone may mend: those mails wait. 503 says "wrong order", so it waits too.
function isRefusal(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { permanent, command } = error as { permanent?: boolean; command?: string };
  return permanent === true && (command === 'RCPT TO' || command === 'DATA');
}

type Options = {
  smtpUrl?: string | undefined;
  from: string;
  outboxDir: string;
  print: (text: string) => void;
};
/** Shorter bounds than the usual ones, for tests of servers that hang. */
type Bounds = { sendTimeoutMs?: number };

function createSmtpTransport(smtpUrl: string, from: string, sendTimeoutMs: number): MailTransport {
  const { protocol, host } = new URL(parseSmtpUrl(smtpUrl));
  const domain = addressOfSender(from).split('@')[1];
  const transporter = nodemailer.createTransport({
    url: smtpUrl,
    pool: true,
    maxConnections: MAX_SMTP_CONNECTIONS,
    // Only what the server never began to receive, such as over a connection that it had dropped.
    maxRequeues: 1,
    idleTimeout: idleTimeoutMs,
    connectionTimeout: Math.min(connectTimeoutMs, sendTimeoutMs),
    dnsTimeout: Math.min(connectTimeoutMs, sendTimeoutMs),
    greetingTimeout: Math.min(greetingTimeoutMs, sendTimeoutMs),
    socketTimeout: Math.min(socketTimeoutMs, sendTimeoutMs),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    description: `${protocol}//${host}`,
    async send(mail, { messageId }) {
      const signal = AbortSignal.timeout(sendTimeoutMs);
      try {
        await transporter.sendMail({
          from,
          to: { name: '', address: mail.to },
          subject: mail.subject,
          text: mail.text,
          html: mail.html,
          messageId: `<${messageId}@${domain}>`,
          headers: { 'Auto-Submitted': 'auto-generated' }, // RFC 3834: no vacation notes, please
          signal,
        });
      } catch (error) {
        if (isRefusal(error)) throw new MailRefusedError(error.message);
        if (signal.aborted)
          throw new Error(`the mail server did not take the mail in ${sendTimeoutMs} ms`, { cause: error });
        throw error;
      }
    },
    async verify() {
      await transporter.verify();
    },
    close: () => transporter.close({ force: true }),
  };
}

function createFolderTransport({ from, outboxDir, print }: Options): MailTransport {
  const domain = addressOfSender(from).split('@')[1];
  const folder = createOutboxFolder(outboxDir);
  return {
    description: `files in ${outboxDir}`,
    async send(mail, { messageId }) {
      const written = await folder.write({ ...mail, from, messageId: `<${messageId}@${domain}>` });
      const shown = written.content.replace(terminalControl, '');
      print(`\n--- mail, kept as ${written.path}\n${shown}--- end of mail\n`);
    },
    verify: () => folder.prepare(),
    close: () => {},
  };
}

/** Throws when `smtpUrl` or `from` is of the wrong form. Connects to nothing until it sends or verifies. */
export function createMailTransport(options: Options & Bounds): MailTransport {
  const { smtpUrl, from, sendTimeoutMs = SEND_TIMEOUT_MS } = options;
  const transport = smtpUrl
    ? createSmtpTransport(smtpUrl, from, sendTimeoutMs)
    : createFolderTransport(options);
  return {
    ...transport,
    async send(mail, sending) {
      if (!plainAddress.test(mail.to)) throw new MailRefusedError('the recipient is no plain e-mail address');
      if (!plainMessageId.test(sending.messageId))
        throw new TypeError('the message id has characters it must not have');
      await transport.send(mail, sending);
    },
  };
}
