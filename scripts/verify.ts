// Runs everything that must pass before a change is merged, in the order of what fails soonest. CI runs the same list.
// Prints the sum over all test runs at the end: `N passed, N failed`.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { findBrowser } from './find-browser.ts';

type Totals = { passed: number; failed: number };
type Run = { code: number; totals: Totals };

const node = process.execPath;
const root = fileURLToPath(new URL('..', import.meta.url));
const serverUrl = process.env.TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';
/** The oldest supported PostgreSQL; the suite runs on it and on the embedded one. */
const OLDEST_SERVER = '15';
/** The hardening suite runs as a step of its own, so that its result is shown separately. */
const HARDENING = 'packages/hardening/';

/** The folder for the counts of the scenarios on both servers. */
const hardeningReport = mkdtempSync(join(tmpdir(), 'castellan-hardening-'));

const steps: [name: string, command: [program: string, ...args: string[]]][] = [
  ['format, lint, import rules', ['node_modules/.bin/biome', 'check', '.']],
  ['types', ['node_modules/.bin/tsc', '--noEmit']],
  ['types of the SDK', ['node_modules/.bin/tsc', '--noEmit', '-p', 'packages/sdk']],
  ['unused files, exports and packages', ['node_modules/.bin/knip', '--no-progress']],
  ['lock file', [node, 'scripts/check-lock.ts']],
  ['migrations', [node, 'scripts/check-migrations.ts']],
  ['words', [node, 'scripts/check-words.ts']],
  ['generated: tables', [node, 'scripts/gen-tables.ts', '--check']],
  ['generated: import rules', [node, 'scripts/gen-import-rules.ts', '--check']],
  ['generated: configuration', [node, 'scripts/gen-configuration.ts', '--check']],
  ['generated: OpenAPI', [node, 'scripts/gen-openapi.ts', '--check']],
  ['generated: SDK types', [node, 'scripts/gen-sdk.ts', '--check']],
  ['generated: errors, audit actions', [node, 'scripts/gen-catalogues.ts', '--check']],
  ['generated: licences', [node, 'scripts/gen-licences.ts', '--check']],
  ['suite on the embedded PostgreSQL', [node, 'scripts/test.ts', `--except=${HARDENING}`]],
  ['hardening on the embedded PostgreSQL', [node, 'scripts/test.ts', `--only=${HARDENING}`]],
  [
    `suite on PostgreSQL ${OLDEST_SERVER}`,
    [node, 'scripts/test.ts', '--server', '--twin', '--database', `--except=${HARDENING}`],
  ],
  [
    `hardening on PostgreSQL ${OLDEST_SERVER}`,
    [node, 'scripts/test.ts', '--server', '--twin', '--database', `--only=${HARDENING}`],
  ],
  ['generated: hardening', [node, 'scripts/hardening.ts', `--check=${hardeningReport}`]],
  ['clone, install, start, stop, start again', [node, 'scripts/smoke.ts']],
];

function run(
  [program, ...args]: [program: string, ...args: string[]],
  environment: Record<string, string | undefined>,
): Promise<Run> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
      // The totals are read from uncolored text.
      env: { ...process.env, FORCE_COLOR: undefined, NO_COLOR: '1', ...environment },
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      process.stdout.write(text);
      out += text;
    });
    child.on('error', (error) => process.stderr.write(`${error.message}\n`));
    child.on('close', (code) => resolve({ code: code ?? 1, totals: totalsOf(out) }));
  });
}

/** Reads the totals from the summary of node:test. Cancelled, skipped and todo tests count as failed. */
function totalsOf(out: string): Totals {
  const count = (name: string): number =>
    [...out.matchAll(new RegExp(`^(?:ℹ|#) ${name} (\\d+)$`, 'gm'))].reduce(
      (sum, one) => sum + Number(one[1]),
      0,
    );
  return {
    passed: count('pass'),
    failed: count('fail') + count('cancelled') + count('skipped') + count('todo'),
  };
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

const sum: Totals = { passed: 0, failed: 0 };
const lines: string[] = [];
const broken = await missingParts();
for (const [name, command] of broken.length === 0 ? steps : []) {
  process.stdout.write(`\n== ${name}\n`);
  const started = performance.now();
  // Steps without --server use the embedded PostgreSQL, whatever the caller's environment says.
  const isOnServer = command.includes('--server');
  const { code, totals } = await run(command, {
    TEST_DATABASE_URL: isOnServer ? serverUrl : undefined,
    HARDENING_REPORT: hardeningReport,
  });
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  const { passed, failed } = totals;
  lines.push(
    `${code === 0 ? 'ok    ' : 'FAILED'} ${name}, ${seconds} s${passed + failed > 0 ? `: ${passed} passed, ${failed} failed` : ''}`,
  );
  sum.passed += passed;
  sum.failed += failed;
  if (code !== 0 || failed > 0) broken.push(name);
}
rmSync(hardeningReport, { recursive: true });
process.stdout.write(`\n${lines.join('\n')}\n`);
for (const one of broken) process.stdout.write(`broken: ${one}\n`);
process.stdout.write(`${sum.passed} passed, ${sum.failed} failed\n`);
process.exitCode = broken.length === 0 && sum.failed === 0 ? 0 : 1;
