// Tests that an interrupted run leaves nothing behind, and that the kept cluster is used again.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { until } from '@castellan/embedded-postgres/testing';
import pg from 'pg';
import { processesOf } from './run.ts';

const runner = join(import.meta.dirname, '../test.ts');
const fixture = 'scripts/test/interrupted-fixture.ts';

// Also contains the kept cluster, which the later runs find there.
const folder = mkdtempSync(join(tmpdir(), 'castellan-interrupted-'));
chmodSync(folder, 0o755);
after(() => rmSync(folder, { recursive: true, force: true }));

/** Starts a run of the test that never ends; resolves when the test has started. */
async function startRun(
  t: TestContext,
  environment: Record<string, string>,
): Promise<{ run: ChildProcess; url: string }> {
  const { NODE_TEST_CONTEXT: _, TEST_DATABASE_URL: __, TEST_CPU_REPORT: ___, ...inherited } = process.env;
  const run = spawn(process.execPath, [runner, fixture], {
    env: { ...inherited, TMPDIR: folder, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => run.kill('SIGTERM'));
  let text = '';
  run.stdout?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const told = (): string | undefined => /^under way (.+)$/m.exec(text)?.[1];
  await until('the test is under way', () => told() !== undefined || run.exitCode !== null, 120_000);
  return { run, ...JSON.parse(told() ?? assert.fail(text)) };
}

/** What a run and its test make. The kept cluster and the folder of its socket belong to no run; other programs may add theirs. */
const leftFolders = (): string[] => readdirSync(folder).filter((name) => /^(castellan-run|left)-/.test(name));

async function assertNothingLeft(): Promise<void> {
  await until('its processes are gone', () => processesOf(folder).length === 0, 60_000);
  assert.deepEqual(leftFolders(), []);
}

test('Ctrl-C ends a run with its processes, its PostgreSQL and its folder', async (t) => {
  const { run } = await startRun(t, {});
  assert.ok(processesOf(folder).length > 3, 'the processes of the run are found by its folder');
  assert.ok(leftFolders().length > 0, 'the run has a folder');
  run.kill('SIGINT');
  const [code] = await once(run, 'exit');
  assert.equal(code, 130);
  await assertNothingLeft();
});

test('a killed run is cleaned up by its guard process', async (t) => {
  const { run } = await startRun(t, {});
  run.kill('SIGKILL');
  await once(run, 'exit');
  await until('its folder is gone', () => leftFolders().length === 0, 60_000);
  await assertNothingLeft();
});

test('SIGTERM drops the databases on a server that keeps running', async (t) => {
  const admin = process.env.TEST_DATABASE_ADMIN_URL ?? assert.fail('run by scripts/test.ts');
  const { run, url } = await startRun(t, { TEST_DATABASE_URL: admin });
  const prefix = new URL(url).pathname.slice(1).split('_').slice(0, 2).join('_');
  const databases = async (): Promise<number> => {
    const client = new pg.Client(admin);
    await client.connect();
    const { rowCount } = await client.query('select from pg_database where starts_with(datname, $1)', [
      prefix,
    ]);
    await client.end();
    return rowCount ?? 0;
  };
  assert.equal(await databases(), 2, 'the template and the test database');
  run.kill('SIGTERM');
  const [code] = await once(run, 'exit');
  assert.equal(code, 143);
  assert.equal(await databases(), 0);
  await assertNothingLeft();
});
