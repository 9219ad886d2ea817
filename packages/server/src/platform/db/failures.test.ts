import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, describe, test } from 'node:test';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { createLog } from '../logging/log.ts';
import { brokenConstraint, isDatabaseUnavailable, isRefused } from './failures.ts';
import { createPool } from './pool.ts';

const database = await createScratchDatabase();
const pool = new pg.Pool({ connectionString: database.url, max: 3 });
pool.on('error', () => {});
after(async () => {
  await pool.end();
  await database.drop();
});

/** Returns what the driver throws for a statement. */
async function failureOf(statement: string): Promise<unknown> {
  return pool.query(statement).then(
    () => assert.fail(`${statement} succeeded`),
    (error: unknown) => error,
  );
}

async function connectFailure(connectionString: string, options: pg.ClientConfig = {}): Promise<unknown> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 300, ...options });
  return client.connect().then(
    () => assert.fail('connected'),
    (error: unknown) => error,
  );
}

describe('the database is unavailable', () => {
  test('when nothing listens', async () => {
    assert.equal(isDatabaseUnavailable(await connectFailure('postgres://a@127.0.0.1:1/b')), true);
    assert.equal(isDatabaseUnavailable(await connectFailure('postgres://a@localhost:1/b')), true);
    assert.equal(isDatabaseUnavailable(await connectFailure('postgres://a@%2Fnowhere/b')), true);
  });

  test('when its name cannot be resolved', async () => {
    const error = await connectFailure('postgres://a@nowhere.invalid/b', { connectionTimeoutMillis: 10_000 });
    assert.equal(isDatabaseUnavailable(error), true, String(error));
  });

  test('when the server never answers', async (t) => {
    const silent = createServer((socket) => socket.on('error', () => {}));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    t.after(() => void silent.close());
    const { port } = silent.address() as { port: number };
    assert.equal(isDatabaseUnavailable(await connectFailure(`postgres://a@127.0.0.1:${port}/b`)), true);
  });

  test('when it closes the connection during a statement', async () => {
    assert.equal(
      isDatabaseUnavailable(await failureOf('select pg_terminate_backend(pg_backend_pid())')),
      true,
    );
  });

  test('when a statement or a lock takes longer than allowed', async () => {
    assert.equal(
      isDatabaseUnavailable(await failureOf(`set statement_timeout = 20; select pg_sleep(5)`)),
      true,
    );
    await pool.query('create table held (a integer)');
    const holder = await pool.connect();
    await holder.query('begin; lock table held');
    assert.equal(isDatabaseUnavailable(await failureOf(`set lock_timeout = 20; select * from held`)), true);
    await holder.query('rollback');
    holder.release();
  });

  test('when every connection of the pool stays in use', async () => {
    const narrow = new pg.Pool({ connectionString: database.url, max: 1, connectionTimeoutMillis: 2_000 });
    const taken = await narrow.connect();
    const error = await narrow.query('select 1').catch((failure: unknown) => failure);
    assert.equal(isDatabaseUnavailable(error), true, String(error));
    taken.release();
    await narrow.end();
  });

  test('when it accepts no connections for now', async (t) => {
    const closed = await createScratchDatabase();
    const allow = (allowed: boolean) =>
      pool.query('update pg_database set datallowconn = $1 where datname = $2', [
        allowed,
        new URL(closed.url).pathname.slice(1),
      ]);
    await allow(false);
    t.after(async () => {
      await allow(true);
      await closed.drop();
    });
    const error = await connectFailure(closed.url, { connectionTimeoutMillis: 10_000 });
    assert.equal((error as { code?: string }).code, '55000');
    assert.equal(isDatabaseUnavailable(error), true, String(error));
  });

  test('when the pool is closed already', async () => {
    const closed = createPool({ connection: database.url, maxConnections: 1 }, createLog('silent'));
    await closed.end();
    const error = await closed.query('select 1').catch((failure: unknown) => failure);
    assert.equal(isDatabaseUnavailable(error), true, String(error));
  });
});

describe('the database is not unavailable', () => {
  test('when the statement is wrong', async () => {
    for (const statement of [
      'selct 1',
      'select * from nothing_there',
      'select 1 / 0',
      `select 'x'::uuid`,
      'rollback to savepoint none',
      // Both are 55000, like a database that accepts no connections.
      `create temporary sequence s; select currval('s')`,
      'create temporary view v as select distinct 1 as a; delete from v',
    ])
      assert.equal(isDatabaseUnavailable(await failureOf(statement)), false, statement);
  });

  test('when another source has the same message or code', () => {
    const strangers: unknown[] = [
      undefined,
      null,
      'Connection terminated',
      { message: 'Connection terminated' },
      new Error('something else'),
      Object.assign(new Error('no such file'), { code: 'ENOENT', syscall: 'open' }),
      Object.assign(new Error('broken pipe'), { code: 'EPIPE', syscall: 'spawn' }),
      Object.assign(new Error('five letters'), { code: '57P01' }),
      new AggregateError([new Error('one'), new Error('two')]),
    ];
    for (const stranger of strangers) assert.equal(isDatabaseUnavailable(stranger), false, String(stranger));
  });
});

describe('a statement is refused', () => {
  test('when the server says so', async () => {
    for (const statement of ['select 1 / 0', `set statement_timeout = 20; select pg_sleep(5)`])
      assert.equal(isRefused(await failureOf(statement)), true, statement);
  });

  test('not when the connection ended or timed out: it may have run', async () => {
    const cut = await failureOf('select pg_terminate_backend(pg_backend_pid())');
    assert.equal(isRefused(cut), false, String(cut));
    const impatient = new pg.Pool({ connectionString: database.url, max: 1, query_timeout: 50 });
    const silence = await impatient.query('select pg_sleep(1)').catch((error: unknown) => error);
    assert.equal(isRefused(silence), false, String(silence));
    await impatient.end();
  });
});

describe('a broken constraint', () => {
  test('is reported by its name, for each kind', async () => {
    await pool.query(`
      create table parents (id integer constraint parents_pkey primary key);
      create table children (
        parent_id integer constraint children_parent_id_fkey references parents,
        size integer constraint children_size_check check (size > 0)
      );
      insert into parents values (1);
      insert into children values (1, 1);`);
    assert.equal(brokenConstraint(await failureOf('insert into parents values (1)')), 'parents_pkey');
    assert.equal(
      brokenConstraint(await failureOf('insert into children values (2, 1)')),
      'children_parent_id_fkey',
    );
    assert.equal(brokenConstraint(await failureOf('delete from parents')), 'children_parent_id_fkey');
    assert.equal(
      brokenConstraint(await failureOf('insert into children values (1, 0)')),
      'children_size_check',
    );
  });

  test('is not reported for other failures', async () => {
    assert.equal(brokenConstraint(await failureOf('select 1 / 0')), undefined);
    for (const other of [undefined, null, 'text', new Error('plain')])
      assert.equal(brokenConstraint(other), undefined);
  });
});
