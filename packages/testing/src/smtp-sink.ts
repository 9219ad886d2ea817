// An SMTP server on loopback that keeps the mails it receives, or misbehaves as configured.
// It must not deliver anything anywhere.
import type { Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { portOf } from './ports.ts';

export type SmtpSink = {
  port: number;
  url: (scheme?: string, query?: string) => string;
  mails: { raw: string; to: string[]; secure: boolean; user: unknown }[];
  dropConnections(): void;
  close(): Promise<void>;
};

/** Without options it accepts every mail, unencrypted, with or without authentication. Port 0 picks a free one. */
export async function startSmtpSink(options: SMTPServerOptions = {}, port = 0): Promise<SmtpSink> {
  const mails: SmtpSink['mails'] = [];
  const sockets = new Set<Socket>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 50,
    async onData(stream, session, done) {
      const raw = (await stream.setEncoding('utf8').toArray()).join('');
      const to = session.envelope.rcptTo.map((recipient) => recipient.address);
      mails.push({ raw, to, secure: session.secure, user: session.user });
      done();
    },
    ...options,
  });
  server.server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('error', () => {}); // clients that disconnect in the middle are part of the tests
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const taken = portOf(server.server);
  return {
    port: taken,
    url: (scheme = 'smtp://', query = '') => `${scheme}127.0.0.1:${taken}${query}`,
    mails,
    dropConnections() {
      for (const socket of sockets) socket.destroy();
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Returns the error with which a handler of the SMTP server refuses with this code. */
export const smtpRefusal = (responseCode: number, text = 'refused'): Error =>
  Object.assign(new Error(text), { responseCode });
