// Serves /metrics on a separate address. Every client that reaches it by one of its names may read: there is no other
// protection.
// It must not answer anything else, nor know a metric.
import { chmod, lstat, unlink } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Logger } from '../logging/log.ts';
import { errorCode } from '../unknown-values.ts';
import type { MetricsAddress } from './address.ts';
import { isOwnHost } from './hosts.ts';

export type Exposition = { contentType: string; text: string };

export type MetricsServer = {
  /** Null for a socket. */
  port: number | null;
  close(): Promise<void>;
};

// A scraper sends a few hundred bytes at once and reads the answer at once.
const REQUEST_TIMEOUT_MS = 5_000;
/** Also for an answer that nobody reads, which would hold its connection. Longer than metrics are collected. */
const IDLE_TIMEOUT_MS = 15_000;
const MAX_CONNECTIONS = 20;
const MAX_HEADER_BYTES = 8_192;
/** The owner, and a group that the operator gives the folder of the socket to. */
const SOCKET_MODE = 0o660;

export type MetricsOptions = {
  expose: () => Promise<Exposition>;
  log: Logger;
  /** Names besides IP addresses and those without a dot. A socket takes any: no browser reaches it. */
  hosts: readonly string[];
};

/** Listens. Rejects if the address cannot be used. */
export async function serveMetrics(
  address: MetricsAddress,
  { expose, log, hosts, idleTimeoutMs = IDLE_TIMEOUT_MS }: MetricsOptions & { idleTimeoutMs?: number },
): Promise<MetricsServer> {
  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: REQUEST_TIMEOUT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    },
    (request, response) => {
      if ('port' in address && !isOwnHost(request.headers.host, hosts)) return refuse(response, 403);
      answer(request, response, expose).catch((error: unknown) => {
        log.error({ err: error }, 'metrics could not be collected');
        if (!response.headersSent) refuse(response, 500);
        else response.destroy();
      });
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = idleTimeoutMs;
  if ('path' in address) await removeStaleSocket(address.path);
  await listen(server, address);
  if ('path' in address) await chmod(address.path, SOCKET_MODE);
  server.on('error', (error) => log.warn({ err: error }, 'metrics: a connection was not accepted'));
  const listening = server.address();
  return {
    port: typeof listening === 'object' && listening !== null ? listening.port : null,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const listen = (server: Server, address: MetricsAddress): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, () => {
      server.off('error', reject);
      resolve();
    });
  });

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  expose: () => Promise<Exposition>,
): Promise<void> {
  const { method, url = '' } = request;
  // The end of the request is not waited for: no request here has a body.
  if (!/^\/metrics(\?|$)/.test(url)) return refuse(response, 404);
  if (method !== 'GET' && method !== 'HEAD') return refuse(response, 405, { allow: 'GET, HEAD' });
  const { contentType, text } = await expose();
  response.writeHead(200, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  response.end(method === 'HEAD' ? undefined : text);
}

function refuse(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  response.writeHead(status, { ...headers, 'content-length': 0, connection: 'close' }).end();
}

/** Removes a socket that nobody listens on, such as one of a killed process. Leaves every other file alone. */
async function removeStaleSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSocket() && !(await isListenedOn(path))) await unlink(path);
}

const isListenedOn = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = connect(path)
      .once('connect', () => {
        probe.destroy();
        resolve(true);
      })
      .once('error', (error) => resolve(errorCode(error) !== 'ECONNREFUSED'));
  });
