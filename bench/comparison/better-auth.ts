// Installs better-auth into a temporary folder and starts the smallest server with email and password, on a database of its
// own on the same PostgreSQL. It is a comparison, and must never become a dependency of the project.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Request } from 'autocannon';
import type pg from 'pg';
import { accountPassword } from '../load/accounts.ts';
import { query } from '../service/place.ts';

const server = fileURLToPath(new URL('better-auth-server.mjs', import.meta.url));
const ACCOUNTS = 64;

export type BetterAuth = {
  version: string;
  pid: number;
  url: string;
  /** The route that tells who is signed in. */
  path: string;
  /** Headers of one session per account. */
  callers: Record<string, string>[];
  signIns: Request[];
  stop(): Promise<void>;
};

/** Creates a database beside that of `connection`. Returns how to connect to it. */
async function createDatabase(connection: pg.ClientConfig, name: string): Promise<pg.ClientConfig> {
  await query(connection, `create database ${name}`);
  if (connection.connectionString === undefined) return { ...connection, database: name };
  const url = new URL(connection.connectionString);
  url.pathname = `/${name}`;
  return { connectionString: url.href };
}

/** Installs it, creates accounts and signs in to each. Needs a registry that npm reaches. */
export async function startBetterAuth(connection: pg.ClientConfig): Promise<BetterAuth> {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-better-auth-'));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', removeFolder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', 'better-auth@1', 'pg@8'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const installed = JSON.parse(readFileSync(join(folder, 'node_modules/better-auth/package.json'), 'utf8'));
  copyFileSync(server, join(folder, 'server.mjs'));
  const name = `better_auth_${randomBytes(6).toString('hex')}`;
  const own = await createDatabase(connection, name);
  const child = spawn(process.execPath, ['server.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', CONNECTION: JSON.stringify(own) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const [line] = await once(child.stdout, 'data');
  const url = String(line).trim();
  if (child.pid === undefined) throw new Error('better-auth could not be started');

  const headers = { 'content-type': 'application/json', origin: 'http://127.0.0.1' };
  const callers: Record<string, string>[] = [];
  const signIns: Request[] = [];
  for (let number = 0; number < ACCOUNTS; number += 1) {
    const account = { email: `bench-${number}@example.com`, password: accountPassword };
    const answer = await fetch(`${url}/api/auth/sign-up/email`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ ...account, name: 'Ada Lovelace' }),
    });
    if (!answer.ok) throw new Error(`better-auth answered ${answer.status}: ${await answer.text()}`);
    callers.push({ cookie: answer.headers.getSetCookie()[0]?.split(';')[0] ?? '' });
    signIns.push({ method: 'POST', path: '/api/auth/sign-in/email', headers, body: JSON.stringify(account) });
  }
  return {
    version: String(installed.version),
    pid: child.pid,
    url,
    path: '/api/auth/get-session',
    callers,
    signIns,
    async stop() {
      kill();
      await once(child, 'exit');
      await query(connection, `drop database if exists ${name} with (force)`);
      process.off('exit', kill);
      process.off('exit', removeFolder);
      removeFolder();
    },
  };
}
