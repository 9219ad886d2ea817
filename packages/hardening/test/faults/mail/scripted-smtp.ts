// A scripted mail server on loopback: at each stage of SMTP it answers properly, or does what the script says.
// It must keep every message whose last line it received, whatever it answered.
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { watch } from '@castellan/testing/secret-watch';

export type Stage = 'greeting' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'end';
/** Says a text, stops answering, closes the connection, or closes it after a proper answer. */
export type Action = { say: string } | 'hang' | 'drop' | 'drop after';
/** Returns the action at this stage; undefined for the proper answer. */
export type Script = (stage: Stage, about: { to: string; link: string }) => Action | undefined;

export type Message = { id: string; to: string; token: string | null; accepted: boolean };

export type ScriptedSmtp = {
  port: number;
  messages: Message[];
  /** All recipients that were named, also of messages that were never completed. */
  recipients: Set<string>;
  /** The number of connections so far. */
  connections(): number;
  /** How often an action of a script replaced the proper answer. */
  deviations(): number;
  /** Whether the current script has left a client without an answer. */
  hasHung(): boolean;
  follow(script: Script | null): void;
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

export async function startScriptedSmtp(): Promise<ScriptedSmtp> {
  const sockets = new Set<Socket>();
  const messages: Message[] = [];
  const recipients = new Set<string>();
  const counts = { connections: 0, deviations: 0, hung: 0 };
  let script: Script | null = null;

  const serve = (socket: Socket): void => {
    counts.connections += 1;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    let to = '';
    let body: string[] | null = null;
    let rest = '';

    /** Replies. Returns whether it was the proper answer. */
    const reply = (stage: Stage, link = ''): boolean => {
      const action = script?.(stage, { to, link });
      if (action === undefined) {
        socket.write(`${proper[stage]}\r\n`);
        return true;
      }
      counts.deviations += 1;
      if (action === 'hang') counts.hung += 1;
      if (action === 'drop') socket.destroy();
      else if (action === 'drop after') socket.end(`${proper[stage]}\r\n`, () => socket.destroy());
      else if (action !== 'hang') socket.write(action.say);
      return action === 'drop after';
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
    const behindRelay = (line: string): void => {
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
      for (const line of lines) behindRelay(line);
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
    deviations: () => counts.deviations,
    hasHung: () => counts.hung > 0,
    follow: (next) => {
      script = next;
      counts.hung = 0;
    },
    dropConnections,
    close: async () => {
      dropConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
    open,
  };
}
