// Compares what `GET /api/v1/users/me` costs in this version with the last release, side by side on one database: processor
// time and statements of one request. Fails if it costs over 15 % more time, or another statement.
//   node scripts/checks/cpu.ts [--from=<commit>]     default: the last release
// Processor time hardly depends on what else the machine does, as elapsed time would. Linux only; half a minute.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAccounts, openSessions } from '../../bench/load/accounts.ts';
import { closedLoop } from '../../bench/load/raw-load.ts';
import { format, median, percentile, summary } from '../../bench/report/table.ts';
import { createPlace, type Place } from '../../bench/service/place.ts';
import { cpuMicroseconds } from '../../bench/service/processes.ts';
import { type Service, startService } from '../../bench/service/service.ts';
import { countStatements } from '../../bench/suite/statements.ts';
import { pinApart, unpin } from '../../bench/suite/suite.ts';
import { tellLastRelease } from '../release/last-release.ts';
import { layOutVersion } from '../release/version-tree.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = 'packages/server/start.mjs';
const me = '/api/v1/users/me';
const CONNECTIONS = 16;
const SECONDS = 0.5;
/** The second attempt decides. It is only made where the first one fails. */
const ROUNDS = [15, 45];
const MOST_CPU_RATIO = 1.15;
/** Jobs of the service add parts of a statement to each request; a request that sends one more adds 1. */
const MOST_MORE_STATEMENTS = 0.5;

/** CPU time of one request, a value for each round, and statements of one request. */
export type Cost = { cpu: readonly number[]; statements: number };

/** Returns the median ratio of the rounds, and the ratio of the cheapest quarters. */
function ratiosOf(before: Cost, now: Cost): { median: number; cheapest: number } {
  const cheapest = ({ cpu }: Cost): number => percentile([...cpu], 0.25);
  return {
    median: median(now.cpu.map((value, round) => value / (before.cpu[round] ?? Number.NaN))),
    cheapest: cheapest(now) / cheapest(before),
  };
}

/**
 * Returns the sentence about a request that became more expensive; undefined for one that did not. A slower version is also
 * slower in its cheapest rounds, whereas other work on the machine makes some rounds dear and leaves the cheapest.
 */
export function complaintOf(before: Cost, now: Cost): string | undefined {
  if (!(now.statements - before.statements <= MOST_MORE_STATEMENTS))
    return `GET ${me} sends ${format(now.statements)} statements for a request, ${format(before.statements)} in the last release.`;
  const ratios = ratiosOf(before, now);
  const ratio = Math.min(ratios.median, ratios.cheapest);
  if (!(ratio <= MOST_CPU_RATIO))
    return `GET ${me} costs ${format(ratio)} times the processor time of the last release; ${MOST_CPU_RATIO} is allowed.`;
  return undefined;
}

type Callers = readonly Record<string, string>[];

/** Measures one version after the other in each round; the other one first in every other round. */
async function measureCpu(
  versions: { before: Service; now: Service },
  callers: Callers,
  rounds: number,
): Promise<{ before: number[]; now: number[] }> {
  const cpu = { before: [] as number[], now: [] as number[] };
  const cost = async ({ pid, url }: Service): Promise<number> => {
    const begin = cpuMicroseconds([pid]);
    const { answers } = await closedLoop(url, me, callers, CONNECTIONS, SECONDS);
    return (cpuMicroseconds([pid]) - begin) / answers;
  };
  for (const service of Object.values(versions)) await cost(service);
  for (let round = 0; round < rounds; round += 1)
    for (const one of round % 2 === 0 ? (['before', 'now'] as const) : (['now', 'before'] as const))
      cpu[one].push(await cost(versions[one]));
  return cpu;
}

/** Compares this version with the release in the tree at `older`. Returns the complaint of the last attempt. */
async function compare(place: Place, older: string): Promise<string | undefined> {
  const running: Service[] = [];
  const launch = async (tree: string): Promise<Service> => {
    const service = await startService({ ...place.environment, RATE_LIMIT_USER: 'off' }, join(tree, program));
    running.push(service);
    return service;
  };
  try {
    // The release comes first: it may not start on a schema that this version has contracted.
    const before = await launch(older);
    await createAccounts(place);
    const callers = (await openSessions(before.url, me, CONNECTIONS)).map(({ headers }) => headers ?? {});
    const count = async (tree: string): Promise<number> =>
      (await countStatements(place, callers, [1], { seconds: 1, program: join(tree, program) }))[0] ??
      Number.NaN;
    const statements = { before: await count(older), now: await count(root) };
    const now = await launch(root);
    pinApart([before.pid, now.pid], await place.databasePids());
    let complaint: string | undefined;
    for (const rounds of ROUNDS) {
      const cpu = await measureCpu({ before, now }, callers, rounds);
      const costs = {
        before: { cpu: cpu.before, statements: statements.before },
        now: { cpu: cpu.now, statements: statements.now },
      };
      const ratios = ratiosOf(costs.before, costs.now);
      process.stdout.write(
        `GET ${me}, ${rounds} rounds: CPU ${summary(cpu.before)} µs before, ${summary(cpu.now)} µs now, ` +
          `ratio ${format(ratios.median)}, of the cheapest rounds ${format(ratios.cheapest)}; ` +
          `${format(statements.before)} statements before, ${format(statements.now)} now\n`,
      );
      complaint = complaintOf(costs.before, costs.now);
      if (complaint === undefined) break;
    }
    return complaint;
  } finally {
    unpin();
    for (const service of running.reverse()) await service.stop();
  }
}

if (import.meta.main) {
  const given = process.argv.find((one) => one.startsWith('--from='))?.slice('--from='.length);
  const from = given ?? tellLastRelease(root);
  const folder = mkdtempSync(join(tmpdir(), 'castellan-cpu-'));
  const place = await createPlace();
  try {
    const older = join(folder, 'older');
    layOutVersion(root, from, older);
    process.stdout.write(`compared with ${from}\n`);
    const complaint = await compare(place, older);
    if (complaint !== undefined) {
      process.stderr.write(`${complaint}\n`);
      process.exitCode = 1;
    }
  } finally {
    await place.remove();
    rmSync(folder, { recursive: true });
  }
}
