// Closes keep-alive connections when the instance stops: first as requests are answered, then all that remain.
// It must not refuse a request that was accepted.
import type { FastifyInstance } from 'fastify';
import { exchangesOf } from './pipelining.ts';

// How long running requests may take after the server stopped listening. Supervisors commonly kill after 10 s.
const GRACE_MS = 7_000;

/** Adds `Connection: close` to responses while `isStopping` returns true, and always once the server closes. */
export function closeWithGrace(app: FastifyInstance, isStopping: () => boolean = () => false): void {
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
    setTimeout(() => app.server.closeAllConnections(), GRACE_MS).unref();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    // Node drops requests that were pipelined after such a response, so only the last response gets the header.
    const isLast = (): boolean => exchangesOf(request.raw.socket).at(-1)?.request === request.raw;
    if ((closing || isStopping()) && isLast()) reply.header('connection', 'close');
    done(null, payload);
  });
}
