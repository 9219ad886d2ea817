// Runs the test suite on one PostgreSQL: its own embedded one or, with TEST_DATABASE_URL, the server named there.
// Usage: node scripts/test.ts [--server] [--only=<part of a path>] [options of node --test]
// With --server and nothing named: the PostgreSQL of this machine.
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../packages/server/src/platform/db/embedded.ts';

const root = new URL('..', import.meta.url).pathname;
const localServer = 'postgres://postgres@127.0.0.1:5432/postgres';
const template = `castellan_template_${process.pid}`;

/** Where tests make their databases, and how to leave it. Tests lose nothing that matters, so nothing is synced. */
async function openServer(): Promise<{ adminUrl: string; close(): Promise<void> }> {
  const given =
    process.env.TEST_DATABASE_URL ?? (process.argv.includes('--server') ? localServer : undefined);
  if (given) return { adminUrl: given, close: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), 'castellan-tests-'));
  const server = await startEmbeddedPostgres({
    dataDir: folder,
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '400' },
  });
  const { host, port, user, database } = server.connection;
  return {
    adminUrl: `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`,
    close: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function onServer(adminUrl: string, statement: string): Promise<void> {
  const client = new pg.Client(adminUrl);
  await client.connect();
  await client.query(statement);
  await client.end();
}

function runNode(args: string[], environment: Record<string, string>): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, ...environment },
    });
    child.on('exit', (code, signal) => resolve(code ?? (signal ? 1 : 0)));
  });
}

const only = process.argv.find((one) => one.startsWith('--only='))?.slice('--only='.length) ?? '';
const options = process.argv.slice(2).filter((one) => one !== '--server' && !one.startsWith('--only='));
const files = globSync(
  ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'scripts/**/*.test.ts'],
  { cwd: root },
)
  .filter((file) => file.includes(only))
  .sort();
// Without a file named, node would look for tests by itself.
if (files.length === 0) {
  process.stderr.write(`No test file has "${only}" in its path.\n`);
  process.exit(1);
}

const server = await openServer();
let code = 1;
try {
  await onServer(server.adminUrl, `create database ${template}`);
  const environment = { TEST_DATABASE_ADMIN_URL: server.adminUrl, TEST_DATABASE_TEMPLATE: template };
  code = await runNode(['packages/server/test/make-template.ts'], environment);
  // Each file is a process of its own, and most wait for hashing or the database.
  const concurrency = String(Math.max(2, availableParallelism()));
  if (code === 0)
    code = await runNode(
      ['--test', `--test-concurrency=${concurrency}`, '--test-timeout=300000', ...options, ...files],
      environment,
    );
} finally {
  await onServer(server.adminUrl, `drop database if exists ${template}`);
  await server.close();
}
process.exitCode = code;
