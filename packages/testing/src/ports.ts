// Finds ports for the servers of tests. It must not start the servers under test.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * Systems give connections and servers on port 0 a port from 32,768 on (Linux) or 49,152 (IANA's dynamic ports, macOS). A busy
 * run opens thousands of those while a service starts, and would take a port that was free before.
 */
const ASSIGNABLE = { from: 20_000, below: 32_768 };
const MAX_ATTEMPTS = 50;
const returned = new Set<number>();

/** Returns the TCP port that the server listens on. Throws when it does not listen on one. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no TCP port');
  return address.port;
}

/**
 * Returns a TCP port of the loopback address that nothing listens on and that the system gives to nobody, another one at
 * each call. Only a program that names this port can take it. Throws when 50 ports in a row are taken.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const port = randomInt(ASSIGNABLE.from, ASSIGNABLE.below);
    if (returned.has(port) || !(await isFree(port))) continue;
    returned.add(port);
    return port;
  }
  throw new Error(`${MAX_ATTEMPTS} ports in a row are taken`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  }
}
