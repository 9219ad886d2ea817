// Makes each request a trace, or a part of one. Add it before every other hook.
// It must not trust what a header says about traces: tracing decides by the peer.
import type { FastifyInstance } from 'fastify';
import { within } from '../../logging/current-trace.ts';
import type { TrustedProxies } from '../../security/client-address.ts';
import type { RequestTrace, Tracing } from '../../tracing/tracing.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if tracing is off, and for requests that no hook has seen. */
    trace: RequestTrace | null;
  }
}

export function addTracing(app: FastifyInstance, tracing: Tracing, trusted: TrustedProxies): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { traceparent } = request.headers;
    const trace = tracing.beginRequest({
      method: request.method,
      route: request.routeOptions.url,
      traceparent: typeof traceparent === 'string' ? traceparent : undefined,
      isTrusted: trusted.matches(request.raw.socket.remoteAddress ?? ''),
    });
    request.trace = trace;
    within(trace, done);
  });
  // The body arrives by events of the connection, which belong to no request.
  app.addHook('preValidation', ({ trace }, _reply, done) => {
    if (trace) within(trace, done);
    else done();
  });
  app.addHook('onResponse', ({ trace, refusal }, reply, done) => {
    trace?.end(reply.statusCode, refusal);
    done();
  });
}
