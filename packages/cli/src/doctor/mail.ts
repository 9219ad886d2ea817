// Looks at the way of mails: connects and signs in to the server, and sends one mail if it is asked to.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createMailTransport } from '@castellan/server/platform/mail/transport';
import type { Settings } from '@castellan/server/settings';
import { ok, type Report, warn } from './finding.ts';

/** Rejects if the server cannot be reached, or refuses the credentials or the mail. `recipient`: null sends nothing. */
export async function lookAtMail(settings: Settings, recipient: string | null): Promise<Report[]> {
  const { smtpUrl, mailFrom, serviceName, dataDir } = settings;
  const transport = createMailTransport({
    smtpUrl,
    from: mailFrom,
    senderName: serviceName,
    outboxDir: join(dataDir, 'outbox'),
  });
  try {
    const reports = [smtpUrl === undefined ? folder(dataDir) : await server(transport)];
    if (recipient === null) return reports;
    const text = `This mail shows that ${serviceName} can send mails. It was sent by castellan doctor.`;
    const mail = { to: recipient, subject: `Test mail of ${serviceName}`, text, html: '' };
    await transport.send(mail, { messageId: randomUUID() });
    return [...reports, ok(`a mail to ${recipient} was accepted; look for it, also among spam`)];
  } finally {
    transport.close();
  }
}

const folder = (dataDir: string): Report =>
  warn(
    `SMTP_URL is not set: mails are files in ${join(dataDir, 'outbox')}, and nobody gets them`,
    'Set SMTP_URL.',
  );

async function server(transport: ReturnType<typeof createMailTransport>): Promise<Report> {
  await transport.verify();
  return ok(`the mail server at ${transport.description} accepts the connection and the credentials`);
}
