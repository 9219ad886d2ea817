// A mail server on loopback that plays a part: at each stage of SMTP it does as it should, or what the part says.
// It must not forget a message whose last line it has seen, whatever it answered.
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { watch } from '../../secret-watch.ts';

export type Stage = 'greeting' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'end';
/** A text to be said as it is, or: say nothing more; break the line; break it after a proper answer. */
export type Act = { say: string } | 'hang' | 'drop' | 'drop after';
/** Undefined: as it should be. */
export type Part = (stage: Stage, about: { to: string; link: string }) => Act | undefined;

export type Message = { id: string; to: string; token: string | null; accepted: boolean };

export type SmtpActor = {
  port: number;
  messages: Message[];
  /** Every recipient that was named, also of messages that never came. */
  recipients: Set<string>;
  /** Connections so far. */
  connections(): number;
  /** How often a part was played rather than SMTP spoken. */
  acted(): number;
  play(part: Part | null): void;
  dropConnections(): void;
  close(): Promise<void>;
  /** Listens again on the same port. */
  open(): Promise<void>;
};

const proper: Record<Stage, string> = {
  greeting: '220 actor ESMTP',
  EHLO: '250-actor\r\n250 AUTH PLAIN',
  STARTTLS: '220 go ahead',
  AUTH: '235 welcome',
  MAIL: '250 ok',
  RCPT: '250 ok',
  DATA: '354 go ahead',
  end: '250 queued',
};

export async function startSmtpActor(): Promise<SmtpActor> {
  const sockets = new Set<Socket>();
  const messages: Message[] = [];
  const recipients = new Set<string>();
  const counts = { connections: 0, acted: 0 };
  let part: Part | null = null;

  const serve = (socket: Socket): void => {
    counts.connections += 1;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    let to = '';
    let body: string[] | null = null;
    let rest = '';

    /** Answers whether the proper answer was given. */
    const reply = (stage: Stage, link = ''): boolean => {
      const act = part?.(stage, { to, link });
      if (act === undefined) {
        socket.write(`${proper[stage]}\r\n`);
        return true;
      }
      counts.acted += 1;
      if (act === 'drop') socket.destroy();
      else if (act === 'drop after') socket.end(`${proper[stage]}\r\n`, () => socket.destroy());
      else if (act !== 'hang') socket.write(act.say);
      return act === 'drop after';
    };
    const finish = (lines: string[]): void => {
      const raw = lines.join('\n').replace(/=\n/g, '').replace(/=3D/g, '=');
      const link = /\S+#token=[\w-]+/.exec(raw)?.[0] ?? '';
      const token = /#token=([\w-]+)/.exec(raw)?.[1] ?? null;
      if (token) watch.note(token, 'token of a mail');
      const id = /^Message-ID: (\S+)/im.exec(raw)?.[1] ?? '';
      const message: Message = { id, to, token, accepted: false };
      messages.push(message);
      message.accepted = reply('end', link);
    };
    const onLine = (line: string): void => {
      if (body) {
        if (line !== '.') body.push(line);
        else {
          const lines = body;
          body = null;
          finish(lines);
        }
        return;
      }
      const verb = line.slice(0, 4).toUpperCase();
      if (verb === 'EHLO' || verb === 'HELO') reply('EHLO');
      else if (verb === 'STAR') reply('STARTTLS');
      else if (verb === 'AUTH') reply('AUTH');
      else if (verb === 'MAIL') reply('MAIL');
      else if (verb === 'RCPT') {
        to = /<(.*)>/.exec(line)?.[1] ?? line;
        recipients.add(to);
        reply('RCPT');
      } else if (verb === 'DATA') {
        if (reply('DATA')) body = [];
      } else if (verb === 'QUIT') socket.end('221 bye\r\n');
      else socket.write('250 ok\r\n');
    };
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split(/\r\n/);
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(line);
    });
    reply('greeting');
  };

  let server: Server;
  let port = 0;
  const open = async (): Promise<void> => {
    server = createServer(serve);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, '127.0.0.1', resolve);
    });
    port = (server.address() as AddressInfo).port;
  };
  const dropConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  await open();
  return {
    get port() {
      return port;
    },
    messages,
    recipients,
    connections: () => counts.connections,
    acted: () => counts.acted,
    play: (next) => {
      part = next;
    },
    dropConnections,
    close: async () => {
      dropConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
    open,
  };
}
