// Reads the port of a server that the tests started. It must not start or stop one.
import type { Server } from 'node:net';

/** Returns the TCP port that the server listens on. Throws when it does not listen on one. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no TCP port');
  return address.port;
}
