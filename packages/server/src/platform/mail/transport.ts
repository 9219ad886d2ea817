// Sends one mail to an SMTP server or, without one, writes it to a folder and to the terminal, if there is one.
// It must not retry, nor log: a mail contains one-time tokens.
import nodemailer from 'nodemailer';
import { asciiDomain } from '../domain-names.ts';
import { type Mail, readable, writeMessage } from './message.ts';
import { createOutboxFolder } from './outbox-folder.ts';

export type MailTransport = {
  /**
   * Settles within SEND_TIMEOUT_MS. Rejects with a MailRefusedError if a retry is pointless, and with any other error
   * if a retry may succeed. `messageId` is the part before the @, the same at each attempt.
   */
  send(mail: Mail, options: { messageId: string }): Promise<void>;
  /** Rejects if mails cannot be sent now: server unreachable, credentials refused, folder not writable. */
  verify(): Promise<void>;
  /** Closes the connections; a mail that is being sent fails. */
  close(): void;
  /** Where mails go, for people, without credentials. */
  description: string;
};

/** The mail server refuses this mail permanently. */
export class MailRefusedError extends Error {
  override name = 'MailRefusedError';
}

/** Longest duration of `send` in milliseconds. It also stops a server that answers very slowly. */
export const SEND_TIMEOUT_MS = 30_000;

/** Number of mails that are sent at once. Providers usually allow 10 or more per sender. */
export const MAX_SMTP_CONNECTIONS = 5;

const CONNECT_TIMEOUT_MS = 10_000; // name lookup and every address that is tried
const GREETING_TIMEOUT_MS = 10_000;
const SOCKET_TIMEOUT_MS = 15_000; // silence of the server
const IDLE_TIMEOUT_MS = 10_000; // an unused connection is closed before the server drops it

// Allowed options of an SMTP URL. Others could override the timeouts above or print mails.
const urlOptions = [
  'requireTLS',
  'ignoreTLS',
  'name',
  'tls.rejectUnauthorized',
  'tls.servername',
  'tls.minVersion',
];

// Without characters that would end a header or an address, or add a second one. Stored emails have none of them.
const plainAddress = /^[^\s\p{C}<>()[\]\\,;:"@]+@[^\s\p{C}<>()[\]\\,;:"@]+$/u;
const plainMessageId = /^[\w.-]{1,64}$/;

/** Returns the URL unchanged. The error's message continues a sentence that begins with the setting's name. */
export function parseSmtpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !['smtp:', 'smtps:'].includes(url.protocol) || url.hostname === '') {
    throw new Error('is not a URL of the form smtp://user:password@host:port or smtps://…');
  }
  for (const name of url.searchParams.keys()) {
    if (!urlOptions.includes(name))
      throw new Error(`has the unknown option "${name}"; use ${urlOptions.join(', ')}`);
  }
  return text;
}

/** Returns the sender for nodemailer: the text of MAIL_FROM if that has a name, else its address with `name`. */
function senderOf(from: string, name: string): string | { name: string; address: string } {
  const address = addressOfSender(from);
  const typed = addressIn(from);
  return /^\s*[^<\s]/.test(from) && from !== typed ? from.replace(typed, () => address) : { name, address };
}

const addressIn = (from: string): string => /^[^<>\p{C}]*<([^<>]+)>$/u.exec(from)?.[1] ?? from;

/**
 * Returns `user@host` of `Name <user@host>` or `user@host`, with an internationalized host in its ASCII form. The error's
 * message continues the setting's name.
 */
export function addressOfSender(from: string): string {
  const typed = addressIn(from);
  const [local, host = ''] = typed.split('@');
  const domain = asciiDomain(host);
  if (!plainAddress.test(typed) || domain === null)
    throw new Error('is not a sender; write no-reply@example.com or Name <no-reply@example.com>');
  return `${local}@${domain}`;
}

// A 5yz reply to RCPT TO or to the message concerns this mail (RFC 5321, 4.2.1). An earlier one concerns the
// credentials, the sender or the configuration, which the operator can correct, so those mails are retried. nodemailer
// does not count 503 (bad sequence of commands) as permanent, so it is retried too.
function isRefusal(error: unknown): error is Error {
  if (!(error instanceof Error && 'permanent' in error && 'command' in error)) return false;
  return error.permanent === true && (error.command === 'RCPT TO' || error.command === 'DATA');
}

type Options = {
  smtpUrl?: string | undefined;
  /** `user@host` or `Name <user@host>`. */
  from: string;
  /** The sender's name if `from` has none. */
  senderName: string;
  outboxDir: string;
  /** Prints a mail that was kept as a file to the terminal; absent without a terminal. */
  print?: ((text: string) => void) | undefined;
  /** Receives the path of the file if nothing is printed. The links in the mail are secrets, the path is not. */
  onKept?: ((path: string) => void) | undefined;
};
/** Shorter timeouts, for tests of servers that hang. */
type Bounds = { sendTimeoutMs?: number };

function createSmtpTransport(smtpUrl: string, options: Options, sendTimeoutMs: number): MailTransport {
  const { from, senderName } = options;
  const { protocol, host } = new URL(parseSmtpUrl(smtpUrl));
  const domain = addressOfSender(from).split('@')[1];
  const sender = senderOf(from, senderName);
  const transporter = nodemailer.createTransport({
    url: smtpUrl,
    pool: true,
    maxConnections: MAX_SMTP_CONNECTIONS,
    // Only for a mail that the server did not begin to receive, such as over a connection that it had closed.
    maxRequeues: 1,
    idleTimeout: IDLE_TIMEOUT_MS,
    connectionTimeout: Math.min(CONNECT_TIMEOUT_MS, sendTimeoutMs),
    dnsTimeout: Math.min(CONNECT_TIMEOUT_MS, sendTimeoutMs),
    greetingTimeout: Math.min(GREETING_TIMEOUT_MS, sendTimeoutMs),
    socketTimeout: Math.min(SOCKET_TIMEOUT_MS, sendTimeoutMs),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    description: `${protocol}//${host}`,
    async send(mail, { messageId }) {
      const signal = AbortSignal.timeout(sendTimeoutMs);
      try {
        await transporter.sendMail({
          from: sender,
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
          throw new Error(`the mail server did not accept the mail within ${sendTimeoutMs} ms`, {
            cause: error,
          });
        throw error;
      }
    },
    async verify() {
      await transporter.verify();
    },
    close: () => transporter.close({ force: true }),
  };
}

function createFolderTransport({ from, senderName, outboxDir, print, onKept }: Options): MailTransport {
  const domain = addressOfSender(from).split('@')[1];
  const sender = senderOf(from, senderName);
  const folder = createOutboxFolder(outboxDir);
  return {
    description: `files in ${outboxDir}`,
    async send(mail, { messageId }) {
      const message = { ...mail, from: sender, messageId: `<${messageId}@${domain}>` };
      const path = await folder.write(mail.to, await writeMessage(message));
      if (print) print(`\n--- mail, kept as ${path}\n${readable(message)}--- end of mail\n`);
      else onKept?.(path);
    },
    verify: () => folder.prepare(),
    close: () => {},
  };
}

/** Throws if `smtpUrl` or `from` is malformed. Opens no connection before it sends or verifies. */
export function createMailTransport(options: Options & Bounds): MailTransport {
  const { smtpUrl, sendTimeoutMs = SEND_TIMEOUT_MS } = options;
  const transport = smtpUrl
    ? createSmtpTransport(smtpUrl, options, sendTimeoutMs)
    : createFolderTransport(options);
  return {
    ...transport,
    async send(mail, sending) {
      if (!plainAddress.test(mail.to))
        throw new MailRefusedError('the recipient is not a plain email address');
      if (!plainMessageId.test(sending.messageId))
        throw new TypeError('the message id has characters it must not have');
      await transport.send(mail, sending);
    },
  };
}
