// Holds what the tests of each package may cost in processor time. The figures are in scripts/test/budgets.json.
// Usage: node scripts/test/budgets.ts --check=<folder>   prints what each package cost; fails if one costs far more than its budget
//        node scripts/test/budgets.ts --update           runs every test, and writes the budgets of the next release: what the
//                                                        packages cost, and at most 20 % more than before
//        node scripts/test/budgets.ts --update=<folder>  does so without a run
// <folder> was the TEST_CPU_REPORT of such a run. It must not judge seconds, which depend on the machine: costs are divided by that
// of a fixed workload, measured again and again during the same runs, and a package is compared with the median of all.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Cost, reportCost } from './cpu.ts';

/** Costs in units: how often the fixed workload could have run. */
export type Budgets = Record<string, number>;

const path = fileURLToPath(new URL('budgets.json', import.meta.url));
/** In the reports, the names of what is no test file. */
const WORKLOAD = 'workload';
export const SERVER = 'PostgreSQL';
export const BROWSERS = 'browsers';
/** What a release may add. */
const GROWTH = 1.2;
/**
 * Machines differ in what the start of a process costs, by up to five times in units, and packages in how many they start: the
 * median of all does not tell all of it. What is left to find is a package that costs several times as much as it did.
 */
const NOISE = 2.5;
/** Seconds that decide nothing: a package of few tests costs as much as its processes. */
const SMALL = 10;
/** Every part of a run counts, and it takes less than a percent of a core. */
const WORKLOAD_EVERY_MS = 10_000;

/** Runs a fixed amount of what tests do: texts, JSON, hashes, short-lived objects. Takes about 15 ms. */
export function runWorkload(): number {
  let sum = 0;
  for (let round = 0; round < 40; round += 1) {
    const rows = Array.from({ length: 400 }, (_, id) => ({
      id,
      name: `user-${id}@example.com`,
      roles: [id],
    }));
    const text = JSON.stringify(rows);
    sum += createHash('sha256').update(text.repeat(4)).digest()[0] ?? 0;
    sum += new Map(JSON.parse(text).map((row: { id: number; name: string }) => [row.name, row.id])).size;
  }
  return sum;
}

/** Measures the workload until the returned function is called, and reports each measurement. */
export function measureWorkload(): () => void {
  const measure = (): void => {
    const before = process.cpuUsage();
    runWorkload();
    const { user, system } = process.cpuUsage(before);
    reportCost({ file: WORKLOAD, cpu: (user + system) / 1_000_000, wall: 0 });
  };
  // Compiled code, as the tests mostly are.
  for (let warming = 0; warming < 3; warming += 1) runWorkload();
  measure();
  const timer = setInterval(measure, WORKLOAD_EVERY_MS);
  return () => clearInterval(timer);
}

const packageOf = (file: string): string => file.match(/^(packages\/[^/]+|scripts)\//)?.[1] ?? file;

/** Returns the sum of seconds of each package, and the seconds of one unit: the median of the workload. */
export function sumsOf(costs: readonly Cost[]): { seconds: Map<string, number>; unit: number } {
  const seconds = new Map<string, number>();
  const units: number[] = [];
  for (const { file, cpu } of costs) {
    if (file === WORKLOAD) units.push(cpu);
    else seconds.set(packageOf(file), (seconds.get(packageOf(file)) ?? 0) + cpu);
  }
  const unit = units.sort((a, b) => a - b)[Math.floor(units.length / 2)];
  if (unit === undefined) throw new Error('the reports have no measurement of the workload');
  return { seconds, unit };
}

/**
 * Returns how much dearer everything is than the unit tells, at least 1. Starts of processes and page faults, which the workload does
 * not have, cost up to three times as much on some machines. No change makes most packages dearer alike, so the median tells.
 */
function machineFactor({ seconds, unit }: ReturnType<typeof sumsOf>, budgets: Budgets): number {
  const ratios = [...seconds].flatMap(([name, cost]) => {
    const budget = budgets[name];
    return budget === undefined ? [] : [cost / (budget * unit)];
  });
  return Math.max(1, ratios.sort((a, b) => a - b)[Math.floor((ratios.length - 1) / 2)] ?? 1);
}

/**
 * Returns one sentence for each package that costs more than its budget, the growth of a release and noise allow. A new package
 * gets its budget at the next release.
 */
export function complaintsOf(sums: ReturnType<typeof sumsOf>, budgets: Budgets): string[] {
  const { seconds, unit } = sums;
  const factor = machineFactor(sums, budgets);
  const complaints: string[] = [];
  for (const [name, cost] of seconds) {
    const budget = budgets[name];
    if (budget !== undefined && cost > GROWTH * NOISE * factor * budget * unit + SMALL)
      complaints.push(`${name} costs ${percentOf(cost / unit, budget)} of its budget`);
  }
  return complaints;
}

/** Returns the budgets of the next release. A package that grew by more than a release may keeps the rest of its excess. */
export function nextBudgets({ seconds, unit }: ReturnType<typeof sumsOf>, before: Budgets): Budgets {
  const names = [...seconds.keys()].sort();
  return Object.fromEntries(
    names.map((name) => {
      const units = (seconds.get(name) ?? 0) / unit;
      return [name, Math.ceil(Math.min(units, GROWTH * (before[name] ?? Number.POSITIVE_INFINITY)))];
    }),
  );
}

const percentOf = (units: number, budget: number): string => `${((100 * units) / budget).toFixed(0)} %`;

function costsIn(folder: string): Cost[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean))
    .map((line): Cost => JSON.parse(line));
}

function check(folder: string): void {
  const budgets: Budgets = JSON.parse(readFileSync(path, 'utf8'));
  const costs = costsIn(folder);
  const sums = sumsOf(costs);
  process.stdout.write(`a unit is ${(1_000 * sums.unit).toFixed(1)} ms\n`);
  for (const [name, cost] of [...sums.seconds].sort(([, a], [, b]) => b - a)) {
    const budget = budgets[name];
    const share =
      budget === undefined ? 'no budget yet' : `${percentOf(cost / sums.unit, budget)} of its budget`;
    process.stdout.write(`${name}: ${cost.toFixed(0)} s, ${(cost / sums.unit).toFixed(0)} units, ${share}\n`);
  }
  const dearest = costs.filter(({ file }) => file.endsWith('.test.ts')).sort((a, b) => b.cpu - a.cpu);
  for (const { file, cpu } of dearest.slice(0, 10)) process.stdout.write(`  ${cpu.toFixed(1)} s ${file}\n`);
  const complaints = complaintsOf(sums, budgets);
  for (const one of complaints) process.stderr.write(`${one}\n`);
  // Elsewhere a process does not know what its children cost.
  if (complaints.length > 0 && process.platform === 'linux') process.exitCode = 1;
}

function update(folder: string): void {
  const before: Budgets = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, `${JSON.stringify(nextBudgets(sumsOf(costsIn(folder)), before), null, 2)}\n`);
}

/** Runs every test as `npm run verify` does on the embedded PostgreSQL. Returns the folder of the reports. */
function runEverything(): string {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-test-cpu-'));
  const { status } = spawnSync(
    process.execPath,
    [join(import.meta.dirname, '../test.ts'), '--only=.test.ts'],
    {
      stdio: 'inherit',
      env: { ...process.env, TEST_CPU_REPORT: folder, TEST_DATABASE_URL: undefined },
    },
  );
  if (status !== 0) throw new Error('a test failed: the budgets were not changed');
  return folder;
}

if (import.meta.main) {
  const { check: checked, update: updated } = parseArgs({
    options: { check: { type: 'string' }, update: { type: 'string' } },
    args: process.argv.slice(2).map((one) => (one === '--update' ? '--update=' : one)),
  }).values;
  if (checked !== undefined) check(checked);
  else if (updated !== undefined) update(updated || runEverything());
  else throw new Error('use --check=<folder>, --update or --update=<folder>');
}
