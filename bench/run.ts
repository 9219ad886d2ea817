// Runs the benchmarks and prints one table of all rows, as Markdown: `npm run bench`. bench/README.md describes its options.
// Runs on an embedded PostgreSQL, or on a new database of the server that DATABASE_URL names. Loopback only.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { countGoals, type Row, tableOfRows } from './report/rows.ts';
import { format } from './report/table.ts';
import { databaseKind } from './service/place.ts';
import { measureEndedSessions } from './suite/end-session.ts';
import { measureGraph } from './suite/graph.ts';
import { measureHotPath } from './suite/hot-path.ts';
import { measureMemory } from './suite/memory.ts';
import { measureRoleChanges } from './suite/role-changes.ts';
import { measureScale } from './suite/scale.ts';
import { measureSignIns } from './suite/sign-ins.ts';
import { measureStarts } from './suite/start-up.ts';
import { measureStatements } from './suite/statements.ts';
import { isPinned, type Run, unpin } from './suite/suite.ts';

const DEFAULT_SIZES = '1000';

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: DEFAULT_SIZES },
    only: { type: 'string', default: '' },
    keep: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1.5' },
    'with-better-auth': { type: 'boolean', default: false },
    earlier: { type: 'string' },
    with: { type: 'string' },
  },
});
const sizes = values.sizes.split(',').map(Number);
if (!sizes.every((size) => Number.isSafeInteger(size) && size > 0))
  throw new Error(`--sizes is "${values.sizes}"; write whole numbers, such as 1000,100000.`);
const [name, value] = values.with?.split(/=(.*)/s) ?? [];
const run: Run = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  sizes: sizes.toSorted((a, b) => a - b),
  withBetterAuth: values['with-better-auth'],
  ...(values.keep === undefined ? {} : { keep: resolve(values.keep) }),
  ...(values.earlier === undefined ? {} : { earlier: resolve(values.earlier) }),
  ...(name === undefined ? {} : { extra: { name, value: value ?? '' } }),
};

/** `--only` compares with these names. */
const parts: readonly (readonly [name: string, measure: () => Promise<Row[]>])[] = [
  ['start-up', () => measureStarts(run)],
  ['hot-path', () => measureHotPath(run)],
  ['statements', () => measureStatements(run)],
  ['sign-ins', () => measureSignIns(run)],
  ['memory', () => measureMemory(run)],
  ['role-changes', () => measureRoleChanges(run)],
  ['graph', () => measureGraph(run)],
  ['end-session', () => measureEndedSessions(run)],
  ...run.sizes.map((users) => [`scale-${users}`, () => measureScale(run, users)] as const),
];

type Finished = { rows: Row[]; load: [before: number, after: number] };

/** Returns the rows of a part: those that an interrupted run with the same `--keep` left, or new ones. */
async function finish(part: string, measure: () => Promise<Row[]>): Promise<Finished> {
  const file = run.keep === undefined ? undefined : join(run.keep, `${part}.json`);
  try {
    if (file !== undefined) return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // No earlier run has finished it.
  }
  const before = loadavg()[0] ?? 0;
  const begin = performance.now();
  const rows = await measure().finally(unpin);
  const finished: Finished = { rows, load: [before, loadavg()[0] ?? 0] };
  if (file !== undefined) writeFileSync(file, JSON.stringify(finished));
  process.stderr.write(`${part}: ${Math.round((performance.now() - begin) / 1_000)} s\n`);
  return finished;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
if (run.keep !== undefined) mkdirSync(run.keep, { recursive: true });
const chosen = parts.filter(([part]) => values.only.split(',').some((one) => part.includes(one)));
if (chosen.length === 0)
  throw new Error(`--only is "${values.only}"; the parts are ${parts.map(([part]) => part).join(', ')}.`);
const begin = performance.now();
const finished: Finished[] = [];
for (const [part, measure] of chosen) finished.push(await finish(part, measure));
const rows = finished.flatMap((one) => one.rows);
const loads = finished.flatMap(({ load }) => load);
const { goals, missed } = countGoals(rows);
process.stdout.write(
  `${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${availableParallelism()} cores, ` +
    `${Math.round(totalmem() / 2 ** 30)} GiB, ${databaseKind}. ` +
    (isPinned ? 'Servers on one core, load and database on the others. ' : 'Nothing is pinned to a core. ') +
    `${run.rounds} rounds of ${run.seconds} s, in which the rows of a part take turns. ` +
    `Load average ${format(Math.min(...loads))} to ${format(Math.max(...loads))}.\n\n` +
    `${tableOfRows(rows)}\n\n` +
    `${goals} goals, ${missed} missed. Took ${Math.round((performance.now() - begin) / 1_000)} s.\n`,
);
