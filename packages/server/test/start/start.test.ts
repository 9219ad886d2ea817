// What a start does when something is wrong: it prints one line that says what to do, and no stack trace.
// Each test runs the real program and a real database, except for one refusal that needs a server of its own.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import {
  atEnd,
  dataDirWithCluster,
  isStopped,
  killAll,
  postmasterPid,
  root,
  smallDisk,
  temporaryFolder,
  until,
} from '@castellan/embedded-postgres/testing';
import { createClient } from '@castellan/testing/client';
import { type Child, startChild, statusOf } from '@castellan/testing/start/child';
import { passwordsOf } from '@castellan/testing/start/kept-files';
import { emptyDatabase, refusal } from './refusal.ts';

const SECRET_KEY = '6/wsor6QSjg3iUCVjLBZf2UOep3X69fQVyD3OI/eDFh/0IOPLuTM7c8YdzoP2x7G';
const user = (email: string) => ({
  email,
  password: 'QaRegisterPass!47',
  first_name: 'Ada',
  last_name: 'Lovelace',
});

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

/** Returns a TCP proxy to the server of this database. */
function proxyTo(databaseUrl: string): Server {
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
  test("saves the first superuser's password in a file for its owner and does not print it; the second start creates none", async (t) => {
    const folder = temporaryFolder(t);
    const first = startChild(t, { DATA_DIR: folder, LOG_LEVEL: 'fatal' });
    const client = createClient(await first.ready());
    await until('it has welcomed', () => first.announced('ready') !== undefined);
    await until('it names the file', () => passwordsOf(first).length > 0);
    const [password = '', ...more] = passwordsOf(first);
    assert.deepEqual(more, []);
    assert.equal(statSync(join(folder, 'first-superuser-password')).mode & 0o777, 0o600);
    assert.ok(!(first.out() + first.err()).includes(password));
    assert.equal((await client.login({ email: 'admin@example.com', password })).status, 200);
    first.kill('SIGTERM');
    assert.deepEqual(await first.ended, { code: 0, signal: null });

    const second = startChild(t, { DATA_DIR: folder });
    const again = createClient(await second.ready());
    await until('it has welcomed', () => second.announced('ready') !== undefined);
    assert.deepEqual(passwordsOf(second), []);
    assert.equal(second.announced('ready')?.superuser, undefined);
    assert.equal((await again.login({ email: 'admin@example.com', password })).status, 200);
  });

  test('lists every invalid setting, by name and with its fix, without showing secrets', async (t) => {
    const child = startChild(t, {
      PORT: 'eighty',
      DATABASE_URL: 'mysql://root:hunter2@db/x',
      SECRET_KEY: 'hunter2',
      RATE_LIMIT_LOGIN: 'many',
      TRUSTED_PROXIES: '*',
      LOG_LEVEL: 'loud',
      COOKIE_SECURE: 'perhaps',
    });
    const words = await refusal(child);
    for (const name of [
      'PORT',
      'DATABASE_URL',
      'SECRET_KEY',
      'RATE_LIMIT_LOGIN',
      'TRUSTED_PROXIES',
      'LOG_LEVEL',
      'COOKIE_SECURE',
    ])
      assert.match(words, new RegExp(`^ {2}${name} `, 'm'));
    assert.doesNotMatch(child.err() + child.out(), /hunter2/);
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

  if (process.platform === 'linux')
    test('refuses a DATA_DIR where no folder can be created, instead of trying forever', async (t) => {
      for (const path of ['/proc/nope', '/proc/nope/data'])
        assert.match(
          await refusal(startChild(t, { DATA_DIR: path })),
          new RegExp(`DATA_DIR \\(${path}\\) cannot be created there\\. Set DATA_DIR to a folder`),
        );
    });

  if (process.platform === 'linux')
    test('that needs no DATA_DIR is ready where none can be created, and logs that the password could not be saved', async (t) => {
      const child = startChild(t, {
        DATABASE_URL: await emptyDatabase(t),
        SECRET_KEY,
        DATA_DIR: '/proc/nope',
        LOG_LEVEL: 'error',
      });
      await child.ready();
      const told = (): string | undefined =>
        child
          .out()
          .split('\n')
          .find((line) => line.includes('could not be saved'));
      await until('it says that the password is lost', () => told() !== undefined);
      assert.match(told() ?? '', /"level":"error".*ENOENT.*castellan create-superuser/);
    });

  test('refuses a DATA_DIR that its user cannot write', async (t) => {
    const folder = temporaryFolder(t);
    if (!root) chmodSync(folder, 0o500);
    for (const path of [folder, join(folder, 'sub')]) {
      // 65534: nobody.
      const line = await refusal(startChild(t, { DATA_DIR: path }, { uid: root ? 65_534 : undefined }));
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
    const folder = await dataDirWithCluster(t);
    const port = await listen(t, createServer());
    const line = await refusal(startChild(t, { DATA_DIR: folder, PORT: String(port) }));
    assert.match(line, /port is already in use\. Set PORT/);
    assert.ok(isStopped(join(folder, 'postgres')));
  });

  test('with PORT 0 shows the port that it got, and issues tokens for it', async (t) => {
    const url = await emptyDatabase(t);
    const child = startChild(t, {
      DATABASE_URL: url,
      SECRET_KEY,
      FIRST_SUPERUSER_PASSWORD: 'Vexing#Quartz82Lime',
    });
    const { port } = new URL(await child.ready());
    assert.notEqual(port, '0');
    const client = createClient(`http://127.0.0.1:${port}`);
    const login = await client.login({ email: 'admin@example.com', password: 'Vexing#Quartz82Lime' });
    assert.equal(login.status, 200);
    const [, claims = ''] = login.body.data.access_token.split('.');
    await until('it has welcomed', () => child.out().includes(`http://localhost:${port}/docs`));
    assert.equal(JSON.parse(Buffer.from(claims, 'base64url').toString()).iss, `http://localhost:${port}`);
  });

  test('refuses a HOST that is not an address of this machine', async (t) => {
    const child = startChild(t, {
      DATABASE_URL: 'postgres://127.0.0.1:1/x',
      SECRET_KEY,
      HOST: '192.0.2.1', // RFC 5737: belongs to nobody
    });
    assert.match(await refusal(child), /HOST is not an address of this machine/);
  });

  test('names the file of DATABASE_URL that cannot be read, and does not blame DATA_DIR', async (t) => {
    const child = startChild(t, {
      DATABASE_URL: 'postgres://127.0.0.1:1/x?sslmode=verify-full&sslrootcert=/nowhere/ca.pem',
      SECRET_KEY,
    });
    const line = await refusal(child);
    assert.match(
      line,
      /A file cannot be used: ENOENT.*'\/nowhere\/ca\.pem'\. Correct its path \(sslrootcert/,
    );
    assert.doesNotMatch(line, /DATA_DIR/);
  });

  test('refuses a server without TLS if DATABASE_URL requires it', async (t) => {
    const port = await listen(t, proxyTo(await emptyDatabase(t)));
    const child = startChild(t, {
      DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/x?sslmode=require`,
      SECRET_KEY,
    });
    // A server on a Unix socket refuses TLS like one on TCP.
    assert.match(await refusal(child), /requires TLS.*sslmode/);
  });

  test('refuses a SECRET_KEY that differs from that of the other instances', async (t) => {
    const url = await emptyDatabase(t);
    await startChild(t, { DATABASE_URL: url, SECRET_KEY }).ready();
    const other = startChild(t, { DATABASE_URL: url, SECRET_KEY: SECRET_KEY.toUpperCase() });
    assert.match(await refusal(other), /Set SECRET_KEY .*all instances on one database need the same/);
    assert.doesNotMatch(other.out() + other.err(), new RegExp(SECRET_KEY, 'i'));
  });

  test('waits for a server that is down, says so, and is ready when it comes up', async (t) => {
    const url = await emptyDatabase(t);
    const holder = createServer();
    const port = await listen(t, holder);
    holder.close();
    const through = new URL(url.replace(/@[^/]*\//, `@127.0.0.1:${port}/`));
    // A server that asks for a password accepts only its own.
    through.password ||= 'hunter2';
    const child = startChild(t, { DATABASE_URL: through.href, SECRET_KEY });
    const address = await child.listening();
    await until('it says what it waits for', () => /the database cannot be used yet/.test(child.out()));
    assert.match(child.out(), /ECONNREFUSED.*Start PostgreSQL, or correct the host and port/);
    assert.equal(await statusOf(`${address}/health/live`), 200);
    assert.equal(await statusOf(`${address}/health/ready`), 503);
    assert.equal(await statusOf(`${address}/api/v1/users/me`), 503);
    await listen(t, proxyTo(url), port);
    await child.ready();
    assert.equal(await statusOf(`${address}/api/v1/users/me`), 401);
    assert.ok(!(child.out() + child.err()).includes(through.password));
  });

  test('waits while the password is refused, says so without showing it, and still stops on a signal', async (t) => {
    // PostgreSQL protocol: an ErrorResponse is 'E', its length, fields of a letter and a text, and a zero.
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
    await until('it says what it waits for', () => /the database cannot be used yet/.test(child.out()));
    assert.match(
      child.out(),
      /password authentication failed.*Correct the user and password in DATABASE_URL/,
    );
    child.kill('SIGTERM');
    assert.deepEqual(await child.ended, { code: 0, signal: null });
    assert.doesNotMatch(child.out() + child.err(), /hunter2/);
    assert.equal(child.err(), '');
  });

  test('of two instances on one empty database results in two that are ready and one password', async (t) => {
    const url = await emptyDatabase(t);
    const both = [1, 2].map(() => startChild(t, { DATABASE_URL: url, SECRET_KEY }));
    await Promise.all(both.map((child) => child.ready()));
    await until('both have welcomed', () => both.every((child) => child.announced('ready')));
    await until('one has kept it', () => both.flatMap(passwordsOf).length === 1);
  });

  test('of two instances on one empty DATA_DIR shares one PostgreSQL, which ends with the last of them', async (t) => {
    const folder = temporaryFolder(t);
    const both = [1, 2].map(() => startChild(t, { DATA_DIR: folder })) as [Child, Child];
    const [first, second] = both;
    const [, url] = await Promise.all(both.map((child) => child.ready()));
    await until('both have welcomed', () => both.every((child) => child.announced('ready')));
    await until('one has kept it', () => both.flatMap(passwordsOf).length === 1);
    first.kill('SIGTERM');
    assert.equal((await first.ended).code, 0);
    assert.equal(await statusOf(`${url}/health/ready`), 200);
    second.kill('SIGTERM');
    assert.equal((await second.ended).code, 0);
    assert.ok(isStopped(join(folder, 'postgres')));
  });

  test('with an unreachable mail server is ready, accepts registrations, and keeps the mail', async (t) => {
    const url = await emptyDatabase(t);
    const child = startChild(t, {
      DATABASE_URL: url,
      SECRET_KEY,
      SMTP_URL: 'smtp://user:hunter2@127.0.0.1:1',
    });
    const address = await child.ready();
    const client = createClient(address);
    assert.equal((await client.post('/api/v1/auth/register', user('waiting@example.com'))).status, 201);
    await until('it tells of the mail that did not go', () =>
      /ECONNREFUSED 127\.0\.0\.1:1/.test(child.out()),
    );
    assert.equal(await statusOf(`${address}/health/ready`), 200);
    assert.doesNotMatch(child.out() + child.err(), /hunter2/);
  });

  test('that is interrupted while PostgreSQL starts leaves none running', async (t) => {
    const folder = await dataDirWithCluster(t);
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
