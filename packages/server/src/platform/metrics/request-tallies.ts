// Counts answered requests by the pattern of their route, for /metrics. A request costs a few additions: no label is
// built for it. It must not keep anything that a client can choose.
import type { ErrorCode } from '@castellan/contract/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createHistogram, type Histogram } from './histogram.ts';

/** What one method of one route has answered. */
type RouteTally = {
  readonly method: string;
  /** The pattern, or `none` where no route matched. */
  readonly route: string;
  /** Status → answers. */
  readonly statuses: Map<number, number>;
  /** Error code → refusals. */
  readonly refusals: Map<ErrorCode, number>;
  /** Response times in seconds. */
  readonly durations: Histogram;
};

export type RequestTallies = {
  /** Counts an answer. Call it once for each, after it was sent. */
  add(request: FastifyRequest, reply: FastifyReply): void;
  /** Returns the routes that have answered, in no order. */
  all(): Iterable<RouteTally>;
};

// Seconds: from a lookup on loopback to the longest wait for a turn.
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

// Fastify accepts no other methods on routes. Node's parser knows some 30 more, for requests that match no route.
const routeMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const open = (method: string, route: string): RouteTally => ({
  method,
  route,
  statuses: new Map(),
  refusals: new Map(),
  durations: createHistogram(bounds),
});

const increment = <K>(counts: Map<K, number>, key: K): void =>
  void counts.set(key, (counts.get(key) ?? 0) + 1);

export function createRequestTallies(): RequestTallies {
  // The config of a route is one object for as long as the service runs.
  const ofRoutes = new Map<object, RouteTally>();
  const unmatched = new Map(routeMethods.map((method) => [method, open(method, 'none')]));
  const unmatchedOther = open('other', 'none');

  function tallyOf({ routeOptions: { config, url }, method }: FastifyRequest): RouteTally {
    const known = ofRoutes.get(config);
    if (known) return known;
    if (url === undefined) return unmatched.get(method) ?? unmatchedOther;
    const made = open(method, url);
    ofRoutes.set(config, made);
    return made;
  }

  return {
    add(request, reply) {
      const tally = tallyOf(request);
      increment(tally.statuses, reply.statusCode);
      tally.durations.add(reply.elapsedTime / 1_000);
      if (request.refusal) increment(tally.refusals, request.refusal);
    },
    *all() {
      for (const tally of [...ofRoutes.values(), ...unmatched.values(), unmatchedOther])
        if (tally.statuses.size > 0) yield tally;
    },
  };
}
