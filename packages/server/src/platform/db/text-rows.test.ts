// Tests statements whose rows are read as texts, on a real PostgreSQL: results, what is sent, failures.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { arrayText, textRowsOf } from './text-rows.ts';

const database = await createScratchDatabase();
after(() => database.drop());

/** Returns a pool of one connection, and how many messages of each kind have come on it. */
function createWatched(options: pg.PoolConfig = {}) {
  const pool = new pg.Pool({ connectionString: database.url, max: 1, ...options });
  const messages: Record<string, number> = {};
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    const { connection } = client as unknown as { connection: pg.Connection };
    connection.on('message', ({ name }) => {
      messages[name] = (messages[name] ?? 0) + 1;
    });
  });
  after(() => pool.end());
  return { pool, texts: textRowsOf(pool), messages };
}

type Pair = { ordinal: string; one: string | null };
const pairs = (values: readonly string[]) => ({
  name: 'pairs',
  text: "select ordinal, nullif(one, '') as one from unnest($1::text[]) with ordinality as k (one, ordinal)",
  values: [values],
});

test('rows are texts in the order of the columns, which PostgreSQL describes once for a connection', async () => {
  const { texts, messages } = createWatched();
  const first = await texts.query<Pair>(pairs(['a', '']));
  assert.deepEqual(first.rows, [
    ['1', 'a'],
    ['2', null],
  ]);
  assert.deepEqual(
    first.columns.map(({ name, dataTypeID }) => [name, dataTypeID]),
    [
      ['ordinal', pg.types.builtins.INT8],
      ['one', pg.types.builtins.TEXT],
    ],
  );
  const second = await texts.query<Pair>(pairs(['b']));
  assert.deepEqual(second.rows, [['1', 'b']]);
  assert.deepEqual(second.columns, first.columns);
  assert.deepEqual((await texts.query<Pair>(pairs([]))).rows, []);
  assert.equal(messages.rowDescription, 1);
  assert.equal(messages.parseComplete, 1);
  assert.equal(messages.commandComplete, 3);
});

const hostile = ['a,b', '{', '}', '"', '\\', '\\"', 'NULL', 'null', ' ', 'ä\n', "'", '0-f', 'ff', '--'];

test('whatever the texts of an array are, PostgreSQL reads the same', async () => {
  const { texts } = createWatched();
  const { rows } = await texts.query<Pair>(pairs(hostile));
  assert.deepEqual(
    rows.map(([, one]) => one),
    hostile,
  );
  assert.equal(arrayText(['0f-a1']), '{0f-a1}');
});

test('a statement that fails rejects, alone, and may succeed afterwards', async () => {
  const { texts, pool } = createWatched();
  const divide = (by: string) => ({
    name: 'divide',
    text: 'select (10 / k.by::integer)::text as one from unnest($1::text[]) as k (by)',
    values: [[by]],
  });
  const outcomes = await Promise.allSettled([
    texts.query<{ one: string }>(divide('0')),
    texts.query<{ one: string }>(divide('5')),
    texts.query<{ one: string }>({ name: 'broken', text: 'select from no_table where $1 = $1', values: [] }),
    texts.query<{ one: string }>(divide('2')),
  ]);
  const shown = outcomes.map((one) => (one.status === 'fulfilled' ? one.value.rows : one.reason.code));
  // division_by_zero, undefined_table
  assert.deepEqual(shown, ['22012', [['2']], '42P01', [['5']]]);
  assert.equal(pool.totalCount, 1);
  assert.deepEqual((await pool.query({ ...divide('1'), values: [['1']] })).rows, [{ one: '10' }]);
});

test('a name of two statements is refused', async () => {
  const { texts } = createWatched();
  await texts.query<Pair>(pairs(['a']));
  await assert.rejects(
    texts.query<Pair>({ ...pairs(['a']), text: `${pairs([]).text} limit 1` }),
    /pairs is the name of another statement/,
  );
  assert.deepEqual((await texts.query<Pair>(pairs(['b']))).rows, [['1', 'b']]);
});

test('a lost connection rejects, and the next one prepares and describes the statement again', async () => {
  const { texts, pool, messages } = createWatched();
  await texts.query<Pair>(pairs(['a']));
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  const pid = rows[0]?.pid;
  const sleeping = texts.query<{ done: string }>({
    name: 'sleep',
    text: 'select (pg_sleep(60)::text || $1::text[]::text) as done',
    values: [[]],
  });
  const other = new pg.Pool({ connectionString: database.url, max: 1 });
  after(() => other.end());
  const isSleeping =
    "select from pg_stat_activity where pid = $1 and state = 'active' and query like '%pg_sleep%'";
  while ((await other.query(isSleeping, [pid])).rowCount === 0);
  // Begun first, because the statement may reject before the answer to the next one is here.
  const rejected = assert.rejects(sleeping, /terminat/i);
  await other.query('select pg_terminate_backend($1)', [pid]);
  await rejected;
  assert.deepEqual((await texts.query<Pair>(pairs(['b']))).rows, [['1', 'b']]);
  assert.equal(messages.parseComplete, 3);
});

test('an answer that takes too long rejects', async () => {
  const { texts } = createWatched({ query_timeout: 50 });
  const late = texts.query<{ done: string }>({
    name: 'late',
    text: 'select (pg_sleep(0.5)::text || $1::text[]::text) as done',
    values: [[]],
  });
  await assert.rejects(late, /Query read timeout/);
});
