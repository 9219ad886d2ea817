// Reads the port of a server that the tests started. It must not start the servers under test.
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Returns the TCP port that the server listens on. Throws when it does not listen on one. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no TCP port');
  return address.port;
}

/** Returns a TCP port of the loopback address that nothing listens on. Another process may take it before its use. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
