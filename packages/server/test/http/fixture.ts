// What the tests of the HTTP layer share: the list of routes, raw sockets, a cuttable line to the database.
// It must not judge answers.
import assert from 'node:assert/strict';
import net, { type AddressInfo, type Socket } from 'node:net';
import { buildApp } from '../../src/app.ts';
import type { DeclaredRoute } from '../../src/platform/http/route-config.ts';
import type { Answer, TestClient } from '../client.ts';
import type { Hooks, TestService } from '../harness.ts';

/** Every route of the application, HEAD twins left out, with an address that fits its pattern. */
export async function routesOf(service: TestService): Promise<(DeclaredRoute & { path: string })[]> {
  const app = await buildApp(service.service.deps);
  await app.ready();
  const routes = app.declaredRoutes
    .filter(({ method }) => method !== 'HEAD')
    .map((route) => ({ ...route, path: route.url.replaceAll(/:\w+/g, ABSENT_ID).replaceAll('*', 'x') }));
  await app.close();
  return routes;
}

/** A UUID that names nothing. */
export const ABSENT_ID = '00000000-0000-4000-8000-000000000000';

export const isUnsafe = ({ method }: { method: string }): boolean =>
  !['GET', 'HEAD', 'OPTIONS'].includes(method);

/** The answer is this error, in the shape that all errors have. */
export function assertRefused(answer: Answer, status: number, code: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.body.code, code, answer.text);
  assert.equal(answer.body.request_id, answer.headers.get('x-request-id'));
}

/** Sends these bytes and answers everything that comes back until the other side closes. */
export function sendRaw(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = net.connect(Number(port), hostname);
  let received = '';
  socket.setTimeout(10_000, () => socket.destroy(new Error('no answer in 10 s')));
  socket.on('data', (chunk) => {
    received += chunk;
  });
  socket.on('error', reject);
  socket.on('close', () => resolve(received));
  socket.write(bytes);
  return promise;
}

/** Status, header fields and body of one raw answer. */
export function readRaw(text: string): Answer {
  const [head = '', body = ''] = text.split(/\r\n\r\n(.*)/s);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    parsed = undefined;
  }
  return { status: Number(statusLine.split(' ')[1]), headers, text: body, body: parsed };
}

/** JSON text exactly as given. */
export const postText = (client: TestClient, path: string, text: string | Buffer): Promise<Answer> =>
  client.request('POST', path, { raw: text, headers: { 'content-type': 'application/json' } });

export type Line = {
  /** The database's URL, by way of the line. */
  url: string;
  /** New connections are refused, those there are end. */
  cut(): Promise<void>;
  restore(): Promise<void>;
  /** Connections stay open, and nothing passes any more: a server that went away without a word. */
  silence(): void;
};

/** A TCP relay to the database of this URL. */
export async function relayTo(t: Hooks, databaseUrl: string): Promise<Line> {
  const target = new URL(databaseUrl);
  const host = decodeURIComponent(target.hostname);
  const connect = (): Socket =>
    host.startsWith('/')
      ? net.connect({ path: `${host}/.s.PGSQL.${target.port || 5432}` })
      : net.connect(Number(target.port || 5432), host);
  const sockets = new Set<Socket>();
  const silent = new WeakSet<Socket>();
  const server = net.createServer((near) => {
    const far = connect();
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on('error', () => undefined);
      one.on('close', () => {
        sockets.delete(one);
        // Nor does the other end learn then that this one has gone.
        if (!silent.has(one)) other.destroy();
      });
    }
  });
  let port = 0;
  const restore = async (): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
    await promise;
    port = (server.address() as AddressInfo).port;
  };
  const cut = async (): Promise<void> => {
    if (!server.listening) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    server.close(() => resolve());
    for (const socket of sockets) socket.destroy();
    await promise;
  };
  await restore();
  t.after(cut);
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const silence = (): void => {
    for (const socket of sockets) {
      silent.add(socket);
      socket.unpipe().pause();
    }
  };
  return { url: url.href, cut, restore, silence };
}
