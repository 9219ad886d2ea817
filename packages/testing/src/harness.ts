// The basis of every black-box test: a separate database, the real service on it, and a browser-like client.
// It must not read the service's internal state: tests use HTTP and SQL.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createStrengthMeter,
  type StrengthMeter,
  type StrengthScore,
} from '@castellan/server/modules/passwords/strength';
import { createLog } from '@castellan/server/platform/logging/log';
import { type Service, startService } from '@castellan/server/service';
import { loadSettings } from '@castellan/server/settings';
import pg from 'pg';
import { createClient, type TestClient } from './client.ts';
import { createCheapHasher } from './hashing.ts';
import { watchEntries } from './records/audit-schemas.ts';
import { createScratchDatabase } from './scratch-database.ts';
import { watch, watchSettings, watchTraces } from './secret-watch.ts';

/** Encrypts the template's signing key (make-template.ts uses the same key). */
export const TEST_SECRET_KEY = '6/wsor6QSjg3iUCVjLBZf2UOep3X69fQVyD3OI/eDFh/0IOPLuTM7c8YdzoP2x7G';
export const ADMIN = { email: 'admin@example.com', password: 'Vexing#Quartz82Lime' };
export const PASSWORD = 'QaRegisterPass!47';

/** The passwords that most tests use; strength.test.ts asserts that they are strong. */
const strongPasswords = new Set([ADMIN.password, PASSWORD, 'ReplacementPassword!42']);
const realMeter = createStrengthMeter();
/** Loading the dictionaries costs more than starting an instance. Only other passwords cause it, once per file. */
const strengthMeter: StrengthMeter = {
  score: async (password, userInputs): Promise<StrengthScore> =>
    strongPasswords.has(password) ? 4 : realMeter.score(password, userInputs),
  close: () => realMeter.close(),
};

/** Limits are off unless a test turns them on, because all tests share one client address. */
const testEnvironment = {
  HOST: '127.0.0.1',
  PORT: '0',
  PUBLIC_URL: 'http://castellan.test',
  SECRET_KEY: TEST_SECRET_KEY,
  FIRST_SUPERUSER_EMAIL: ADMIN.email,
  FIRST_SUPERUSER_PASSWORD: ADMIN.password,
  RATE_LIMIT_LOGIN: 'off',
  RATE_LIMIT_SECOND_FACTOR: 'off',
  RATE_LIMIT_PASSKEY_OPTIONS: 'off',
  RATE_LIMIT_REGISTER: 'off',
  RATE_LIMIT_PASSWORD_RESET: 'off',
  RATE_LIMIT_NEW_ACCESS_TOKEN: 'off',
  RATE_LIMIT_REFRESH: 'off',
  RATE_LIMIT_RESEND_VERIFICATION: 'off',
  RATE_LIMIT_USER: 'off',
  RATE_LIMIT_LINK_CHECK: 'off',
  RATE_LIMIT_PROVIDER_START: 'off',
  RATE_LIMIT_REVOKE: 'off',
  REGISTRATION_ABUSE_LIMIT: 'off',
  ACCOUNT_EMAIL_LIMIT: 'off',
  LOG_LEVEL: 'info',
  DATABASE_POOL_SIZE: '10',
};

/** Settings of a whole run, such as `AUDIT_SEALING=off FEED=off`, unless a test sets them itself. */
const settingsOfRun: Record<string, string> = Object.fromEntries(
  (process.env.TEST_SETTINGS ?? '')
    .split(' ')
    .filter(Boolean)
    .map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]),
);

export type TestMail = { kind: string; to: string; subject: string; text: string; token: string | null };

export type TestService = {
  service: Service;
  url: string;
  databaseUrl: string;
  /** Every line that the service logged, as JSON. */
  logLines: string[];
  /**
   * Which origin of an identity provider is at which address, for providers whose addresses are fixed: see `addresses` of
   * openid/issuer.ts. Shared by the instances on this database.
   */
  providerAddresses: Map<string, string>;
  /** A new browser: no cookies, no token. */
  client(): TestClient;
  /** Returns the rows of a query on the service's database. */
  sql<T = Record<string, unknown>>(text: string, values?: unknown[]): Promise<T[]>;
  /** Waits for the oldest mail to this email; `after` skips that many mails. */
  mailTo(email: string, after?: number): Promise<TestMail>;
  /** Returns every mail that an instance on this database has sent so far, oldest first: any of them may send one. */
  mails(): TestMail[];
  /** Starts another instance on the same database. */
  another(environment?: Record<string, string>): Promise<TestService>;
  stop(): Promise<void>;
};

/** A test's context, or `{ after }` of node:test for a whole file. */
export type Hooks = { after(hook: () => Promise<void>): void };

export type Hashing = 'cheap' | 'full';

/**
 * Starts a service on a new database. Both are removed when the test (or the file) ends. Hashing is cheap unless the
 * test is about its cost.
 */
export async function startTestService(
  t: Hooks,
  environment: Record<string, string> = {},
  hashing: Hashing = 'cheap',
): Promise<TestService> {
  const { url, drop } = await createScratchDatabase({ migrated: true });
  const database: TestDatabase = {
    url,
    pool: new pg.Pool({ connectionString: url, max: 8 }),
    instances: [],
    printed: [],
    providerAddresses: new Map(),
  };
  // One hook for all, because hooks run in the order of registration and the database must be dropped last.
  t.after(async () => {
    await Promise.all(database.instances.map((instance) => instance.stop())).finally(() =>
      database.pool.end(),
    );
    await drop();
  });
  return startInstance(database, environment, hashing);
}

/** `pool` is for the statements of tests. */
type TestDatabase = {
  url: string;
  pool: pg.Pool;
  instances: TestService[];
  /** What instances without a mail server print, mails among others. */
  printed: string[];
  providerAddresses: Map<string, string>;
};

async function startInstance(
  database: TestDatabase,
  environment: Record<string, string>,
  hashing: Hashing,
): Promise<TestService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'castellan-test-'));
  const logLines: string[] = [];
  watchSettings({ ...testEnvironment, ...environment });
  const settings = loadSettings({
    ...testEnvironment,
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    ...settingsOfRun,
    ...environment,
  });
  const service = await startService({
    settings,
    log: createLog(settings.logLevel, { write: (line) => void logLines.push(line) }),
    print: (text) => void database.printed.push(text),
    ...(hashing === 'cheap' ? { hasher: createCheapHasher() } : {}),
    strengthMeter,
    providerAddresses: database.providerAddresses,
    isTerminal: true,
  });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await service.stop();
    await watchTraces(logLines, async (text) => (await database.pool.query(text)).rows);
    await watchEntries(async (text) => (await database.pool.query(text)).rows);
    await rm(dataDir, { recursive: true, force: true });
  };
  const instance: TestService = {
    service,
    url: service.url,
    databaseUrl: database.url,
    logLines,
    providerAddresses: database.providerAddresses,
    client: () => createClient(service.url),
    sql: async (text, values) => (await database.pool.query(text, values)).rows,
    mails: () => database.printed.flatMap(readMail),
    mailTo: (email, after = 0) =>
      eventually(
        () => instance.mails().filter((mail) => mail.to === email)[after],
        `mail ${after} to ${email}`,
      ),
    another: (more = {}) => startInstance(database, { ...environment, ...more }, hashing),
    stop: () => (stopped ??= stop()),
  };
  database.instances.push(instance);
  await service.prepared;
  return instance;
}

/** Not an assertion about speed: what has not happened by then will not happen, under any load. */
const HANG_MS = 60_000;

/** Polls until `look` returns a value other than undefined and false, and returns it. Throws after 60 s; `what` completes "waited for …". */
export async function eventually<T>(
  look: () => T | undefined | false | Promise<T | undefined | false>,
  what: string,
): Promise<T> {
  const end = performance.now() + HANG_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`waited ${HANG_MS / 1_000} s without success for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Mails that differ only in their words: kind, and what its built-in subject has in either language. */
const warnings: readonly (readonly [kind: string, subject: RegExp])[] = [
  ['email_change_requested', /new email address was requested|neue E-Mail-Adresse angegeben/],
  ['email_changed', /account has changed$|wurde geändert$/],
  [
    'email_change',
    /new email address at|entered your email|neue E-Mail-Adresse bei|Ihre E-Mail-Adresse .* eingegeben/,
  ],
  ['second_factor_added', /factor was added|Faktor hinzugefügt/],
  ['second_factor_removed', /factor was removed|Faktor entfernt/],
  ['second_factor_reset', /factors .* were reset|Faktoren .* zurückgesetzt/],
  ['recovery_code_used', /recovery code|Wiederherstellungscode/],
  ['second_factor_attack', /know your|kennt möglicherweise/],
  ['app_suspended', /authenticator app|Authenticator-App/],
  ['new_sign_in', /New sign-in|Neue Anmeldung/],
  ['personal_token_created', /personal access token|persönliches Zugriffstoken/],
  ['webhook_paused', /A webhook of|Ein Webhook von/],
  ['acted_as', /is using your|benutzt Ihr Konto/],
  ['identity_connected', /was connected to|verknüpft/],
  ['account_taken_over', /is confirmed$|ist bestätigt$/],
  ['account_made', /^Your account at [^ ]+$|^Ihr Konto bei [^ ]+$/],
  ['provider_attempt', /gave your email|Ihre E-Mail-Adresse .* angegeben/],
  ['provider_code', /^Your code|^Ihr Code/],
  ['identity_disconnected', /was disconnected from|getrennt/],
];

function readMail(printed: string): TestMail[] {
  const to = /^To: (?:<)?([^>\n]+?)>?$/m.exec(printed)?.[1];
  if (to === undefined) return [];
  const subject = /^Subject: (.+)$/m.exec(printed)?.[1] ?? '';
  const token = /#(?:token|recovery)=([\w-]+)/.exec(printed)?.[1] ?? null;
  const kind = printed.includes('/verify-email#')
    ? 'verification'
    : printed.includes('/reset#')
      ? 'password_reset'
      : printed.includes('/invitation#')
        ? 'invitation'
        : printed.includes('/undo-deletion#')
          ? 'deletion_planned'
          : (warnings.find(([, pattern]) => pattern.test(subject))?.[0] ?? 'account_locked');
  if (token) watch.note(token, 'token of a mail');
  return [{ kind, to, subject, text: printed, token }];
}

let counter = 0;
/** Returns an email that no other test uses. */
export function newEmail(name = 'user'): string {
  counter += 1;
  return `${name}-${process.pid}-${counter}@example.com`;
}

/** Creates a user as a person would: by registration and the link in the mail. */
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

/** Returns a client that is signed in as this user. */
export async function signIn(
  service: Pick<TestService, 'client'>,
  user: { email: string; password: string },
): Promise<TestClient> {
  const client = service.client();
  const answer = await client.login(user);
  if (answer.status !== 200)
    throw new Error(`login answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return client;
}
