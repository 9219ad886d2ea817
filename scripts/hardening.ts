// Runs the hardening suite, prints what its scenarios counted, and writes it to docs/hardening.md.
// Usage: node scripts/hardening.ts                  all rounds, on the embedded PostgreSQL and on TEST_DATABASE_URL
//        node scripts/hardening.ts --only=<part of a path>   those files in full; the rows of the others stay as they are
//        node scripts/hardening.ts --add=<folder>   adds the new scenarios of a run of the whole suite, with the counts
//                                                   of their bounded share, and deletes the rows of removed ones
//        node scripts/hardening.ts --check=<folder> fails unless the scenarios of a run of the whole suite are those of
//                                                   the page. <folder> is the run's HARDENING_REPORT.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Area, areas, type Outcome } from '@castellan/testing/scenario';
import { WATCHED } from '@castellan/testing/secret-watch';

// All naughty strings in all fields take minutes, and far longer on a busy machine.
const FILE_TIMEOUT_MS = 1_800_000;

// Object.entries widens the keys to strings.
const chapters = Object.entries(areas) as [Area, string][];
const page = new URL('../docs/hardening.md', import.meta.url);
const root = fileURLToPath(new URL('..', import.meta.url));

/** Sums over the runs of one scenario; there is one run per database. */
export type Row = Outcome & { runs: number };

export function rowsOf(outcomes: readonly Outcome[]): Row[] {
  const rows = new Map<string, Row>();
  for (const { area, name, tried, injected, held, ok } of outcomes) {
    const key = `${area} ${name}`;
    const row = rows.get(key) ?? { area, name, tried: 0, injected: 0, held: 0, ok: true, runs: 0 };
    rows.set(key, {
      ...row,
      runs: row.runs + 1,
      tried: row.tried + tried,
      injected: row.injected + injected,
      held: row.held + held,
      ok: row.ok && ok,
    });
  }
  return [...rows.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

const number = (value: number): string => value.toLocaleString('en');
const cell = (text: string): string => text.replaceAll('|', '\\|');
const sum = (rows: readonly Row[], of: 'tried' | 'injected' | 'held'): number =>
  rows.reduce((total, row) => total + row[of], 0);

/** The watch for secrets runs during all scenarios; it tries nothing by itself. */
const isWatch = ({ name }: Outcome): boolean => name === WATCHED;

export function totalsOf(all: readonly Row[]): string {
  const rows = all.filter((row) => !isWatch(row));
  return (
    `${number(rows.length)} scenarios, ${number(sum(rows, 'tried'))} cases tried, ` +
    `${number(sum(rows, 'injected'))} faults injected, ${number(sum(rows, 'held'))} invariants held`
  );
}

export function pageOf(rows: readonly Row[], conditions: readonly string[]): string {
  const texts = chapters.map(([area, title]) => {
    const own = rows.filter((row) => row.area === area);
    const lines = own.map(
      ({ name, tried, injected, held }) =>
        `| ${cell(name)} | ${number(tried)} | ${injected ? number(injected) : ''} | ${number(held)} |`,
    );
    const tried = area === 'secrets' ? 'Texts searched' : 'Tried';
    return `## ${title}\n\n| What holds | ${tried} | Faults | Held |\n|---|--:|--:|--:|\n${lines.join('\n')}\n`;
  });
  return `# Hardening report

\`\`\`sh
npm run hardening    # runs packages/hardening in full and writes this page
\`\`\`

\`npm run test:hardening\` and CI run a bounded share of each scenario. A scenario that tried or checked nothing fails.
[SECURITY.md](../SECURITY.md) lists what Castellan guarantees and what it does not.

| Column | Counts |
|---|---|
| Tried | requests, tokens and inputs |
| Faults | what was really broken: a connection cut, a process killed, a table locked |
| Held | the statements checked afterwards |

The search for secrets runs during all of them and is left out of the totals.

**${totalsOf(rows)}.**

${conditions.map((one) => `- ${one}\n`).join('')}
${texts.join('\n')}`;
}

/** Returns the outcomes of all scenarios of a run. `folder` was its HARDENING_REPORT. */
export function outcomesIn(folder: string): Outcome[] {
  return readdirSync(folder).flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line): Outcome => JSON.parse(line)),
  );
}

const SCENARIO = /^\| (.+?) \| ([\d,]+) \| ([\d,]*) \| ([\d,]+) \|$/gm;
const figure = (text = ''): number => Number(text.replaceAll(',', '') || 0);

/** Returns the rows of a page, with the area of the heading above them. */
function rowsOn(page: string): Row[] {
  return chapters.flatMap(([area, title]) => {
    const chapter = page.split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
    return [...chapter.matchAll(SCENARIO)].map(
      ([, name = '', tried, injected, held]): Row => ({
        area,
        name: name.replaceAll('\\|', '|'),
        tried: figure(tried),
        injected: figure(injected),
        held: figure(held),
        ok: true,
        runs: 1,
      }),
    );
  });
}

/** Returns one sentence per difference between a run and the page: scenarios in only one of them, and wrong totals. */
export function differences(rows: readonly Row[], page: string): string[] {
  const listed = rowsOn(page);
  const missing = (these: readonly Row[], those: readonly Row[], what: string): string[] =>
    these
      .filter(({ area, name }) => !those.some((row) => row.area === area && row.name === name))
      .map(({ area, name }) => `${what}: ${areas[area]}: ${name}`);
  return [
    ...missing(rows, listed, 'not on the page'),
    ...missing(listed, rows, 'did not run'),
    ...(page.includes(`**${totalsOf(listed)}.**`) ? [] : ['its totals are not the sums of its rows']),
  ];
}

/** Returns one sentence per race that ran on fewer databases than others: only races run on each. */
export function halfRun(rows: readonly Row[]): string[] {
  const runs = Math.max(0, ...rows.filter((row) => !isWatch(row)).map((row) => row.runs));
  return rows
    .filter((row) => row.area === 'races' && row.runs < runs)
    .map(({ name }) => `did not run everywhere: ${name}`);
}

/** Returns the rows of a page; those of the scenarios in `ran` are replaced or added. */
export function mergedRows(page: string, ran: readonly Row[]): Row[] {
  const isNew = (one: Row): boolean => !ran.some(({ area, name }) => area === one.area && name === one.name);
  // The watch for secrets runs with every file, so only a whole run has its full count.
  const fresh = ran.filter((row) => !isWatch(row));
  const kept = rowsOn(page).filter((row) => isWatch(row) || isNew(row));
  return [...kept, ...fresh].sort((a, b) => (a.name < b.name ? -1 : 1));
}

const SHARE_CONDITION =
  'On a run of the suite, with its bounded share: the scenarios that were added after that run.';

/** Returns the rows of a page without removed scenarios and with the new ones of a run of the whole suite. */
export function rowsWithNew(page: string, ran: readonly Row[]): Row[] {
  const isIn = (rows: readonly Row[], one: Row): boolean =>
    rows.some(({ area, name }) => area === one.area && name === one.name);
  const listed = rowsOn(page);
  const kept = listed.filter((row) => isIn(ran, row));
  const added = ran.filter((row) => !isIn(listed, row));
  return [...kept, ...added].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function addNew(folder: string): void {
  const before = readFileSync(page, 'utf8');
  const conditions = conditionsOn(before).filter((one) => one !== SHARE_CONDITION);
  const rows = rowsWithNew(before, rowsOf(outcomesIn(folder)));
  writeFileSync(page, pageOf(rows, [...conditions, SHARE_CONDITION]));
}

/** Returns the lines that say where and how long the page's scenarios ran. */
export const conditionsOn = (page: string): string[] =>
  [...page.matchAll(/^- (On .+(?:\n {2}.+)*)$/gm)].map(([, line = '']) => line);

function check(folder: string): void {
  const rows = rowsOf(outcomesIn(folder));
  process.stdout.write(`hardening, bounded share: ${totalsOf(rows)}\n`);
  for (const { name } of rows.filter(({ ok }) => !ok)) process.stderr.write(`failed: ${name}\n`);
  const stale = differences(rows, existsSync(page) ? readFileSync(page, 'utf8') : '');
  for (const one of stale) process.stderr.write(`docs/hardening.md is stale: ${one}\n`);
  if (stale.length > 0) process.stderr.write('run npm run hardening\n');
  const half = halfRun(rows);
  for (const one of half) process.stderr.write(`${one}\n`);
  if (stale.length + half.length > 0 || rows.some(({ ok }) => !ok)) process.exitCode = 1;
}

function runFully(only: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-hardening-'));
  const given = process.env.TEST_DATABASE_URL;
  const runs = [
    { on: 'the embedded PostgreSQL', url: undefined },
    ...(given ? [{ on: 'the PostgreSQL of TEST_DATABASE_URL', url: given }] : []),
  ];
  const conditions: string[] = [];
  let failed = false;
  for (const { on, url } of runs) {
    const started = performance.now();
    const args = [
      'scripts/test.ts',
      `--only=packages/hardening/test/${only}`,
      `--test-timeout=${FILE_TIMEOUT_MS}`,
    ];
    const { status } = spawnSync(process.execPath, args, {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, TEST_DATABASE_URL: url, HARDENING: 'full', HARDENING_REPORT: folder },
    });
    failed ||= status !== 0;
    const minutes = ((performance.now() - started) / 60_000).toFixed(1);
    conditions.push(`On ${on}, ${availableParallelism()} shared cores: ${minutes} minutes.`);
  }
  const ran = rowsOf(outcomesIn(folder));
  rmSync(folder, { recursive: true });
  const before = only ? readFileSync(page, 'utf8') : '';
  const rows = only ? mergedRows(before, ran) : ran;
  if (only) conditions.splice(0, conditions.length, ...conditionsOn(before));
  process.stdout.write(`\n${pageOf(rows, conditions)}\n${totalsOf(rows)}\n`);
  if (failed || ran.some(({ ok }) => !ok)) {
    process.stderr.write('A scenario or a run failed: docs/hardening.md was not changed.\n');
    process.exitCode = 1;
  } else writeFileSync(page, pageOf(rows, conditions));
}

if (import.meta.main) {
  const given = (option: string): string | undefined =>
    process.argv.find((one) => one.startsWith(`--${option}=`))?.slice(option.length + 3);
  const [checked, added] = [given('check'), given('add')];
  if (checked) check(checked);
  else if (added) addNew(added);
  else runFully(given('only')?.replace(/^.*packages\/hardening\/(test\/)?/, '') ?? '');
}
