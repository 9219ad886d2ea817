// Metrics of requests and of the connections that they arrive on.
import { type Definition, type Sample, single } from './definition.ts';

export const requestMetrics: readonly Definition[] = [
  {
    name: 'castellan_http_requests_total',
    type: 'counter',
    help: 'Answered requests. `route` is the pattern of the path, or `none` where no route matched.',
    labels: ['method', 'route', 'status'],
    read: ({ tallies }) =>
      [...tallies.requests.all()].flatMap(({ method, route, statuses }): Sample[] =>
        [...statuses].map(([status, value]) => ({
          labels: { method, route, status: String(status) },
          value,
        })),
      ),
  },
  {
    name: 'castellan_http_request_duration_seconds',
    type: 'histogram',
    help: 'Time from the head of a request until its answer was sent.',
    labels: ['method', 'route'],
    read: ({ tallies }) =>
      [...tallies.requests.all()].map(({ method, route, durations }) => ({
        labels: { method, route },
        histogram: durations,
      })),
  },
  {
    name: 'castellan_http_refusals_total',
    type: 'counter',
    help: 'Refused and failed requests by the code of the error. `rate_limited` and `overloaded` are those of the limits.',
    labels: ['method', 'route', 'code'],
    read: ({ tallies }) =>
      [...tallies.requests.all()].flatMap(({ method, route, refusals }): Sample[] =>
        [...refusals].map(([code, value]) => ({ labels: { method, route, code }, value })),
      ),
  },
  single(
    'counter',
    'castellan_step_ups_required_total',
    'Requests that were refused until their user proves more (`step_up_required`).',
    ({ tallies }) =>
      [...tallies.requests.all()].reduce(
        (sum, { refusals }) => sum + (refusals.get('step_up_required') ?? 0),
        0,
      ),
  ),
  single(
    'gauge',
    'castellan_http_connections',
    'Open connections of clients.',
    ({ connections }) => connections,
  ),
];
