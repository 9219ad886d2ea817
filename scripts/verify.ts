// Runs everything that must pass before a change is merged. CI runs the same list.
// Checks that write nothing into the repository run side by side, and so do the programs that are tried as a whole. The test runs,
// which keep every core busy by themselves, and what measures them run one after the other.
// Prints the sum over all test runs at the end: `N passed, N failed`.
// Up to MOST_REPEATED failed tests of a suite get a second attempt, alone with their files. The end of the output names them,
// so that a test that depends on luck is seen and mended, and does not hide whether the change itself is sound.
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Outcome } from '@castellan/testing/scenario';
import pg from 'pg';
import { outcomesIn } from './hardening.ts';
import { type FailedTest, failedTests, filesOf } from './test/failed-tests.ts';
import { findBrowser } from './test/find-browser.ts';

type Command = [program: string, ...args: string[]];
type Step = [name: string, command: Command];
/** `left` counts cancelled, skipped and todo tests. */
type Totals = { passed: number; failed: number; left: number };
type Run = { code: number; totals: Totals; failures: FailedTest[] };

const node = process.execPath;
const root = fileURLToPath(new URL('..', import.meta.url));
const serverUrl = process.env.TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';
/** The oldest supported PostgreSQL; what may depend on the version runs on it and on the embedded one. */
const OLDEST_SERVER = '15';
/** Also the bounded share of the hardening suite, which `npm test` leaves out: in one run, the files of one fill the waits of the other. */
const EVERY_FILE = '.test.ts';
const MOST_REPEATED = 3;
/** Bytes of a check's output. */
const MOST_OUTPUT = 64 * 1024 ** 2;
/** A change of the catalogue then costs a tenth of what the check of the locks allows; filling the tables takes seconds. */
const USERS = 50_000;

/** The folder for the counts of the scenarios on both servers. */
const hardeningReport = mkdtempSync(join(tmpdir(), 'castellan-hardening-'));

/** The folder for the processor time of the test files. */
const cpuReport = mkdtempSync(join(tmpdir(), 'castellan-test-cpu-'));

/** Side by side, one thread for each core cost a third less than several threads for each compiler. */
const tsc: Command = ['node_modules/.bin/tsc', '--noEmit', '--singleThreaded'];

/** The one that takes longest comes first, so that none is left running alone at the end. */
const checks: Step[] = [
  ['recipes of CONTRIBUTING.md', [node, 'scripts/checks/recipes.ts']],
  ['format, lint, import rules', ['node_modules/.bin/biome', 'check', '.']],
  ['types', tsc],
  ['types of the SDK', [...tsc, '-p', 'packages/sdk']],
  ['types of the console', [...tsc, '-p', 'packages/console']],
  ['types of the interoperability tests', [...tsc, '-p', 'packages/interop']],
  ['types of the examples', [...tsc, '-p', 'examples']],
  ['unused files, exports and packages', ['node_modules/.bin/knip', '--no-progress']],
  ['lock file', [node, 'scripts/checks/lock-file.ts']],
  ['migrations', [node, 'scripts/checks/migrations.ts']],
  ['words', [node, 'scripts/checks/words.ts']],
  ['loose files of folders', [node, 'scripts/checks/folders.ts']],
  ['generated: tables', [node, 'scripts/gen/tables.ts', '--check']],
  ['generated: import rules', [node, 'scripts/gen/import-rules.ts', '--check']],
  ['generated: configuration', [node, 'scripts/gen/configuration.ts', '--check']],
  ['generated: commands', [node, 'scripts/gen/command-line.ts', '--check']],
  ['generated: OpenAPI', [node, 'scripts/gen/openapi.ts', '--check']],
  ['generated: SDK types', [node, 'scripts/gen/sdk.ts', '--check']],
  ['generated: errors, audit actions', [node, 'scripts/gen/catalogues.ts', '--check']],
  ['generated: members of events', [node, 'scripts/gen/events.ts', '--check']],
  ['generated: licences', [node, 'scripts/gen/licences.ts', '--check']],
];
const steps: Step[] = [
  ['suite and hardening on the embedded PostgreSQL', [node, 'scripts/test.ts', `--only=${EVERY_FILE}`]],
  [
    `what may depend on the version, on PostgreSQL ${OLDEST_SERVER}`,
    [node, 'scripts/test.ts', '--server', '--twin', '--database'],
  ],
  ['processor time of the tests', [node, 'scripts/test/budgets.ts', `--check=${cpuReport}`]],
  ['generated: hardening', [node, 'scripts/hardening.ts', `--check=${hardeningReport}`]],
  ['CPU time against the last release', [node, 'scripts/checks/cpu.ts']],
];
/** Each works on one core at a time, or waits. None judges elapsed time. */
const programs: Step[] = [
  [
    'rolling upgrade from the last release, and back',
    [node, 'scripts/release/rolling-upgrade.ts', '--server'],
  ],
  ['clone, install, start, stop, start again', [node, 'scripts/smoke/clone.ts']],
  ['pack, install, start, stop, start again', [node, 'scripts/smoke/pack.ts']],
  ['locks of the migrations', [node, 'scripts/checks/migration-locks.ts', '--server', `--users=${USERS}`]],
];

/** The totals are read from uncolored text. */
const uncolored = { ...process.env, FORCE_COLOR: undefined, NO_COLOR: '1' };

/** Runs as many of them at once as there are cores. Returns the names of those that failed. */
async function runSideBySide(all: readonly Step[]): Promise<string[]> {
  const left = [...all];
  const failed: string[] = [];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift())
      if (!(await runAlongside(next))) failed.push(next[0]);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return failed;
}

/** Runs a step beside others, and shows its output when it has ended. Returns whether it passed. */
function runAlongside([name, command]: Step): Promise<boolean> {
  const [program, ...args] = command;
  const started = performance.now();
  return new Promise((resolve) => {
    const env = { ...uncolored, TEST_DATABASE_URL: urlFor(command) };
    const options = { cwd: root, env, maxBuffer: MOST_OUTPUT };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      // With an exit status, the message only repeats stderr.
      const reason = typeof error?.code === 'number' ? '' : (error?.message ?? '');
      process.stdout.write(`\n== ${name}\n${stdout}${stderr}${reason}\n`);
      lines.push(lineOf(name, error === null, started));
      resolve(error === null);
    });
    child.stdin?.end();
  });
}

/** Steps without --server use the embedded PostgreSQL, whatever the caller's environment says. */
const urlFor = (command: Command): string | undefined =>
  command.includes('--server') ? serverUrl : undefined;

/** Returns the line of a step that began at `started`, for the end of the output. */
function lineOf(name: string, isOk: boolean, started: number): string {
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  return `${isOk ? 'ok    ' : 'FAILED'} ${name}, ${seconds} s`;
}

function run([program, ...args]: Command, environment: Record<string, string | undefined>): Promise<Run> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...uncolored, ...environment },
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      process.stdout.write(text);
      out += text;
    });
    child.on('error', (error) => process.stderr.write(`${error.message}\n`));
    child.on('close', (code) =>
      resolve({ code: code ?? 1, totals: totalsOf(out), failures: failedTests(out) }),
    );
  });
}

/** Reads the totals from the summary of node:test. */
function totalsOf(out: string): Totals {
  const count = (name: string): number =>
    [...out.matchAll(new RegExp(`^(?:ℹ|#) ${name} (\\d+)$`, 'gm'))].reduce(
      (sum, one) => sum + Number(one[1]),
      0,
    );
  return {
    passed: count('pass'),
    failed: count('fail'),
    left: count('cancelled') + count('skipped') + count('todo'),
  };
}

/** Runs the files of the failed tests again, alone. Returns false for failures that no second attempt can excuse. */
async function passesAgain({ totals, failures }: Run, command: Command, url?: string): Promise<boolean> {
  const files = filesOf(failures, outcomesIn(hardeningReport));
  const isFew = failures.length > 0 && failures.length <= MOST_REPEATED;
  // A failure may be in a file that many tests share: to run that would show nothing.
  const areTests = files.every((file) => file.endsWith('.test.ts') && existsSync(join(root, file)));
  if (!isFew || totals.left > 0 || !areTests) return false;
  process.stdout.write(`\n== second attempt: ${files.join(', ')}\n`);
  const report = mkdtempSync(join(tmpdir(), 'castellan-again-'));
  const options = command.filter((one) => one === '--server' || one === '--twin');
  const again = await run([node, 'scripts/test.ts', ...options, ...files], {
    TEST_DATABASE_URL: url,
    HARDENING_REPORT: report,
  });
  const isPassed = again.code === 0 && again.totals.passed > 0 && again.totals.left === 0;
  if (isPassed) replaceOutcomes(report);
  rmSync(report, { recursive: true });
  return isPassed;
}

/** Replaces the outcomes of failed scenarios with those of their second attempt. */
function replaceOutcomes(report: string): void {
  const keyOf = ({ area, name }: Outcome): string => `${area}: ${name}`;
  const before = outcomesIn(hardeningReport);
  const failed = new Set(before.filter(({ ok }) => !ok).map(keyOf));
  const after = [
    ...before.filter(({ ok }) => ok),
    ...outcomesIn(report).filter((outcome) => failed.has(keyOf(outcome))),
  ];
  for (const file of readdirSync(hardeningReport)) rmSync(join(hardeningReport, file));
  const lines = after.map((outcome) => `${JSON.stringify(outcome)}\n`);
  writeFileSync(join(hardeningReport, 'outcomes.jsonl'), lines.join(''));
}

/** Returns what is missing on this machine, before any step runs. Nothing is skipped because of a missing part. */
async function missingParts(): Promise<string[]> {
  const missing: string[] = [];
  if ((await findBrowser()) === null) missing.push('no Chromium: install it, or name one in CHROMIUM');
  const client = new pg.Client({ connectionString: serverUrl, connectionTimeoutMillis: 5_000 });
  try {
    await client.connect();
    const { rows } = await client.query('show server_version');
    if (!rows[0].server_version.startsWith(`${OLDEST_SERVER}.`))
      missing.push(`the server of TEST_DATABASE_URL is PostgreSQL ${rows[0].server_version}`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    missing.push(`no PostgreSQL ${OLDEST_SERVER} at TEST_DATABASE_URL or 127.0.0.1:5432: ${reason}`);
  } finally {
    await client.end();
  }
  return missing;
}

const describe = ({ place, name, reason }: FailedTest): string => `${place} ${name}: ${reason}`;

const sum = { passed: 0, failed: 0 };
const lines: string[] = [];
const repeated: string[] = [];
const failures: string[] = [];
const broken = await missingParts();
const isReady = broken.length === 0;
if (isReady) broken.push(...(await runSideBySide(checks)));
for (const [name, command] of isReady ? steps : []) {
  process.stdout.write(`\n== ${name}\n`);
  const started = performance.now();
  const url = urlFor(command);
  // On the embedded PostgreSQL every test runs once.
  const reports = {
    HARDENING_REPORT: hardeningReport,
    ...(url === undefined ? { TEST_CPU_REPORT: cpuReport } : {}),
  };
  const first = await run(command, { TEST_DATABASE_URL: url, ...reports });
  const isExcused = first.code !== 0 && (await passesAgain(first, command, url));
  (isExcused ? repeated : failures).push(...first.failures.map(describe));

  const { passed, failed, left } = first.totals;
  const counts = isExcused ? { passed: passed + failed, failed: 0 } : { passed, failed: failed + left };
  const isOk = isExcused || (first.code === 0 && counts.failed === 0);
  const result = passed + counts.failed > 0 ? `: ${counts.passed} passed, ${counts.failed} failed` : '';
  lines.push(`${lineOf(name, isOk, started)}${result}`);
  sum.passed += counts.passed;
  sum.failed += counts.failed;
  if (!isOk) broken.push(name);
}
if (isReady) broken.push(...(await runSideBySide(programs)));
for (const folder of [hardeningReport, cpuReport]) rmSync(folder, { recursive: true });
process.stdout.write(`\n${lines.join('\n')}\n`);
for (const one of repeated) process.stdout.write(`passed at the second attempt: ${one}\n`);
for (const one of failures) process.stdout.write(`failed: ${one}\n`);
for (const one of broken) process.stdout.write(`broken: ${one}\n`);
process.stdout.write(`${sum.passed} passed, ${sum.failed} failed\n`);
process.exitCode = broken.length === 0 ? 0 : 1;
