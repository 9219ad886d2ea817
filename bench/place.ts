// Where a benchmark runs: a folder and a database of its own, embedded or on the server of DATABASE_URL.
// It must leave nothing behind.
import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { withChildren } from './processes.ts';

export type Place = {
  /** What the service is to be started with. */
  environment: Record<string, string>;
  /** How to reach the database; an embedded one only while a service runs. */
  connection(): Promise<pg.ClientConfig>;
  /** Processes of the embedded PostgreSQL; none where the server is somebody else's. */
  databasePids(): Promise<number[]>;
  remove(): Promise<void>;
};

const onServer = process.env.DATABASE_URL;
let places = 0;

export const databaseKind = onServer
  ? 'PostgreSQL of DATABASE_URL'
  : 'embedded PostgreSQL, default durability';

/** Empty: no schema, no cluster. */
export async function createPlace(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'castellan-bench-'));
  const pidFile = async () => (await readFile(join(folder, 'postgres/postmaster.pid'), 'utf8')).split('\n');
  const onExit = (): void => abandon(folder);
  process.once('exit', onExit);
  const removeFolder = async (): Promise<void> => {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    process.off('exit', onExit);
  };
  if (!onServer) {
    return {
      environment: { DATA_DIR: folder },
      connection: async () => ({
        host: (await pidFile())[4] ?? '',
        port: 5432,
        user: 'castellan',
        database: 'castellan',
        ssl: false,
      }),
      databasePids: async () => withChildren(Number((await pidFile())[0])),
      remove: removeFolder,
    };
  }
  places += 1;
  const name = `castellan_bench_${process.pid}_${places}`;
  const url = new URL(onServer);
  url.pathname = `/${name}`;
  await query({ connectionString: onServer }, `create database ${name}`);
  return {
    environment: { DATA_DIR: folder, DATABASE_URL: url.href },
    connection: async () => ({ connectionString: url.href }),
    databasePids: async () => [],
    async remove() {
      await query({ connectionString: onServer }, `drop database if exists ${name} with (force)`);
      await removeFolder();
    },
  };
}

/** The benchmark was interrupted: what it started ends by force. */
function abandon(folder: string): void {
  try {
    const pid = Number(readFileSync(join(folder, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]);
    for (const one of withChildren(pid)) process.kill(one, 'SIGKILL');
  } catch {
    // No PostgreSQL of ours runs.
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

export async function query(
  connection: pg.ClientConfig,
  text: string,
  values?: unknown[],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}
