// Tracks the unanswered requests of each connection and limits their number: a client can send requests faster than it
// reads responses. It must not refuse or reorder requests, nor affect a connection that does not pipeline.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export type Exchange = { request: IncomingMessage; response: ServerResponse };

type Connection = {
  /** Unanswered requests, oldest first, including the held ones. */
  open: Set<Exchange>;
  /** Parsed but not started, oldest first: one read of the socket (64 KiB) may contain thousands of requests. */
  held: Exchange[];
  /** Whether reading is paused until some of them are answered. */
  stopped: boolean;
};

// Browsers do not pipeline, and other clients pipeline only a few requests. Fewer than the database connections of an
// instance (20), so that one client connection cannot use all of them.
const MAX_OPEN = 16;

const connections = new WeakMap<Socket, Connection>();

/** Returns the unanswered requests of a connection, oldest first. */
export const exchangesOf = (socket: Socket): Exchange[] => [...(connections.get(socket)?.open ?? [])];

/** Call it once, after the application has attached its listener and before the server listens. */
export function trackRequests(server: Server): void {
  const listeners = server.listeners('request');
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
      if (!request.complete) return;
      open.delete(exchange);
      if (connection.stopped) resume(socket, connection, begin);
    };
    // Usually the request is complete by then; one that is refused before its body came is read to its end.
    response.on('close', () => {
      if (request.complete) settle();
      else request.once('close', settle);
    });
    if (open.size >= MAX_OPEN) stop(socket, connection);
    if (open.size > MAX_OPEN) held.push(exchange);
    else begin(exchange);
  });
}

function newConnection(socket: Socket): Connection {
  const connection: Connection = { open: new Set(), held: [], stopped: false };
  connections.set(socket, connection);
  // Node resumes a socket itself after it has read or discarded a body.
  socket.on('resume', () => {
    if (connection.stopped) socket.pause();
  });
  return connection;
}

function stop(socket: Socket, connection: Connection): void {
  connection.stopped = true;
  socket.pause();
}

/**
 * Starts held requests and reads again. Only the newest request can have an incomplete body; the others end without
 * another read, so this function is always reached.
 */
function resume(socket: Socket, connection: Connection, begin: (exchange: Exchange) => void): void {
  const { open, held } = connection;
  // After a response with `Connection: close`, the client gets no further response, and its other requests are not
  // started.
  if (!socket.writable) return;
  while (open.size - held.length < MAX_OPEN) {
    const next = held.shift();
    if (!next) break;
    begin(next);
  }
  if (open.size >= MAX_OPEN) return;
  connection.stopped = false;
  // Node pauses the socket again if it waits for the client to read.
  socket.resume();
}
