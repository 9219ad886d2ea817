// Ends connections when the server closes: answered requests first, then whatever still lingers.
// It must not refuse a request that was accepted before.
import type { FastifyInstance } from 'fastify';

// Within the 10 s that common supervisors wait before they kill, with time left for what follows.
const GRACE_MS = 7_000;

export function closeWithGrace(app: FastifyInstance): void {
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
    setTimeout(() => app.server.closeAllConnections(), GRACE_MS).unref();
  });
  // A connection that turned idle only now would otherwise stay for its whole keep-alive time.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) reply.header('connection', 'close');
    done(null, payload);
  });
}
