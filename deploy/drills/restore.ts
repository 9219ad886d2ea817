// The restore drill: a made-up company moves from the embedded PostgreSQL to a server and back. Backups and restores are
// killed in the middle while the service is under load, and afterwards people sign in with their old passwords.
// Prints Markdown tables, and ends with 1 if an acknowledged change was lost, an ended session lived again, a killed command
// left something behind, or somebody could not sign in.
// `npm run drill:restore -- 100000`: the number of people. DATABASE_URL: a server on which databases may be created
// (default: postgres://postgres@127.0.0.1:5432/postgres). It removes what it created.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { format, markdown } from '../../bench/report/table.ts';
import { fetchCsrf, startService } from '../../bench/service/service.ts';
import { ask, startLoad } from '../ha/load.ts';
import { castellan, type Environment, killed } from './commands.ts';

const people = process.argv[2] ?? '100000';
const adminUrl = process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';
/** Parts of the size of a whole backup. */
const backupsKilledAt = [0.1, 0.3, 0.5, 0.7];
/** How the statement begins in which a restore is killed. */
const restoresKilledAt = ['copy "users"', 'CREATE INDEX'];
const SIGN_INS = 20;

const folder = mkdtempSync(join(tmpdir(), 'castellan-restore-drill-'));
chmodSync(folder, 0o755);
/** Of every kind of character that the password policy asks for. */
const newPassword = (): string => `${randomBytes(18).toString('base64url')}aB7!`;
const admin = { email: 'admin@example.com', password: newPassword() };
const password = newPassword();
const shared: Environment = {
  SECRET_KEY: 'a secret key for benchmarks, 32 bytes or more',
  FIRST_SUPERUSER_PASSWORD: admin.password,
  RATE_LIMIT_USER: 'off',
  CONCURRENT_SESSION_LIMIT: '0',
};
const rows: string[][] = [];
const failures: string[] = [];

function check(holds: boolean, otherwise: string): void {
  if (holds) return;
  failures.push(otherwise);
  process.stderr.write(`FAILED: ${otherwise}\n`);
}

/** Notes a command that was measured. `file`: the backup. */
function note(what: string, seconds: number, out: string, file: string): void {
  const count = Number(/([\d,]+) rows?/.exec(out)?.[1]?.replaceAll(',', '') ?? Number.NaN);
  const megabytes = statSync(file).size / 1e6;
  rows.push([what, format(seconds), format(count), format(count / seconds), format(megabytes)]);
  process.stderr.write(`${what}: ${seconds.toFixed(1)} s\n`);
}

type Used = {
  /** Access tokens whose sessions were ended before the backup, and after it. */
  ended: string[];
  /** Access tokens of live sessions. */
  live: string[];
  /** Ids of the roles that were created before the backup began. */
  roles: string[];
};

async function signIn(url: string, email: string, secret: string): Promise<string | undefined> {
  const { body } = await ask(`${url}/api/v1/auth/login`, 'POST', await fetchCsrf(url), {
    email,
    password: secret,
  });
  return readText(body, 'data', 'access_token');
}

function readText(value: unknown, ...path: string[]): string | undefined {
  let at = value;
  for (const key of path) at = typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined;
  return typeof at === 'string' ? at : undefined;
}

const statusOf = async (url: string, access: string): Promise<number> =>
  (await ask(`${url}/api/v1/users/me`, 'GET', { authorization: `Bearer ${access}` })).status;

/** Returns emails of active people. Some of the company are locked after too many failures. */
async function emailsOf(url: string): Promise<string[]> {
  const access = (await signIn(url, admin.email, admin.password)) ?? '';
  const query = `is_active=true&verified=true&size=${SIGN_INS + 10}`;
  const { body } = await ask(`${url}/api/v1/users?${query}`, 'GET', { authorization: `Bearer ${access}` });
  const text = JSON.stringify(body);
  const emails = [...text.matchAll(/"email":"([^"]+)"/g)].map(([, email = '']) => email);
  return emails.filter((email) => email !== admin.email);
}

/** Uses the service while it is backed up, and kills further backups. */
async function backUpInUse(from: Environment, file: string): Promise<Used & { emails: string[] }> {
  const service = await startService(from);
  const emails: string[] = [];
  const live: string[] = [];
  for (const email of await emailsOf(service.url)) {
    const access = emails.length < SIGN_INS ? await signIn(service.url, email, password) : undefined;
    if (access === undefined) continue;
    emails.push(email);
    live.push(access);
  }
  check(emails.length === SIGN_INS, `${emails.length} of ${SIGN_INS} people can sign in to ${kindOf(from)}`);
  const load = await startLoad([service.url], admin);
  await load.writesAgain(20, 60_000);
  const roles = [...load.roles];
  load.begin();
  const { seconds, out } = await castellan(['backup', '--to', file], from);
  const { reads, writes, longestWithoutWrite } = load.period();
  note(`back up ${kindOf(from)}, in use`, seconds, out, file);
  const isSound = [...Object.keys(reads), ...Object.keys(writes)].every((status) => /^2/.test(status));
  check(isSound, `requests failed during the backup: ${JSON.stringify({ reads, writes })}`);
  process.stderr.write(
    `  during it: ${JSON.stringify({ reads, writes })}, at most ${longestWithoutWrite.toFixed(1)} s without a write\n`,
  );
  await load.writesAgain(20, 60_000);
  await load.stop();
  const whole = statSync(file).size;
  for (const part of backupsKilledAt) {
    const name = `killed-${part}.backup`;
    const written = (): number =>
      readdirSync(folder)
        .filter((one) => one.startsWith(name))
        .reduce((sum, one) => sum + statSync(join(folder, one)).size, 0);
    await killed(['backup', '--to', join(folder, name)], from, () => written() >= whole * part);
    check(!readdirSync(folder).includes(name), 'a killed backup left a file under its name');
  }
  await service.stop();
  return { ended: [...load.ended], live, roles, emails };
}

/** Restores into an empty database, after restores that were killed in the middle of it. */
async function restoreKilled(file: string, to: Environment): Promise<void> {
  const verified = await castellan(['verify-backup', file], {});
  note('verify the backup', verified.seconds, verified.out, file);
  const args = ['restore', '--from', file];
  for (const statement of restoresKilledAt) {
    await killed(args, to, async () => (await statementsOn(to)).some((one) => one.startsWith(statement)));
    process.stderr.write(`  killed in ${statement}\n`);
    while ((await statementsOn(to)).length > 0) await pause(100);
  }
  // It refuses a database with anything in it, so its success shows that the others left nothing.
  const { seconds, out } = await castellan(args, to);
  note(`restore into ${kindOf(to)}`, seconds, out, file);
}

/** The latest statements of the connections of Castellan; none while the database cannot be reached. */
async function statementsOn({ DATABASE_URL, DATA_DIR = '' }: Environment): Promise<string[]> {
  const client = new pg.Client(
    DATABASE_URL ?? {
      host: join(DATA_DIR, 'postgres'),
      port: 5432,
      user: 'castellan',
      database: 'castellan',
    },
  );
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows: found } = await client.query<{ query: string }>(
      `select query from pg_stat_activity where datname = current_database() and application_name = 'castellan'`,
    );
    return found.map(({ query }) => query);
  } catch {
    return [];
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function checkRestored(at: Environment, used: Used & { emails: string[] }): Promise<void> {
  const service = await startService(at);
  const { url } = service;
  const lived = [];
  for (const access of [...used.ended, ...used.live])
    if ((await statusOf(url, access)) !== 401) lived.push(access);
  check(lived.length === 0, `${lived.length} sessions from before live in ${kindOf(at)}`);
  let signedIn = 0;
  for (const email of used.emails) {
    const access = await signIn(url, email, password);
    if (access !== undefined && (await statusOf(url, access)) === 200) signedIn += 1;
  }
  check(signedIn === used.emails.length, `${signedIn} of ${used.emails.length} people can sign in`);
  const access = (await signIn(url, admin.email, admin.password)) ?? '';
  let lost = 0;
  for (const id of used.roles) {
    const { status } = await ask(`${url}/api/v1/roles/${id}`, 'GET', { authorization: `Bearer ${access}` });
    if (status !== 200) lost += 1;
  }
  check(lost === 0, `${lost} of ${used.roles.length} acknowledged roles are lost in ${kindOf(at)}`);
  process.stderr.write(
    `  ${kindOf(at)}: ${signedIn} signed in, ${lived.length} of ${used.ended.length} ended and ${used.live.length} live sessions live, ${lost} of ${used.roles.length} roles lost\n`,
  );
  await service.stop();
}

const kindOf = ({ DATABASE_URL }: Environment): string =>
  DATABASE_URL ? 'the server' : 'the embedded PostgreSQL';
const embedded = (name: string): Environment => ({ ...shared, DATA_DIR: join(folder, name) });

async function withDatabase<T>(name: string, work: (url: string) => Promise<T>): Promise<T> {
  const client = new pg.Client(adminUrl);
  await client.connect();
  try {
    await client.query(`create database ${name}`);
    const url = new URL(adminUrl);
    url.pathname = `/${name}`;
    return await work(url.href);
  } finally {
    await client.query(`drop database if exists ${name} with (force)`);
    await client.end();
  }
}

async function drill(): Promise<void> {
  const source = embedded('source');
  const secretFile = join(folder, 'password');
  writeFileSync(secretFile, password, { mode: 0o600 });
  await castellan(['migrate'], source);
  await castellan(['demo', '--yes', '--users', people, '--password-file', secretFile], source);
  await withDatabase(`drill_${randomBytes(4).toString('hex')}`, async (target) => {
    const server = { ...shared, DATABASE_URL: target, DATA_DIR: join(folder, 'service') };
    const first = join(folder, 'first.backup');
    const used = await backUpInUse(source, first);
    await restoreKilled(first, server);
    await checkRestored(server, used);

    const second = join(folder, 'second.backup');
    const later = await backUpInUse(server, second);
    const back = embedded('back');
    await restoreKilled(second, back);
    await checkRestored(back, { ...later, ended: [...used.ended, ...later.ended] });
  });
}

try {
  await drill();
  process.stdout.write(`${markdown(['Step', 's', 'rows', 'rows/s', 'MB'], rows)}\n`);
  if (failures.length > 0) throw new Error(failures.join('\n'));
  rmSync(folder, { recursive: true, force: true });
} catch (error) {
  process.stderr.write(`${String(error)}\nThe files are in ${folder}.\n`);
  // Ends the services as well (`exit` in bench/service/service.ts).
  process.exit(1);
}
