// Runs all measurements once and prints them as Markdown: `npm run bench`, about three and a half minutes.
// Runs on an embedded PostgreSQL, or on a new database of the server that DATABASE_URL names. Loopback only.
import { availableParallelism, totalmem } from 'node:os';
import { measureEqualTime } from './equal-time.ts';
import { databaseKind } from './place.ts';
import { measureStarts } from './start-up.ts';
import { measureUnderLoad } from './under-load.ts';

const rounds = Number(process.env.BENCH_ROUNDS || 5);
const begin = performance.now();
const print = (text: string): void => {
  process.stdout.write(`${text}\n\n`);
};

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

print(
  `Node ${process.versions.node}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${databaseKind}. ` +
    `Medians of ${rounds} rounds (lowest–highest); the rows of a table take turns in each round.`,
);
print(await measureStarts(rounds));
for (const table of await measureUnderLoad(rounds)) print(table);
for (const table of await measureEqualTime()) print(table);
print(`Took ${Math.round((performance.now() - begin) / 1_000)} s.`);
