// A database of its own for one test, on the server that scripts/test.ts started or was pointed to.
// It must leave nothing behind: whoever makes one drops it.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import pg from 'pg';

const adminUrl = process.env.TEST_DATABASE_ADMIN_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';
/** A migrated and seeded database that nobody is connected to; made by scripts/test.ts. */
const template = process.env.TEST_DATABASE_TEMPLATE;
const platformSchema = new URL('../migrations/0002-platform.sql', import.meta.url);

async function run(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

export function urlOfDatabase(name: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/**
 * With `migrated` a copy of the template (without one it is empty, and the service migrates it); otherwise the
 * platform's tables alone. Rejects when PostgreSQL cannot be reached, and `drop` when a connection is still open 5 s
 * later.
 */
export async function createScratchDatabase(
  options: { migrated?: boolean } = {},
): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `scratch_${randomBytes(6).toString('hex')}`;
  const url = urlOfDatabase(name);
  await run(
    adminUrl,
    `create database ${name} ${options.migrated && template ? `template ${template}` : ''}`,
  );
  if (!options.migrated) await run(url, await readFile(platformSchema, 'utf8'));
  // Without force: pools end a little after they say so, and a connection cut then would fail its test file.
  // PostgreSQL itself waits 5 s for them.
  return { url, drop: () => run(adminUrl, `drop database if exists ${name}`) };
}
