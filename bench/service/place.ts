// Gives a benchmark its own folder and database, embedded or on the server of DATABASE_URL.
// It must leave nothing behind.
import { readFileSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { withChildren } from './processes.ts';

export type Place = {
  /** The environment to start the service with. */
  environment: Record<string, string>;
  /** Returns how to connect to the database; an embedded one only runs while a service runs. */
  connection(): Promise<pg.ClientConfig>;
  /** Returns the processes of the embedded PostgreSQL; none with DATABASE_URL. */
  databasePids(): Promise<number[]>;
  remove(): Promise<void>;
};

const onServer = process.env.DATABASE_URL;
let places = 0;

export const databaseKind = onServer
  ? 'PostgreSQL of DATABASE_URL'
  : 'embedded PostgreSQL, default durability';

/**
 * Creates an empty folder and, with DATABASE_URL, an empty database. With `keep`, an embedded database is in that folder, as
 * an earlier benchmark left it, and stays there.
 */
export async function createPlace(keep?: string): Promise<Place> {
  const folder = keep ?? (await mkdtemp(join(tmpdir(), 'castellan-bench-')));
  if (keep !== undefined) await mkdir(keep, { recursive: true });
  const pidFile = async () => (await readFile(join(folder, 'postgres/postmaster.pid'), 'utf8')).split('\n');
  const onExit = (): void => abandon(folder, keep !== undefined);
  process.once('exit', onExit);
  const removeFolder = async (): Promise<void> => {
    if (keep === undefined) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
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

/** Kills what an interrupted benchmark started and removes its folder, unless it is kept. */
function abandon(folder: string, isKept: boolean): void {
  try {
    const pid = Number(readFileSync(join(folder, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]);
    for (const one of withChildren(pid)) process.kill(one, 'SIGKILL');
  } catch {
    // No embedded PostgreSQL runs.
  }
  if (!isKept) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
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
