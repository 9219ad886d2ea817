// Tells whether the client of a request is still connected. Requests of closed connections are not processed.
// It must not close a connection.
import type { ServerResponse } from 'node:http';

/** The client closed the connection before the response was sent. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';

  constructor() {
    super('the client closed the connection');
  }
}

const signals = new WeakMap<ServerResponse, AbortSignal>();

/** Returns a signal that aborts with a ClientGoneError if the connection closes before the response is sent. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const known = signals.get(response);
  if (known) return known;
  const controller = new AbortController();
  const judge = (): void => {
    if (!response.writableFinished) controller.abort(new ClientGoneError());
  };
  if (isGone(response)) judge();
  else response.once('close', judge);
  signals.set(response, controller.signal);
  return controller.signal;
}

export const isGone = (response: ServerResponse): boolean => response.closed || response.req.socket.destroyed;
