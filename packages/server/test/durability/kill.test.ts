// What was acknowledged is there after any end of the service and its embedded PostgreSQL, and a signal cuts nobody off.
// It must run on full durability: no setting of PostgreSQL is changed here.
// KILL_ROUNDS: how often everything is killed; 5 unless set, 20 in continuous integration.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createClient, type TestClient } from '../client.ts';
import { isStopped, killAll, postmasterPid, query, temporaryFolder, until } from '../embedded/fixture.ts';
import { type Child, startChild, statusOf } from '../start/child.ts';

const rounds = Number(process.env.KILL_ROUNDS || 5);
const admin = { email: 'admin@example.com', password: 'Vexing#Quartz82Lime' };
const password = 'QaRegisterPass!47';
const writers = 8;
/** In each round, before the kill: enough that every writer is amid something. */
const writesPerRound = 40;

const environment = (folder: string): Record<string, string> => ({
  DATA_DIR: folder,
  FIRST_SUPERUSER_EMAIL: admin.email,
  FIRST_SUPERUSER_PASSWORD: admin.password,
  CONCURRENT_SESSION_LIMIT: '0',
  // A refresh whose answer was lost is repeated with the token before it.
  REFRESH_REUSE_INTERVAL: '600',
  // A login that was killed keeps its place among the running attempts for half a minute.
  ACCOUNT_LOCKOUT_ATTEMPTS: '1000',
  LOG_LEVEL: 'warn',
});

/** What the service has answered for: addresses that registered, and the newest refresh token of each login. */
type Acknowledged = { emails: string[]; refreshTokens: string[] };

/** Registers and logs in until the service is gone; notes what was acknowledged, and nothing that was not. */
async function writeUntilGone(url: string, name: string, noted: Acknowledged): Promise<void> {
  const client = createClient(url);
  try {
    for (let number = 1; ; number += 1) {
      const email = `${name}-${number}@example.com`;
      const names = { first_name: 'Ada', last_name: 'Lovelace' };
      const registered = await client.post('/api/v1/auth/register', { email, password, ...names });
      if (registered.status === 201) noted.emails.push(email);
      const login = await client.login(admin);
      if (login.status !== 200) continue;
      const at = noted.refreshTokens.push(login.body.data.refresh_token) - 1;
      const refreshed = await client.post('/api/v1/auth/refresh', { refresh_token: noted.refreshTokens[at] });
      if (refreshed.status === 200) noted.refreshTokens[at] = refreshed.body.data.refresh_token;
    }
  } catch (error) {
    // fetch speaks so of a connection that broke or could not be made.
    if (!(error instanceof TypeError)) throw error;
  }
}

/** Every account; of the logins those from `since` on, because a refresh token is not less durable for its age. */
async function assertAllThere(
  client: TestClient,
  cluster: string,
  noted: Acknowledged,
  since: number,
): Promise<void> {
  const host = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[4] ?? '';
  const connection = { host, port: 5432, user: 'castellan', database: 'castellan', ssl: false } as const;
  const rows = await query(connection, 'select email from users');
  const there = new Set(rows.map((row) => row.email));
  assert.deepEqual(
    noted.emails.filter((email) => !there.has(email)),
    [],
    'registrations that were acknowledged are lost',
  );
  await client.get('/api/v1/auth/csrf-token');
  await Promise.all(
    noted.refreshTokens.slice(since).map(async (token, index) => {
      const refreshed = await client.post('/api/v1/auth/refresh', { refresh_token: token });
      assert.equal(refreshed.status, 200, `login ${since + index} is lost: ${refreshed.text}`);
      noted.refreshTokens[since + index] = refreshed.body.data.refresh_token;
    }),
  );
  const email = noted.emails.at(-1) ?? assert.fail('nothing was registered');
  // Said only to who knows the password.
  assert.equal((await client.login({ email, password })).body.code, 'email_not_verified');
}

test(`${rounds} kills of service and PostgreSQL under writes lose nothing that was acknowledged`, async (t) => {
  const folder = temporaryFolder(t);
  const cluster = join(folder, 'postgres');
  const noted: Acknowledged = { emails: [], refreshTokens: [] };
  let checked = 0;
  for (let round = 1; round <= rounds; round += 1) {
    const child = startChild(t, environment(folder));
    const url = await child.ready();
    if (round > 1) await assertAllThere(createClient(url), cluster, noted, checked);
    checked = noted.refreshTokens.length;
    const wanted = noted.emails.length + noted.refreshTokens.length + writesPerRound;
    const load = Array.from({ length: writers }, (_, at) => writeUntilGone(url, `r${round}-w${at}`, noted));
    await until('enough is written', () => noted.emails.length + noted.refreshTokens.length >= wanted);
    const postmaster = postmasterPid(cluster);
    // Both orders happen: PostgreSQL first takes its writes from under a service that still answers.
    const kills = [() => child.kill('SIGKILL'), () => killAll(folder)];
    for (const kill of round % 2 === 0 ? kills : kills.reverse()) kill();
    await child.ended;
    await Promise.all(load);
    assert.ok(existsSync(join(cluster, 'postmaster.pid')), 'that was no crash');
    await until('the postmaster is dead', () => !isRunning(postmaster));
  }
  const last = startChild(t, environment(folder));
  await assertAllThere(createClient(await last.ready()), cluster, noted, 0);
  t.diagnostic(`${noted.emails.length} registrations and ${noted.refreshTokens.length} logins, all there`);
});

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

type Sent = { sent: Promise<void>; status: Promise<number> };

/** On a connection of its own, so that nothing but the service decides about it. */
function send(method: string, url: string, headers: Record<string, string> = {}, body = ''): Sent {
  const sent = Promise.withResolvers<void>();
  const status = Promise.withResolvers<number>();
  const message = request(url, {
    method,
    agent: false,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
  });
  message.on('finish', sent.resolve);
  message.on('error', status.reject);
  message.on('response', (response) => {
    response.resume().on('end', () => status.resolve(response.statusCode ?? 0));
    response.on('error', status.reject);
  });
  message.end(body);
  return { sent: sent.promise, status: status.promise };
}

/** Logins that wait for their turn to hash: about 10 ms each, a few at once. */
const loginsUnderWay = 100;

async function stopUnderLoad(t: TestContext, signal: (child: Child) => void): Promise<void> {
  const folder = temporaryFolder(t);
  const cluster = join(folder, 'postgres');
  const child = startChild(t, environment(folder));
  const url = await child.ready();
  const client = createClient(url);
  const token = (await client.get('/api/v1/auth/csrf-token')).body.data.csrf_token;
  const headers = {
    'content-type': 'application/json',
    'x-csrf-token': token,
    cookie: `csrf_token=${client.cookies.get('csrf_token')}`,
  };
  const postmaster = postmasterPid(cluster);
  const logins = Array.from({ length: loginsUnderWay }, () =>
    send('POST', `${url}/api/v1/auth/login`, headers, JSON.stringify(admin)),
  );
  await Promise.all(logins.map((login) => login.sent));
  // A connection that came after all of these is answered: so they are accepted and read.
  assert.equal(await send('GET', `${url}/health/live`).status, 200);
  signal(child);
  const statuses = await Promise.all(logins.map((login) => login.status));
  assert.deepEqual(
    statuses.filter((status) => status !== 200),
    [],
  );
  assert.deepEqual(await child.ended, { code: 0, signal: null });
  assert.equal(child.err(), '');
  assert.equal(await statusOf(url), null);
  assert.ok(isStopped(cluster));
  assert.ok(!isRunning(postmaster));
}

test('SIGTERM under load: every request is answered, the exit is 0, PostgreSQL is gone', (t) =>
  stopUnderLoad(t, (child) => child.kill('SIGTERM')));

test('Ctrl-C under load, which signals the whole process group: the same', (t) =>
  stopUnderLoad(t, (child) => process.kill(-child.pid, 'SIGINT')));
