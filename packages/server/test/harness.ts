// What every black-box test stands on: a database of its own, the real service on it, and a browser-like client.
// It must not reach into the service: what a test wants to know it asks over HTTP or in SQL.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createLog } from '../src/platform/log.ts';
import { type Service, startService } from '../src/service.ts';
import { loadSettings } from '../src/settings.ts';
import { createClient, type TestClient } from './client.ts';
import { createScratchDatabase } from './scratch-database.ts';
import { watch, watchSettings, watchTraces } from './secret-watch.ts';

/** The template's signing key is sealed with it (scripts/test.ts uses the same). */
export const TEST_SECRET_KEY = 'a secret key for tests, 32 bytes or more';
export const ADMIN = { email: 'admin@example.com', password: 'Vexing#Quartz82Lime' };
export const PASSWORD = 'QaRegisterPass!47';

/** Limits are off unless a test turns them on: tests share one address. */
const testEnvironment = {
  HOST: '127.0.0.1',
  PORT: '0',
  PUBLIC_URL: 'http://castellan.test',
  SECRET_KEY: TEST_SECRET_KEY,
  FIRST_SUPERUSER_EMAIL: ADMIN.email,
  FIRST_SUPERUSER_PASSWORD: ADMIN.password,
  RATE_LIMIT_LOGIN: 'off',
  RATE_LIMIT_REGISTER: 'off',
  RATE_LIMIT_PASSWORD_RESET: 'off',
  RATE_LIMIT_NEW_ACCESS_TOKEN: 'off',
  RATE_LIMIT_RESEND_VERIFICATION: 'off',
  REGISTRATION_ABUSE_LIMIT: 'off',
  ACCOUNT_EMAIL_LIMIT: 'off',
  LOG_LEVEL: 'info',
  DATABASE_POOL_SIZE: '10',
};

export type TestMail = { kind: string; to: string; subject: string; text: string; token: string | null };

export type TestService = {
  service: Service;
  url: string;
  databaseUrl: string;
  /** Everything the service logged, one JSON text a line. */
  logLines: string[];
  /** A new browser: no cookies, no token. */
  client(): TestClient;
  /** Rows of a query on the service's database. */
  sql<T = Record<string, unknown>>(text: string, values?: unknown[]): Promise<T[]>;
  /** Waits for the newest mail to this address; `after` skips that many earlier ones. */
  mailTo(email: string, after?: number): Promise<TestMail>;
  /** Every mail sent so far, oldest first. */
  mails(): TestMail[];
  /** A second instance on the same database. */
  another(environment?: Record<string, string>): Promise<TestService>;
  stop(): Promise<void>;
};

/** A test's context, or `{ after }` of node:test for a whole file. */
export type Hooks = { after(hook: () => Promise<void>): void };

/** A service on a fresh database; both go when the test (or the suite given) ends. */
export async function startTestService(
  t: Hooks,
  environment: Record<string, string> = {},
): Promise<TestService> {
  const database = await createScratchDatabase({ migrated: true });
  const instances: TestService[] = [];
  // One hook for all, because hooks run in the order of their making and the database goes last.
  t.after(async () => {
    await Promise.all(instances.map((instance) => instance.stop()));
    await database.drop();
  });
  return startInstance(instances, database.url, environment);
}

async function startInstance(
  instances: TestService[],
  databaseUrl: string,
  environment: Record<string, string>,
): Promise<TestService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'castellan-test-'));
  const logLines: string[] = [];
  const printed: string[] = [];
  watchSettings({ ...testEnvironment, ...environment });
  const settings = loadSettings({
    ...testEnvironment,
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    ...environment,
  });
  const service = await startService({
    settings,
    log: createLog(settings.logLevel, { write: (line) => void logLines.push(line) }),
    print: (text) => void printed.push(text),
  });
  const sqlPool = new pg.Pool({ connectionString: databaseUrl, max: 4 });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await service.stop();
    try {
      await watchTraces(logLines, async (text) => (await sqlPool.query(text)).rows);
    } finally {
      await sqlPool.end();
    }
    await rm(dataDir, { recursive: true, force: true });
  };
  const instance: TestService = {
    service,
    url: service.url,
    databaseUrl,
    logLines,
    client: () => createClient(service.url),
    sql: async (text, values) => (await sqlPool.query(text, values)).rows,
    mails: () => printed.flatMap(readMail),
    mailTo: (email, after = 0) =>
      eventually(
        () => instance.mails().filter((mail) => mail.to === email)[after],
        `mail ${after} to ${email}`,
      ),
    another: (more = {}) => startInstance(instances, databaseUrl, { ...environment, ...more }),
    stop: () => (stopped ??= stop()),
  };
  instances.push(instance);
  await service.prepared;
  return instance;
}

/** Polls until `look` finds something; fails after 10 s. */
export async function eventually<T>(
  look: () => T | undefined | Promise<T | undefined>,
  what: string,
): Promise<T> {
  const end = performance.now() + 10_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`waited 10 s in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function readMail(printed: string): TestMail[] {
  const to = /^To: (?:<)?([^>\n]+?)>?$/m.exec(printed)?.[1];
  if (to === undefined) return [];
  const subject = /^Subject: (.+)$/m.exec(printed)?.[1] ?? '';
  const token = /#token=([\w-]+)/.exec(printed)?.[1] ?? null;
  const kind = printed.includes('/verify-email#')
    ? 'verification'
    : printed.includes('/reset#')
      ? 'password_reset'
      : 'account_locked';
  if (token) watch.note(token, 'token of a mail');
  return [{ kind, to, subject, text: printed, token }];
}

let counter = 0;
/** An address that no other test uses. */
export function newEmail(name = 'user'): string {
  counter += 1;
  return `${name}-${process.pid}-${counter}@example.com`;
}

/** A registered and verified user, by the way a person takes. */
export async function createVerifiedUser(
  service: TestService,
  options: { email?: string; password?: string; firstName?: string; lastName?: string } = {},
): Promise<{ id: string; email: string; password: string }> {
  const { email = newEmail(), password = PASSWORD, firstName = 'Ada', lastName = 'Lovelace' } = options;
  const client = service.client();
  const registered = await client.post('/api/v1/auth/register', {
    email,
    password,
    first_name: firstName,
    last_name: lastName,
  });
  if (registered.status !== 201)
    throw new Error(`register answered ${registered.status}: ${JSON.stringify(registered.body)}`);
  const mail = await service.mailTo(email);
  const verified = await client.post('/api/v1/auth/verify-email', { token: mail.token });
  if (verified.status !== 200)
    throw new Error(`verify answered ${verified.status}: ${JSON.stringify(verified.body)}`);
  return { id: registered.body.data.id, email, password };
}

/** A client that is signed in as this user. */
export async function signIn(
  service: TestService,
  user: { email: string; password: string },
): Promise<TestClient> {
  const client = service.client();
  const answer = await client.login(user);
  if (answer.status !== 200)
    throw new Error(`login answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return client;
}
