// Statements of PostgreSQL for one `GET /api/v1/users/me`. A part of `npm run bench`, and of the comparison with the last
// release (scripts/checks/cpu.ts).
import { createAccounts, openSessions } from '../load/accounts.ts';
import { closedLoop } from '../load/raw-load.ts';
import type { Row } from '../report/rows.ts';
import { createPlace, type Place, query } from '../service/place.ts';
import { type Service, startService } from '../service/service.ts';
import type { Run } from './suite.ts';

const me = '/api/v1/users/me';
const quietSettings = { RATE_LIMIT_USER: 'off' };

/**
 * Returns the statements for one request, by the number of connections. PostgreSQL may add up what a backend did only when
 * it ends, so each count covers a whole run of the service: start, load, stop. A statement outside a transaction counts as
 * one. The count of a run without requests is subtracted. Another service must run on the database.
 */
export async function countStatements(
  place: Place,
  callers: readonly Record<string, string>[],
  loads: readonly number[],
  { seconds, program }: { seconds: number; program?: string },
): Promise<number[]> {
  const connection = await place.connection();
  const count = async (): Promise<number> => {
    const rows = await query(
      connection,
      'select xact_commit::float8 as commits from pg_stat_database where datname = current_database()',
    );
    return Number(rows[0]?.commits);
  };
  const live = async (requestsOf: (service: Service) => Promise<number>) => {
    const service = await startService({ ...place.environment, ...quietSettings }, program);
    const before = await count();
    const requests = await requestsOf(service);
    await service.stop();
    return { requests, commits: (await count()) - before };
  };
  const quiet = await live(async () => 0);
  const counts: number[] = [];
  for (const connections of loads) {
    const busy = await live(
      async ({ url }) => (await closedLoop(url, me, callers, connections, seconds)).answers,
    );
    counts.push((busy.commits - quiet.commits) / busy.requests);
  }
  return counts;
}

export async function measureStatements({ seconds }: Run): Promise<Row[]> {
  const place = await createPlace();
  try {
    // Keeps an embedded server running between the counts.
    const keeper = await startService({ ...place.environment, ...quietSettings });
    await createAccounts(place);
    const callers = (await openSessions(keeper.url, me)).map(({ headers }) => headers ?? {});
    const loads = [64, 1];
    const counts = await countStatements(place, callers, loads, { seconds });
    await keeper.stop();
    return counts.map((value, index) => ({
      part: 'statements',
      name: 'GET /users/me, of each request',
      condition: loads[index] === 1 ? '1 connection' : `${loads[index]} connections`,
      unit: 'statements',
      values: [value],
    }));
  } finally {
    await place.remove();
  }
}
