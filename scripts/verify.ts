// Everything that has to hold before a change goes in, in the order of what fails soonest. CI runs this same list.
// Ends with the sum of both runs of the suite: `N passed, N failed`.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

type Totals = { passed: number; failed: number };
type Run = { code: number; totals: Totals };

const node = process.execPath;
const root = new URL('..', import.meta.url).pathname;
const serverUrl = process.env.TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';
/** The oldest PostgreSQL that is supported: the suite runs on it and on the embedded one. */
const OLDEST_SERVER = '15';

/** What the scenarios of the hardening suite count in both runs of the suite. */
const hardeningReport = mkdtempSync(join(tmpdir(), 'castellan-hardening-'));

const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium';

const steps: [string, string[]][] = [
  ['format, lint, import rules', ['node_modules/.bin/biome', 'check', '.']],
  ['types', ['node_modules/.bin/tsc', '--noEmit']],
  ['lock file', [node, 'scripts/check-lock.ts']],
  ['generated: configuration', [node, 'scripts/gen-configuration.ts', '--check']],
  ['generated: OpenAPI', [node, 'scripts/gen-openapi.ts', '--check']],
  ['generated: errors, audit actions', [node, 'scripts/gen-catalogues.ts', '--check']],
  ['generated: licences', [node, 'scripts/gen-licences.ts', '--check']],
  ['suite on the embedded PostgreSQL', [node, 'scripts/test.ts']],
  [`suite on PostgreSQL ${OLDEST_SERVER}`, [node, 'scripts/test.ts', '--server']],
  ['generated: hardening', [node, 'scripts/hardening.ts', `--check=${hardeningReport}`]],
  ['clone, install, start, stop, start again', [node, 'scripts/smoke.ts']],
];

function run([command, ...args]: string[], environment: Record<string, string | undefined>): Promise<Run> {
  return new Promise((resolve) => {
    const child = spawn(command as string, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
      // The totals are read from plain text.
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

/** From the closing lines of node:test. What was cancelled, skipped or put off did not pass. */
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

/** What the suite cannot do without, before anything takes time. A missing part fails, nothing is skipped for it. */
async function missingParts(): Promise<string[]> {
  const missing: string[] = [];
  if (!existsSync(chromium))
    missing.push(`no Chromium at ${chromium}: install it, or name another in CHROMIUM`);
  const client = new pg.Client({ connectionString: serverUrl, connectionTimeoutMillis: 5_000 });
  try {
    await client.connect();
    const { rows } = await client.query('show server_version');
    if (!rows[0].server_version.startsWith(`${OLDEST_SERVER}.`))
      missing.push(`the server of TEST_DATABASE_URL is PostgreSQL ${rows[0].server_version}`);
  } catch (error) {
    missing.push(
      `no PostgreSQL ${OLDEST_SERVER} at TEST_DATABASE_URL or 127.0.0.1:5432: ${(error as Error).message}`,
    );
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
  // The first run is the embedded one, whatever the caller's environment names.
  const isOnServer = command.includes('--server');
  const { code, totals } = await run(command, {
    TEST_DATABASE_URL: isOnServer ? serverUrl : undefined,
    HARDENING_REPORT: hardeningReport,
    // The embedded database is killed as often as is promised; once is enough.
    KILL_ROUNDS: isOnServer ? '1' : '20',
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
