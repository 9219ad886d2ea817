// What stands around a gateway in these tests: a product that tells what reached it, and a relay in front of Castellan.
// It must not judge: the tests compare what was seen.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Hooks } from '@castellan/testing/harness';
import { portOf } from '@castellan/testing/ports';

export type Seen = { method: string; url: string; headers: [name: string, value: string][]; bytes: number };

async function seen(message: IncomingMessage): Promise<Seen & { digest: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of message) {
    bytes += chunk.length;
    hash.update(chunk);
  }
  const { method = '', url = '', rawHeaders } = message;
  const headers = rawHeaders.flatMap((name, n): [string, string][] =>
    n % 2 === 0 ? [[name.toLowerCase(), rawHeaders[n + 1] ?? '']] : [],
  );
  return { method, url, headers, bytes, digest: hash.digest('hex') };
}

export type Product = { port: number; seen: (Seen & { digest: string })[] };

/** Starts a product that answers 200 to everything, 418 below /orders/teapot, 500 below /orders/broken, and echoes over websockets. */
export async function startProduct(t: Hooks): Promise<Product> {
  const product: Product = { port: 0, seen: [] };
  const server = createServer(async (message, response) => {
    product.seen.push(await seen(message));
    const status = message.url === '/orders/teapot' ? 418 : message.url === '/orders/broken' ? 500 : 200;
    response.writeHead(status, { 'X-Product': 'yes' }).end('of the product');
  });
  server.on('upgrade', (message, socket: Socket) => {
    void seen(message).then((one) => product.seen.push(one));
    // RFC 6455, section 4.2.2: the proof that the server speaks the protocol, for the key of section 1.3.
    const proof = 'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=';
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${proof}\r\n\r\n`,
    );
    socket.pipe(socket);
  });
  product.port = await listening(t, server);
  return product;
}

type Reaction = (message: IncomingMessage, response: ServerResponse) => void;

export type Relay = {
  port: number;
  asked: Seen[];
  /** Reacts instead of Castellan to the next questions, until it is undefined again. */
  instead: Reaction | undefined;
  /** Refuses connections until `open`. */
  close(): Promise<void>;
  open(): Promise<void>;
};

/** Starts what the gateway takes for Castellan: it records each question, and passes it on unless a test says otherwise. */
export async function startRelay(t: Hooks, castellan: string): Promise<Relay> {
  const server = createServer(async (message, response) => {
    relay.asked.push(await seen(message));
    if (relay.instead) return relay.instead(message, response);
    const target = new URL(message.url ?? '', castellan);
    request(target, { method: message.method ?? '', headers: message.headers }, (answer) => {
      const { statusCode = 0, rawHeaders } = answer;
      response.writeHead(statusCode, rawHeaders);
      answer.pipe(response);
    }).end();
  });
  const relay: Relay = {
    port: 0,
    asked: [],
    instead: undefined,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
    async open() {
      server.listen(relay.port, '127.0.0.1');
      await once(server, 'listening');
    },
  };
  relay.port = await listening(t, server);
  return relay;
}

async function listening(t: Hooks, server: ReturnType<typeof createServer>): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return portOf(server);
}

/** Ends what hangs: every gateway gives up before. */
const HANG_MS = 60_000;

export type Told = { status: number; headers: IncomingMessage['headers']; text: string };

/** A request as a client may spell it: the path is sent as it is, headers too. */
export type Spelling = {
  method?: string;
  path: string;
  headers?: readonly string[];
  body?: Buffer;
  agent?: Agent;
};

/** Sends the request on a connection of its own, or of the agent, and resolves with the answer. */
export function send(
  port: number,
  { method = 'GET', path, headers = [], body, agent }: Spelling,
): Promise<Told> {
  const { promise, resolve, reject } = Promise.withResolvers<Told>();
  const length = body === undefined ? [] : ['Content-Length', String(body.length)];
  const all = [
    'Host',
    'orders.example.com',
    ...(agent ? [] : ['Connection', 'close']),
    ...length,
    ...headers,
  ];
  const asking = request(
    { host: '127.0.0.1', port, method, path, headers: all, agent: agent ?? false },
    (answer) => {
      const chunks: Buffer[] = [];
      answer
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('error', reject)
        .on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        );
    },
  );
  asking.setTimeout(HANG_MS, () => asking.destroy(new Error(`no answer to ${method} ${path}`)));
  asking.on('error', reject).end(body);
  return promise;
}

/** Asks for a websocket and sends a text over it. Resolves with what comes back, or with the status of an answer. */
export function echo(port: number, path: string, headers: Record<string, string | string[]>, text: string) {
  const { promise, resolve, reject } = Promise.withResolvers<string | number>();
  const upgrade = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  request({ host: '127.0.0.1', port, path, headers: { ...upgrade, ...headers }, agent: false })
    .on('upgrade', (_answer, socket) => {
      socket.once('data', (chunk: Buffer) => {
        socket.destroy();
        resolve(chunk.toString());
      });
      socket.write(text);
    })
    .on('response', (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    })
    .on('error', reject)
    .end();
  return promise;
}
