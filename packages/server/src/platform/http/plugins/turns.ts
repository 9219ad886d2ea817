// Limits the concurrent requests of one user: a few run, some wait in order of arrival, the rest are refused.
// It must not know users: the application provides the key.
import type { FastifyRequest } from 'fastify';
import type { Gate, Leave } from '../../limits/gate.ts';
import { ClientGoneError, isGone } from '../gone.ts';
import { hook } from '../hooks.ts';
import type { App } from '../server/server.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Ends the turn of this request; null if it has none. */
    leaveTurn: Leave | null;
    /** Whether the request waited for its turn: what was checked before is stale. */
    waitedForTurn: boolean;
  }
}

export type TurnOptions = {
  /** For state-changing requests. */
  changes: Gate;
  /** For GET and HEAD, and for routes with `readOnly`. */
  reads: Gate;
  /** Returns the user's key; null for a request without a user, which needs no turn. */
  keyOf(request: FastifyRequest): string | null;
};

/** Add it before every other preHandler hook: what those check must hold after the wait. */
export function addTurns(app: App, { changes, reads, keyOf }: TurnOptions): void {
  app.decorateRequest('leaveTurn', null);
  app.decorateRequest('waitedForTurn', false);
  const wait = async (request: FastifyRequest, turn: Promise<Leave>): Promise<void> => {
    request.leaveTurn = await turn;
    request.waitedForTurn = true;
  };
  app.addHook(
    'preHandler',
    hook((request, reply) => {
      if (isGone(reply.raw)) throw new ClientGoneError();
      const { turn: takesTurn = true, readOnly = false } = request.routeOptions.config;
      const key = takesTurn ? keyOf(request) : null;
      if (key === null) return undefined;
      const gate = readOnly || request.method === 'GET' || request.method === 'HEAD' ? reads : changes;
      const turn = gate.enter(key, request.client);
      if (turn instanceof Promise) return wait(request, turn);
      request.leaveTurn = turn;
      return undefined;
    }),
  );
  // Runs for every response, also when the client has disconnected: the work is done by then. A stream continues with
  // short statements after this; its reader may take a minute and must not delay the user's other requests.
  app.addHook('onSend', (request, _reply, payload, done) => {
    request.leaveTurn?.();
    done(null, payload);
  });
}
