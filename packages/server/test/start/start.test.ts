// How a start goes where something is not as it should be: one line that says what to do, and no stack trace.
// Each test runs the real program; what the database does is real too, but for one refusal that needs a server of its own.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import pg from 'pg';
import { createClient } from '../client.ts';
import {
  atEnd,
  isStopped,
  killAll,
  postmasterPid,
  root,
  smallDisk,
  temporaryFolder,
  until,
} from '../embedded/fixture.ts';
import { urlOfDatabase } from '../scratch-database.ts';
import { type Child, startChild, statusOf } from './child.ts';

const SECRET_KEY = 'a secret key for tests, 32 bytes or more';
const user = (email: string) => ({
  email,
  password: 'QaRegisterPass!47',
  first_name: 'Ada',
  last_name: 'Lovelace',
});

async function onServer(statement: string): Promise<void> {
  const client = new pg.Client(urlOfDatabase('postgres'));
  await client.connect();
  await client.query(statement);
  await client.end();
}

/** Without a schema: its first instance makes that. */
async function emptyDatabase(t: TestContext): Promise<string> {
  const name = `scratch_${randomBytes(6).toString('hex')}`;
  await onServer(`create database ${name} template template0`);
  // By force: an instance that was killed leaves its connections for a moment.
  atEnd(t, () => onServer(`drop database ${name} with (force)`));
  return urlOfDatabase(name);
}

/** Ended by itself with 1, and what it said last is one line without a stack. Answers that line. */
async function refusal(child: Child): Promise<string> {
  const { code } = await child.ended;
  const lines = child.err().trimEnd().split('\n');
  assert.equal(code, 1, `${child.out()}\n${child.err()}`);
  assert.match(lines.at(-1) ?? '', /^Castellan cannot start\. /);
  assert.doesNotMatch(child.err(), /^\s+at /m);
  return lines.at(-1) ?? '';
}

const passwordsIn = (child: Child): string[] =>
  [...child.out().matchAll(/^ {2}password +(\S+)/gm)].map((found) => found[1] ?? '');

async function listen(t: TestContext, server: Server, port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
  atEnd(t, () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** To the server that this database is on, through a door of our own. */
function doorTo(databaseUrl: string): Server {
  const { hostname, port, searchParams } = new URL(databaseUrl);
  const host = decodeURIComponent(hostname) || searchParams.get('host') || '127.0.0.1';
  const to = host.startsWith('/')
    ? { path: `${host}/.s.PGSQL.${port || 5432}` }
    : { host, port: Number(port || 5432) };
  return createServer((inner) => {
    const outer = connect(to).on('error', () => inner.destroy());
    inner.pipe(outer).pipe(inner);
    inner.on('close', () => outer.destroy());
  });
}

suite('a start', { concurrency: 4 }, () => {
  test('prints the password of the first superuser once, and it works; the second start prints none and keeps the data', async (t) => {
    const folder = temporaryFolder(t);
    const first = startChild(t, { DATA_DIR: folder });
    const client = createClient(await first.ready());
    await until('it has welcomed', () => /^Ready\.$/m.test(first.out()));
    const [password = '', ...more] = passwordsIn(first);
    assert.deepEqual(more, []);
    assert.equal(first.out().split(password).length, 2);
    assert.equal((await client.login({ email: 'admin@example.com', password })).status, 200);
    first.kill('SIGTERM');
    assert.deepEqual(await first.ended, { code: 0, signal: null });

    const second = startChild(t, { DATA_DIR: folder });
    const again = createClient(await second.ready());
    await until('it has welcomed', () => /^Ready\.$/m.test(second.out()));
    assert.deepEqual(passwordsIn(second), []);
    assert.doesNotMatch(second.out(), /superuser/);
    assert.equal((await again.login({ email: 'admin@example.com', password })).status, 200);
  });

  test('lists every wrong setting, by name and with its fix, without showing secrets', async (t) => {
    const child = startChild(t, {
      PORT: 'eighty',
      DATABASE_URL: 'mysql://root:hunter2@db/x',
      SECRET_KEY: 'hunter2',
      RATE_LIMIT_LOGIN: 'many',
      TRUSTED_PROXIES: '*',
      LOG_LEVEL: 'loud',
      COOKIE_SECURE: 'perhaps',
    });
    assert.equal((await child.ended).code, 1);
    for (const name of [
      'PORT',
      'DATABASE_URL',
      'SECRET_KEY',
      'RATE_LIMIT_LOGIN',
      'TRUSTED_PROXIES',
      'LOG_LEVEL',
      'COOKIE_SECURE',
    ])
      assert.match(child.err(), new RegExp(`^ {2}${name} `, 'm'));
    assert.doesNotMatch(child.err() + child.out(), /hunter2|^\s+at /m);
  });

  test('refuses a DATA_DIR that is a file, or below one', async (t) => {
    const file = join(temporaryFolder(t), 'file');
    writeFileSync(file, '');
    for (const path of [file, join(file, 'sub')]) {
      const line = await refusal(startChild(t, { DATA_DIR: path }));
      assert.ok(line.includes(`DATA_DIR (${path})`), line);
      assert.match(line, /file.*Set DATA_DIR to a folder/);
    }
  });

  test('refuses a DATA_DIR that its user cannot write', async (t) => {
    const folder = temporaryFolder(t);
    if (!root) chmodSync(folder, 0o500);
    for (const path of [folder, join(folder, 'sub')]) {
      // 65534: nobody.
      const line = await refusal(startChild(t, { DATA_DIR: path }, root ? 65_534 : undefined));
      assert.ok(line.includes(path), line);
      assert.match(line, /DATA_DIR/);
    }
  });

  // Only root can mount a small disk.
  if (root)
    test('on a full disk says that the disk is full', async (t) => {
      for (const size of ['4k', '8m']) {
        const folder = temporaryFolder(t);
        const disk = join(folder, 'disk');
        mkdirSync(disk);
        smallDisk(t, disk, size);
        assert.match(await refusal(startChild(t, { DATA_DIR: join(disk, 'data') })), /full/);
      }
    });

  test('refuses a port that is in use, and leaves no PostgreSQL running', async (t) => {
    const folder = temporaryFolder(t);
    const port = await listen(t, createServer());
    const line = await refusal(startChild(t, { DATA_DIR: folder, PORT: String(port) }));
    assert.match(line, /port is in use already\. Set PORT/);
    assert.ok(isStopped(join(folder, 'postgres')));
  });

  test('refuses a HOST that is no address of this machine', async (t) => {
    const child = startChild(t, {
      DATABASE_URL: 'postgres://127.0.0.1:1/x',
      SECRET_KEY,
      HOST: '192.0.2.1', // RFC 5737: belongs to nobody
    });
    assert.match(await refusal(child), /HOST is no address of this machine/);
  });

  test('refuses a user who may not make tables, and says which right he lacks', async (t) => {
    const url = await emptyDatabase(t);
    const name = new URL(url).pathname.slice(1);
    // Since PostgreSQL 15 nobody but the owner of a database may make tables in it unasked.
    await onServer(`create role ${name}_low login password 'x'`);
    atEnd(t, () => onServer(`drop role ${name}_low`));
    const low = new URL(url);
    low.username = `${name}_low`;
    low.password = 'x';
    const line = await refusal(startChild(t, { DATABASE_URL: low.href, SECRET_KEY }));
    assert.match(line, /permission denied.*grant it CREATE/);
  });

  test('refuses a server without TLS where DATABASE_URL asks for it', async (t) => {
    const port = await listen(t, doorTo(await emptyDatabase(t)));
    const child = startChild(t, {
      DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/x?sslmode=require`,
      SECRET_KEY,
    });
    // A server on a Unix socket says no to TLS just as one on TCP does.
    assert.match(await refusal(child), /asks for TLS.*sslmode/);
  });

  test('refuses a SECRET_KEY that is not the one of the other instances', async (t) => {
    const url = await emptyDatabase(t);
    await startChild(t, { DATABASE_URL: url, SECRET_KEY }).ready();
    const other = startChild(t, { DATABASE_URL: url, SECRET_KEY: SECRET_KEY.toUpperCase() });
    assert.match(await refusal(other), /Set SECRET_KEY .*all instances on one database need the same/);
    assert.doesNotMatch(other.out() + other.err(), new RegExp(SECRET_KEY, 'i'));
  });

  test('waits for a server that is down, says so, and is ready when it comes', async (t) => {
    const url = await emptyDatabase(t);
    const holder = createServer();
    const port = await listen(t, holder);
    holder.close();
    const through = new URL(url.replace(/@[^/]*\//, `@127.0.0.1:${port}/`));
    through.password = 'hunter2';
    const child = startChild(t, { DATABASE_URL: through.href, SECRET_KEY });
    const address = await child.listening();
    await until('it says what it waits for', () => /^The database cannot be used yet/m.test(child.out()));
    assert.match(child.out(), /ECONNREFUSED.*Start PostgreSQL, or correct host and port/);
    assert.equal(await statusOf(`${address}/health/live`), 200);
    assert.equal(await statusOf(`${address}/health/ready`), 503);
    assert.equal(await statusOf(`${address}/api/v1/users/me`), 503);
    await listen(t, doorTo(url), port);
    await child.ready();
    assert.equal(await statusOf(`${address}/api/v1/users/me`), 401);
    assert.doesNotMatch(child.out() + child.err(), /hunter2/);
  });

  test('waits where the password is refused, says so without showing it, and still stops on a signal', async (t) => {
    // PostgreSQL protocol: ErrorResponse is 'E', its length, fields of a letter and a text, a zero.
    const fields = 'SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed for user "app"\0\0';
    const answer = Buffer.alloc(5 + fields.length);
    answer.write('E');
    answer.writeInt32BE(4 + fields.length, 1);
    answer.write(fields, 5);
    const port = await listen(
      t,
      createServer((socket) => void socket.once('data', () => socket.end(answer))),
    );
    const child = startChild(t, { DATABASE_URL: `postgres://app:hunter2@127.0.0.1:${port}/x`, SECRET_KEY });
    await until('it says what it waits for', () => /^The database cannot be used yet/m.test(child.out()));
    assert.match(child.out(), /password authentication failed.*Correct user and password in DATABASE_URL/);
    child.kill('SIGTERM');
    assert.deepEqual(await child.ended, { code: 0, signal: null });
    assert.doesNotMatch(child.out() + child.err(), /hunter2/);
    assert.equal(child.err(), '');
  });

  test('of two instances on one empty database ends in two that are ready and one password', async (t) => {
    const url = await emptyDatabase(t);
    const both = [1, 2].map(() => startChild(t, { DATABASE_URL: url, SECRET_KEY }));
    await Promise.all(both.map((child) => child.ready()));
    await until('both have welcomed', () => both.every((child) => /^Ready\.$/m.test(child.out())));
    assert.equal(both.flatMap(passwordsIn).length, 1);
  });

  test('of two instances on one empty DATA_DIR shares one PostgreSQL, which ends with the last of them', async (t) => {
    const folder = temporaryFolder(t);
    const both = [1, 2].map(() => startChild(t, { DATA_DIR: folder })) as [Child, Child];
    const [first, second] = both;
    const [, url] = await Promise.all(both.map((child) => child.ready()));
    await until('both have welcomed', () => both.every((child) => /^Ready\.$/m.test(child.out())));
    assert.equal(both.flatMap(passwordsIn).length, 1);
    first.kill('SIGTERM');
    assert.equal((await first.ended).code, 0);
    assert.equal(await statusOf(`${url}/health/ready`), 200);
    second.kill('SIGTERM');
    assert.equal((await second.ended).code, 0);
    assert.ok(isStopped(join(folder, 'postgres')));
  });

  test('with a mail server that cannot be reached is ready, takes registrations, and keeps the mail', async (t) => {
    const url = await emptyDatabase(t);
    const child = startChild(t, {
      DATABASE_URL: url,
      SECRET_KEY,
      SMTP_URL: 'smtp://user:hunter2@127.0.0.1:1',
    });
    const client = createClient(await child.ready());
    assert.equal((await client.post('/api/v1/auth/register', user('waiting@example.com'))).status, 201);
    await until('it tells of the mail that did not go', () =>
      /ECONNREFUSED 127\.0\.0\.1:1/.test(child.out()),
    );
    assert.equal(await statusOf(`${child.out().match(/listens on (\S+)/)?.[1]}/health/ready`), 200);
    assert.doesNotMatch(child.out() + child.err(), /hunter2/);
  });

  test('that is interrupted while PostgreSQL starts leaves none running', async (t) => {
    const folder = temporaryFolder(t);
    atEnd(t, () => killAll(folder));
    const child = startChild(t, { DATA_DIR: folder });
    const cluster = join(folder, 'postgres');
    await until('PostgreSQL is being started', () => {
      try {
        return postmasterPid(cluster) > 0;
      } catch {
        return false;
      }
    });
    process.kill(-child.pid, 'SIGINT');
    assert.deepEqual(await child.ended, { code: 0, signal: null });
    assert.ok(isStopped(cluster));
  });
});
