// An SMTP server on loopback that keeps what it receives, or misbehaves as told.
// It must not deliver anything anywhere.
import type { AddressInfo, Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export type SmtpSink = {
  port: number;
  url: (scheme?: string, query?: string) => string;
  mails: { raw: string; to: string[]; secure: boolean; user: unknown }[];
  dropConnections(): void;
  close(): Promise<void>;
};

/** Without options it takes every mail, unencrypted, with or without login. Port 0 is a free one. */
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
  server.on('error', () => {}); // clients that leave in the middle are part of the tests
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const taken = (server.server.address() as AddressInfo).port;
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

/** What an SMTP server's handlers answer to refuse with this code. */
export const smtpRefusal = (responseCode: number, text = 'refused'): Error =>
  Object.assign(new Error(text), { responseCode });
