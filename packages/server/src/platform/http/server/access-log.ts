// Writes one line per answer, as pino would write it. No field can be a secret, and none needs an escape, except the
// pattern of the route: building the object, redacting it and escaping its texts took 7 % of a short request.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Logger, outputOf } from '../../logging/log.ts';

export type AccessLog = (request: FastifyRequest, reply: FastifyReply) => void;

/** Returns a function that writes the access line of an answer, at level `info`. */
export function createAccessLog(log: Logger): AccessLog {
  const output = outputOf(log);
  const time = createTimeText();
  const routes = new Map<string | undefined, string>();
  const textOf = (route: string | undefined): string => {
    const known = routes.get(route);
    if (known !== undefined) return known;
    const text = JSON.stringify(route ?? null);
    routes.set(route, text);
    return text;
  };

  return (request, reply) => {
    if (!log.isLevelEnabled('info')) return;
    // Ids are generated or checked to need no escape (client.ts, tracing.ts); methods are those of Node's parser; codes and
    // addresses are ours.
    const code = request.refusal ? `,"code":"${request.refusal}"` : '';
    const address = request.client ? `,"address":"${request.client.address}"` : '';
    const traceId = request.trace?.traceId;
    const trace = traceId === undefined ? '' : `,"trace_id":"${traceId}"`;
    const route = textOf(request.routeOptions.url);
    output.write(
      `{"level":"info","time":"${time()}","request_id":"${request.id}","method":"${request.method}","route":${route}` +
        `,"status":${reply.statusCode}${code},"duration_ms":${Math.round(reply.elapsedTime * 10) / 10}${address}${trace}}\n`,
    );
  };
}

/** Returns a clock of ISO 8601 texts, which writes each millisecond once. */
function createTimeText(): () => string {
  let last = 0;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== last) {
      last = now;
      text = new Date(now).toISOString();
    }
    return text;
  };
}
