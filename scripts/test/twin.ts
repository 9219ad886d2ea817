// Starts a second PostgreSQL with the programs of a given server: its data is in the folder of a test run and is not
// synced. It must not change the given server, nor outlive the run, which ends every process that works in its folder.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';

type Original = {
  /** The folder of initdb and postgres. */
  programs: string;
  user: string;
  encoding: string;
  locale: string;
  /** The user that runs PostgreSQL, if this process is root: PostgreSQL refuses to run as root. */
  as: { uid: number; gid: number } | undefined;
};

const execute = promisify(execFile);
/** Only ends a hang; a start takes less than a second. */
const START_MS = 60_000;
const PORT_ATTEMPTS = 5;
/** Below the ports that systems give to outgoing connections. */
const FIRST_PORT = 20_000;
const LAST_PORT = 30_000;

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '400',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_wal_size: '256MB',
  timezone: 'UTC',
};

/**
 * Starts the second server in `folder` and returns its URL. Returns undefined if this process cannot run the programs of
 * the server at `url`, for example because they are on another machine. Throws if they run and the server does not start.
 */
export async function startTwin(url: string, folder: string): Promise<string | undefined> {
  const original = await originalAt(url);
  if (original === undefined) return undefined;
  const home = join(folder, 'server');
  const password = randomBytes(16).toString('hex');
  await createCluster(original, home, password);
  for (let attempt = 1; attempt <= PORT_ATTEMPTS; attempt += 1) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    const twin = `postgres://${encodeURIComponent(original.user)}:${password}@127.0.0.1:${port}/postgres`;
    if (await accepts(twin, launch(original, home, port))) return twin;
  }
  throw new Error(`the second PostgreSQL does not start:\n${readFileSync(logIn(home), 'utf8')}`);
}

const logIn = (home: string): string => join(home, 'log');
const dataIn = (home: string): string => join(home, 'data');

async function originalAt(url: string): Promise<Original | undefined> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query(
      `select (select setting from pg_config where name = 'BINDIR') as programs, current_user as user,
              pg_encoding_to_char(encoding) as encoding, datcollate as locale,
              current_setting('server_version') as version, current_setting('data_directory') as data
       from pg_database where datname = 'template1'`,
    );
    const { version, data, ...original } = rows[0];
    const { stdout } = await execute(join(original.programs, 'postgres'), ['--version']);
    if (!stdout.includes(version)) return undefined;
    if (process.geteuid?.() !== 0) return { ...original, as: undefined };
    const { uid, gid } = statSync(data);
    return { ...original, as: { uid, gid } };
  } catch {
    return undefined;
  } finally {
    await client.end();
  }
}

async function createCluster(
  { programs, user, encoding, locale, as }: Original,
  home: string,
  password: string,
): Promise<void> {
  const file = join(home, 'password');
  await mkdir(home, { mode: 0o700 });
  await writeFile(file, `${password}\n`, { mode: 0o600 });
  for (const path of as === undefined ? [] : [home, file]) await chown(path, as?.uid ?? -1, as?.gid ?? -1);
  // Other users of this machine can reach the port. MD5 suffices for a random password and is cheaper than SCRAM.
  const access = ['-U', user, '-A', 'md5', `--pwfile=${file}`];
  const texts = ['-E', encoding, `--locale=${locale}`];
  await execute(join(programs, 'initdb'), ['-D', dataIn(home), '--no-sync', ...access, ...texts], {
    cwd: home,
    ...as,
  });
}

function launch({ programs, as }: Original, home: string, port: number): ChildProcess {
  const log = openSync(logIn(home), 'a');
  const options = Object.entries({ ...settings, port: String(port) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const server = spawn(join(programs, 'postgres'), ['-D', dataIn(home), ...options], {
    cwd: home,
    // Ctrl-C must reach only scripts/test.ts, which ends the run in one place.
    detached: true,
    stdio: ['ignore', log, log],
    ...as,
  });
  closeSync(log);
  server.unref();
  return server;
}

/** Returns true when the server accepts connections, and false when it ended, for example because its port is in use. */
async function accepts(url: string, server: ChildProcess): Promise<boolean> {
  const end = performance.now() + START_MS;
  while (server.exitCode === null && performance.now() < end) {
    const client = new pg.Client(url);
    try {
      await client.connect();
      return true;
    } catch {
      await wait(50);
    } finally {
      await client.end();
    }
  }
  return false;
}
