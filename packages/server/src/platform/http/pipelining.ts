// What each connection still has to answer or to read; and how much that may be: requests come as fast as a peer writes
// them, whether or not it reads. It must not refuse or reorder any, and must leave an ordinary connection alone.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export type Exchange = { request: IncomingMessage; response: ServerResponse };

type Connection = {
  /** Oldest first, those that are held included. */
  open: Set<Exchange>;
  /** Parsed and not begun, oldest first: one read of the socket (64 KiB) may hold thousands of requests. */
  held: Exchange[];
  /** Nothing is read until some of them are answered. */
  stopped: boolean;
};

// Browsers do not pipeline, and clients that do send a handful. Fewer than the database connections of an instance (20),
// so that nobody takes all of them by one connection.
const MAX_OPEN = 16;

const connections = new WeakMap<Socket, Connection>();

/** Oldest first. */
export const exchangesOf = (socket: Socket): Exchange[] => [...(connections.get(socket)?.open ?? [])];

/** To be called once, after the application has attached its listener and before the server listens. */
export function trackRequests(server: Server): void {
  const listeners = server.listeners('request') as RequestListener[];
  const begin = ({ request, response }: Exchange): void => {
    for (const listener of listeners) listener.call(server, request, response);
  };
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const { socket } = request;
    const connection = connections.get(socket) ?? newConnection(socket);
    const { open, held } = connection;
    const exchange = { request, response };
    open.add(exchange);
    const settle = (): void => {
      if (!request.complete || !response.closed) return;
      open.delete(exchange);
      if (connection.stopped) goOn(socket, connection, begin);
    };
    response.once('close', settle);
    request.once('close', settle);
    if (open.size >= MAX_OPEN) stop(socket, connection);
    if (open.size > MAX_OPEN) held.push(exchange);
    else begin(exchange);
  });
}

function newConnection(socket: Socket): Connection {
  const connection: Connection = { open: new Set(), held: [], stopped: false };
  connections.set(socket, connection);
  // Node resumes a socket by itself as well, when it has read a body or thrown one away.
  socket.on('resume', () => {
    if (connection.stopped) socket.pause();
  });
  return connection;
}

function stop(socket: Socket, connection: Connection): void {
  connection.stopped = true;
  socket.pause();
}

/** Only the newest request can lack a part of its body: the others end without a read, so that this comes to run. */
function goOn(socket: Socket, connection: Connection, begin: (exchange: Exchange) => void): void {
  const { open, held } = connection;
  // Whom an answer told that the connection ends gets no other one, and what he asked for is not begun.
  if (!socket.writable) return;
  while (held.length > 0 && open.size - held.length < MAX_OPEN) begin(held.shift() as Exchange);
  if (open.size >= MAX_OPEN) return;
  connection.stopped = false;
  // Where Node itself waits for the peer to read, it stops the socket again.
  socket.resume();
}
