// What the tests of the HTTP layer share: the list of routes, raw sockets, and a relay to the database that can fail.
// It must not judge answers.
import assert from 'node:assert/strict';
import net, { type Socket } from 'node:net';
import type { ErrorCode } from '@castellan/contract/errors';
import { buildApp } from '@castellan/server/app';
import type { DeclaredRoute } from '@castellan/server/platform/http/server/route-config';
import type { Answer, TestClient } from '../client.ts';
import type { Hooks, TestService } from '../harness.ts';
import { portOf } from '../ports.ts';
import { FORM_TYPE } from '../service-accounts/token-services.ts';

/** Returns every route of the application except the HEAD ones, with a path that matches its pattern. */
export async function routesOf(service: TestService): Promise<(DeclaredRoute & { path: string })[]> {
  const app = await buildApp(service.service.deps);
  await app.ready();
  const routes = app.declaredRoutes
    .filter(({ method }) => method !== 'HEAD')
    .map((route) => ({ ...route, path: route.url.replaceAll(/:\w+/g, ABSENT_ID).replaceAll('*', 'x') }));
  await app.close();
  return routes;
}

/** A UUID that no record has. */
export const ABSENT_ID = '00000000-0000-4000-8000-000000000000';

export const isUnsafe = ({ method }: { method: string }): boolean =>
  !['GET', 'HEAD', 'OPTIONS'].includes(method);

/**
 * Returns a body that every operation refuses once it has authorized the caller: JSON that cannot be parsed, or a form
 * without a field, because credentials in a form are read after it is parsed.
 */
export const refusedBody = ({
  method,
  config: { form },
}: DeclaredRoute): { raw?: string; headers: Record<string, string> } =>
  method === 'GET'
    ? { headers: {} }
    : form
      ? { raw: '', headers: { 'content-type': FORM_TYPE } }
      : { raw: '{', headers: { 'content-type': 'application/json' } };

/** Asserts that the answer is this error, in the shape that all errors have. */
export function assertRefused(answer: Answer, status: number, code: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.body.code, code, answer.text);
  assert.equal(answer.body.request_id, answer.headers.get('x-request-id'));
}

/**
 * Asserts that the answer of this route is this error, in the shape that the errors of the route have: `code` is what the
 * service calls it.
 */
export function assertRefusedBy(
  { config: { errorShape } }: DeclaredRoute,
  answer: Answer,
  status: number,
  code: ErrorCode,
): void {
  if (errorShape) {
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.body.error, errorShape.codeOf(code), answer.text);
  } else assertRefused(answer, status, code);
}

/** Sends these bytes and returns everything that comes back until the service closes the connection. */
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

/** Parses one raw answer into its status, headers and body. */
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

/** Sends this JSON text unchanged. */
export const postText = (
  client: TestClient,
  path: string,
  text: string | Buffer<ArrayBuffer>,
): Promise<Answer> =>
  client.request('POST', path, { raw: text, headers: { 'content-type': 'application/json' } });

export type DatabaseRelay = {
  /** The database's URL through the relay. */
  url: string;
  /** Refuses new connections and closes the existing ones. */
  cut(): Promise<void>;
  restore(): Promise<void>;
  /** Keeps connections open without passing on anything, like a server that has disappeared. */
  silence(): void;
};

/** Starts a TCP relay to the database of this URL. It is cut when the test ends. */
export async function relayTo(t: Hooks, databaseUrl: string): Promise<DatabaseRelay> {
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
        // A silent relay does not pass on the end of a connection either.
        if (!silent.has(one)) other.destroy();
      });
    }
  });
  let port = 0;
  const restore = async (): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
    await promise;
    port = portOf(server);
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
