// What the faults of the process share: the service as a process of its own on a database of its own, a look at
// processes, requests on connections of their own. It must not judge answers.
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import type { TestContext } from 'node:test';
import pg from 'pg';
import { createClient, type TestClient } from '../../client.ts';
import { atEnd, temporaryFolder } from '../../embedded/fixture.ts';
import { ADMIN, TEST_SECRET_KEY, type TestService } from '../../harness.ts';
import { createScratchDatabase } from '../../scratch-database.ts';
import { type Child, startChild } from '../../start/child.ts';

export type ServiceProcess = {
  child: Child;
  url: string;
  databaseUrl: string;
  sql: TestService['sql'];
  client(): TestClient;
  /** Another process on the same database. */
  another(environment?: Record<string, string>): Promise<{ child: Child; url: string }>;
};

/** A process that is ready, on a database that goes after it. */
export async function openProcess(
  t: TestContext,
  environment: Record<string, string> = {},
): Promise<ServiceProcess> {
  const database = await createScratchDatabase({ migrated: true });
  atEnd(t, () => database.drop());
  const pool = new pg.Pool({ connectionString: database.url, max: 4 });
  atEnd(t, () => pool.end());
  const launch = async (more: Record<string, string> = {}): Promise<{ child: Child; url: string }> => {
    const child = startChild(t, {
      DATABASE_URL: database.url,
      DATA_DIR: temporaryFolder(t),
      SECRET_KEY: TEST_SECRET_KEY,
      PUBLIC_URL: 'http://castellan.test',
      FIRST_SUPERUSER_EMAIL: ADMIN.email,
      FIRST_SUPERUSER_PASSWORD: ADMIN.password,
      DATABASE_POOL_SIZE: '10',
      ...environment,
      ...more,
    });
    return { child, url: await child.ready() };
  };
  const first = await launch();
  return {
    ...first,
    databaseUrl: database.url,
    sql: async (text, values) => (await pool.query(text, values)).rows,
    client: () => createClient(first.url),
    another: launch,
  };
}

export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

export const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** Resident memory, MiB. */
export const residentMiB = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;

/** Processor time used so far, seconds. Linux counts in hundredths (proc(5), utime and stime). */
export function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

export type Sent = { sent: Promise<void>; status: Promise<number>; answers(): number };

/** On a connection of its own, so that nothing but the service decides about it. */
export function send(method: string, url: string, headers: Record<string, string> = {}, body = ''): Sent {
  const sent = Promise.withResolvers<void>();
  const status = Promise.withResolvers<number>();
  let answers = 0;
  const message = request(url, {
    method,
    agent: false,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
  });
  message.on('finish', sent.resolve);
  message.on('error', (error) => {
    sent.reject(error);
    status.reject(error);
  });
  message.on('response', (response) => {
    answers += 1;
    response.resume().on('end', () => status.resolve(response.statusCode ?? 0));
    response.on('error', status.reject);
  });
  message.end(body);
  sent.promise.catch(() => {});
  return { sent: sent.promise, status: status.promise, answers: () => answers };
}

/** What an unsafe request of this browser carries. */
export async function headersOf(client: TestClient): Promise<Record<string, string>> {
  const { headers } = await client.prepare('POST', { json: {} });
  return Object.fromEntries(headers);
}
