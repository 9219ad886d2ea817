// Creates an empty database and starts services on it, as a first start does. It must leave no database behind.
import type { TestContext } from 'node:test';
import { startTestService, type TestService } from '@castellan/testing/harness';
import { adminUrl, scratchName, urlOfDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';

export type EmptyDatabase = {
  /** Starts an instance; several may start at once. Its `mails` and `logLines` work, its `sql` does not. */
  start(environment?: Record<string, string>): Promise<TestService>;
  /** Returns the rows of a query on this database. */
  sql<T = Record<string, unknown>>(text: string, values?: unknown[]): Promise<T[]>;
};

async function onServer(statement: string): Promise<void> {
  const connection = new pg.Client(adminUrl);
  await connection.connect();
  try {
    await connection.query(statement);
  } finally {
    await connection.end();
  }
}

export async function createEmptyDatabase(t: Pick<TestContext, 'after'>): Promise<EmptyDatabase> {
  const name = scratchName();
  await onServer(`create database ${name}`);
  const url = urlOfDatabase(name);
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  // One hook, so that the database is dropped after the services that use it have stopped.
  const endings: (() => unknown)[] = [];
  t.after(async () => {
    for (const end of endings) await end();
    await pool.end();
    await onServer(`drop database if exists ${name}`);
  });
  const own = { after: (end: () => unknown) => void endings.push(end) } as Pick<TestContext, 'after'>;
  return {
    start: (environment = {}) => startTestService(own, { ...environment, DATABASE_URL: url }),
    sql: async (text, values) => (await pool.query(text, values)).rows,
  };
}
