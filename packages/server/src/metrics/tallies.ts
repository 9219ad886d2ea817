// Creates what counts requests and statements. Created only if METRICS_ADDRESS is set.
import { createRequestTallies, type RequestTallies } from '../platform/metrics/request-tallies.ts';
import { createStatementTallies, type StatementTallies } from '../platform/metrics/statement-tallies.ts';

/** What is counted while requests are processed. */
export type Tallies = { requests: RequestTallies; statements: StatementTallies };

export const createTallies = (): Tallies => ({
  requests: createRequestTallies(),
  statements: createStatementTallies(),
});
