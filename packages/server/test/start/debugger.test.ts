// SIGUSR1 opens Node's debugger in no process of ours, however it is started, and ends none.
// It must not start Node with options of its own: what the command line lacks, the program does.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { atEnd, temporaryFolder, until } from '@castellan/embedded-postgres/testing';
import { TEST_SECRET_KEY } from '@castellan/testing/harness';
import { createScratchDatabase } from '@castellan/testing/scratch-database';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const isElsewhere = process.platform !== 'linux' && 'needs Linux';

/** Ids of the processes that this one has started. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

const outputOf = (child: ChildProcess): (() => string) => {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  return () => output;
};

for (const [what, command, args] of [
  ['npm start', 'npm', ['start', '--silent']],
  ['the program alone', process.execPath, ['packages/cli/castellan.mjs', 'serve']],
] as const)
  test(`SIGUSR1 neither debugs nor ends the service and its workers: ${what}`, {
    skip: isElsewhere,
  }, async (t) => {
    const database = await createScratchDatabase({ migrated: true });
    atEnd(t, () => database.drop());
    const { NODE_OPTIONS: _, ...environment } = process.env;
    const child = spawn(command, args, {
      cwd: root,
      detached: true,
      env: {
        ...environment,
        PORT: '0',
        WORKERS: '2',
        LOG_LEVEL: 'debug',
        SHUTDOWN_GRACE_SECONDS: '0',
        DATABASE_URL: database.url,
        SECRET_KEY: TEST_SECRET_KEY,
        DATA_DIR: temporaryFolder(t),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const group = -(child.pid ?? assert.fail('not started'));
    const ended = new Promise((resolve) => child.once('close', resolve));
    atEnd(t, async () => {
      if (child.exitCode === null) process.kill(group, 'SIGKILL');
      await ended;
    });
    const output = outputOf(child);
    // Before its own code runs, a process has the handlers of the operating system.
    await until('both workers are ready', () => {
      assert.equal(child.exitCode, null, output());
      return output().includes('"msg":"a worker is ready"');
    });
    const wordsOf = (pid: number): string[] => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const below = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(below)];
    const processes = below(-group).filter((pid) =>
      wordsOf(pid).some((word) => /\/(start|castellan)\.mjs$/.test(word)),
    );
    assert.equal(processes.length, 3, 'the supervisor and its workers');
    for (const pid of processes) process.kill(pid, 'SIGUSR1');
    // A debugger says where it listens within a few milliseconds.
    await wait(300);
    for (const pid of processes) process.kill(pid, 0);
    assert.doesNotMatch(output(), /Debugger listening|a worker ended/);
    const [supervisor = 0, ...workers] = processes;
    for (const pid of workers) assert.ok(wordsOf(pid).includes('--disable-sigusr1'), wordsOf(pid).join(' '));
    process.kill(supervisor, 'SIGTERM');
    await ended;
  });
