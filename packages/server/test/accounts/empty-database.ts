// A database without anything in it, and services that meet there: what a first start finds.
// It must leave no database behind.
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import pg from 'pg';
import { startTestService, type TestService } from '../harness.ts';
import { urlOfDatabase } from '../scratch-database.ts';

const adminUrl = process.env.TEST_DATABASE_ADMIN_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';

export type EmptyDatabase = {
  /** An instance on it; several may start at once. `mails` and `logLines` work, its `sql` does not. */
  start(environment?: Record<string, string>): Promise<TestService>;
  /** Rows of a query on this database. */
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
  const name = `empty_${randomBytes(6).toString('hex')}`;
  await onServer(`create database ${name}`);
  const url = urlOfDatabase(name);
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  // One hook, so that the database goes after the services that use it.
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
