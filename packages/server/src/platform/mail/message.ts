// Writes a mail as a message (RFC 5322), for a file that mail programs open, and as text for a terminal.
import nodemailer from 'nodemailer';

export type Mail = { to: string; subject: string; text: string; html: string };

type Message = Mail & {
  from: string | { name: string; address: string };
  /** With angle brackets. */
  messageId: string;
};

const composer = nodemailer.createTransport({ streamTransport: true, buffer: true, newline: 'unix' });

/** Returns the message. Both bodies are 8-bit UTF-8, so that a link is readable in the file without a mail program. */
export async function writeMessage({ from, to, subject, text, html, messageId }: Message): Promise<string> {
  const body = (type: string, content: string) => ({
    raw: `Content-Type: ${type}; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n${content.trimEnd()}\n`,
  });
  const { message } = await composer.sendMail({
    from,
    to: { name: '', address: to },
    subject,
    messageId,
    headers: { 'Auto-Submitted': 'auto-generated' },
    alternatives: [body('text/plain', text), body('text/html', html)],
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  if (!Buffer.isBuffer(message)) throw new TypeError('nodemailer did not return the message as a buffer');
  return message.toString('utf8');
}

const terminalControl = /[^\P{Cc}\n\t]/gu; // could move the cursor of a terminal or change its colours

/** Returns the main headers and the plain text, without terminal control characters. */
export function readable({ from, to, subject, text }: Message): string {
  const sender = typeof from === 'string' ? from : `${from.name} <${from.address}>`;
  const headers = [`To: ${to}`, `From: ${sender}`, `Subject: ${subject}`];
  const lines = headers.map((header) => header.replace(/\p{C}+/gu, ' '));
  return `${lines.join('\n')}\n\n${text.trimEnd()}\n`.replace(terminalControl, '');
}
