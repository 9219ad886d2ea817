// Runs the test suite on one PostgreSQL: an embedded one or, with TEST_DATABASE_URL, the server named there.
// Usage: node scripts/test.ts [--server] [--twin] [--quick] [--database] [--only=<part of a path>] [<path>…]
//        [options of node --test]
// Without --only, --database and paths, it leaves out the hardening suite.
// --server: without TEST_DATABASE_URL, the PostgreSQL on 127.0.0.1:5432. --database: only what may depend on
// the version of the server.
// --twin: a second server with the programs of the given one, without syncing, if this machine has them.
import { spawn } from 'node:child_process';
import { availableParallelism, constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsole, canBuild, stateOfBuild } from '@castellan/console/build';
import { bundleDependencies } from './bundle/dependencies.mjs';
import { bundleProgram } from './bundle/program.mjs';
import { programsOf } from './test/batches.ts';
import { BROWSERS, measureWorkload, SERVER } from './test/budgets.ts';
import { measureBrowsers, reportCost } from './test/cpu.ts';
import { testFiles } from './test/files.ts';
import { findBrowser } from './test/find-browser.ts';
import { memoryFolder } from './test/memory.ts';
import { beginRun, endRun, guardRun } from './test/run.ts';
import { chosenServer, holdServer, keptTemplate, makeTemplate, secondsOfServer } from './test/server.ts';
import { startTwin } from './test/twin.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
// Files wait for locks, timeouts and processes; three per core keep the cores busy.
const FILES_PER_CORE = 3;

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => interrupted.abort(signal));

/** Resolves with the exit status; after an interruption it is 128 plus the number of the signal, as in shells. */
function runNode(args: string[], environment: Record<string, string>): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      // Ctrl-C must reach only this process, which ends all processes of the run in one place.
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...environment },
    });
    const giveUp = () => {
      const signal: NodeJS.Signals = interrupted.signal.reason;
      resolve(128 + constants.signals[signal]);
    };
    interrupted.signal.addEventListener('abort', giveUp);
    if (interrupted.signal.aborted) giveUp();
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

const given = process.argv.slice(2);
const only = given.find((one) => one.startsWith('--only='))?.slice('--only='.length) ?? '';
const options = given.filter(
  (one) => one.startsWith('-') && !/^--(server|twin|quick|database|only=.*)$/.test(one),
);
const named = given.filter((one) => !one.startsWith('-'));
const files = testFiles({
  quick: given.includes('--quick'),
  database: given.includes('--database'),
  only,
  named,
});
// Without a file, node would search for tests itself.
if (files.length === 0) {
  process.stderr.write(`No test file has "${only}" in its path.\n`);
  process.exit(1);
}

// Once, before the files that would otherwise build it at the same time.
if (canBuild() && stateOfBuild() !== 'current') await buildConsole();
// Each process loads one of them.
await bundleDependencies();
await bundleProgram();

// The page tests need a browser; only CI requires one.
const driven = files.filter((file) => file.includes('/e2e/'));
const browser = driven.length > 0 ? await findBrowser() : null;
const cannotDrive = driven.length > 0 && browser === null;
if (cannotDrive) {
  process.stderr.write(
    `No Chromium found (set CHROMIUM to its path): ${driven.length} files of page tests are skipped.\n`,
  );
  if (process.env.CI) process.exit(1);
}
const chosen = cannotDrive ? files.filter((file) => !driven.includes(file)) : files;
if (chosen.length === 0) {
  process.stderr.write('Nothing is left to run.\n');
  process.exit(0);
}

const memory = memoryFolder();
if (process.env.TMPDIR === undefined && memory !== undefined) process.env.TMPDIR = memory;
const choice = chosenServer(given);
const url = 'url' in choice ? choice.url : undefined;
const run = await beginRun(choice);
const guard = guardRun(run);
const server = await holdServer(run.server);
let code = 1;
try {
  const twin = url !== undefined && given.includes('--twin') ? await startTwin(url, run.folder) : undefined;
  const adminUrl = twin ?? server.adminUrl;
  const isSynced = url !== undefined && twin === undefined;
  const environment: Record<string, string> = {
    TMPDIR: run.folder,
    TEST_DATA_DIR: join(run.folder, 'data'),
    TEST_DATABASE_ADMIN_URL: adminUrl,
    TEST_DATABASE_PREFIX: run.prefix,
    TEST_DATABASE_COPY: isSynced ? 'wal_log' : 'file_copy',
    ...(browser === null ? {} : { CHROMIUM: browser }),
    // Each file is a separate process and spends most of its start loading the same modules.
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/castellan-tests'),
  };
  const make = async (name: string): Promise<void> => {
    const status = await runNode(['packages/testing/src/make-template.ts'], {
      ...environment,
      TEST_DATABASE_TEMPLATE: name,
    });
    if (status !== 0) throw new Error('the template database could not be created');
  };
  const template =
    url === undefined
      ? await keptTemplate(adminUrl, make)
      : await makeTemplate(adminUrl, `${run.prefix}template`, make);
  // A name pattern would also have to match the names of files, and in a full run one file of scenarios takes minutes.
  const isEachAlone =
    process.env.HARDENING === 'full' ||
    options.some((one) => /^--test-(name-pattern|skip-pattern|only)/.test(one));
  const isMeasured = process.env.TEST_CPU_REPORT !== undefined;
  const serverBefore = isMeasured ? await secondsOfServer(adminUrl) : undefined;
  const endWorkload = isMeasured ? measureWorkload() : () => {};
  const browserSeconds = isMeasured ? measureBrowsers() : () => 0;
  const concurrency = String(FILES_PER_CORE * availableParallelism());
  code = await runNode(
    [
      `--import=${new URL('test/scope.ts', import.meta.url)}`,
      `--import=${new URL('test/cpu.ts', import.meta.url)}`,
      `--import=${new URL('../packages/server/bundles.mjs', import.meta.url)}`,
      '--test',
      `--test-concurrency=${concurrency}`,
      // Only ends a hang.
      '--test-timeout=900000',
      // Tests allocate much that ends with them; collecting it less often takes a twentieth less processor time.
      '--max-semi-space-size=64',
      // Several files keep each core busy, so that threads of the collector only take turns: 5 % to 10 % of the time of a file.
      '--single-threaded-gc',
      ...options,
      ...(isEachAlone ? chosen : programsOf(chosen, run.folder)),
    ],
    { ...environment, TEST_DATABASE_TEMPLATE: template },
  );
  endWorkload();
  const inBrowsers = browserSeconds();
  if (inBrowsers > 0) reportCost({ file: BROWSERS, cpu: inBrowsers, wall: 0 });
  const serverAfter = isMeasured ? await secondsOfServer(adminUrl) : undefined;
  if (serverBefore !== undefined && serverAfter !== undefined)
    reportCost({ file: SERVER, cpu: serverAfter - serverBefore, wall: 0 });
} finally {
  await endRun(run, server.adminUrl);
  await server.release();
  guard.dismiss();
}
process.exitCode = code;
