// Creates what counts requests and statements. Created only if METRICS_ADDRESS is set.
import { createRequestTallies } from '../platform/metrics/request-tallies.ts';
import { createStatementTallies } from '../platform/metrics/statement-tallies.ts';
import type { Tallies } from './definition.ts';

export const createTallies = (): Tallies => ({
  requests: createRequestTallies(),
  statements: createStatementTallies(),
});
