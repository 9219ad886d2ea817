// What tests of process failures share: the service as a process with its own database, process statistics, and
// requests on separate connections. It must not judge answers.
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import type { TestContext } from 'node:test';
import { atEnd, temporaryFolder } from '@castellan/embedded-postgres/testing';
import { createPasswordHasher } from '@castellan/server/platform/security/password-hasher';
import pg from 'pg';
import { createClient, type TestClient } from '../client.ts';
import { ADMIN, TEST_SECRET_KEY, type TestService } from '../harness.ts';
import { createScratchDatabase } from '../scratch-database.ts';
import { type Child, startChild } from './child.ts';

export type ServiceProcess = {
  child: Child;
  url: string;
  databaseUrl: string;
  sql: TestService['sql'];
  client(): TestClient;
  /** Starts another process on the same database. */
  another(environment?: Record<string, string>): Promise<{ child: Child; url: string }>;
};

/** Starts a process on a new database and waits until it is ready. Both are removed after the test. */
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
  // The template's password was hashed cheaply. The service would hash it again at the first sign-in and change the row.
  await pool.query('update users set password_hash = $1 where email = $2', [
    await createPasswordHasher().hash(ADMIN.password),
    ADMIN.email,
  ]);
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

/** Returns the resident memory in MiB. */
export const residentMiB = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;

export type Sent = {
  sent: Promise<void>;
  status: Promise<number>;
  answers(): number;
  /** Returns the `Connection` header of the answer. */
  connection(): string | undefined;
};

/** Sends a request on a separate connection, so that only the service decides when the connection ends. */
export function send(method: string, url: string, headers: Record<string, string> = {}, body = ''): Sent {
  const sent = Promise.withResolvers<void>();
  const { message, ...answer } = dispatch(method, url, headers, body);
  message.on('finish', sent.resolve);
  message.on('error', sent.reject);
  message.end(body);
  sent.promise.catch(() => {});
  return { ...answer, sent: sent.promise };
}

function dispatch(method: string, url: string, headers: Record<string, string>, body: string) {
  const status = Promise.withResolvers<number>();
  let answers = 0;
  let connection: string | undefined;
  const message = request(url, {
    method,
    agent: false,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
  });
  message.on('error', status.reject);
  message.on('response', (response) => {
    answers += 1;
    connection = response.headers.connection;
    response.resume().on('end', () => status.resolve(response.statusCode ?? 0));
    response.on('error', status.reject);
  });
  return { message, status: status.promise, answers: () => answers, connection: () => connection };
}

/** `sent` resolves when the service has read the headers and requests the body; `finish` sends its last byte. */
export type Held = Sent & { finish(): void };

/** Sends a request that stays unfinished until `finish` is called. Until then, it holds no lock and no timeout runs. */
export function sendHeld(method: string, url: string, headers: Record<string, string>, body: string): Held {
  const asked = Promise.withResolvers<void>();
  const held = dispatch(method, url, { ...headers, expect: '100-continue' }, body);
  held.message.once('continue', () => {
    held.message.write(body.slice(0, -1));
    asked.resolve();
  });
  held.message.once('error', asked.reject);
  asked.promise.catch(() => {});
  held.message.flushHeaders();
  return { ...held, sent: asked.promise, finish: () => held.message.end(body.slice(-1)) };
}

/** Returns the headers of a state-changing request of this client. */
export async function headersOf(client: TestClient): Promise<Record<string, string>> {
  const { headers } = await client.prepare('POST', { json: {} });
  return Object.fromEntries(headers);
}
