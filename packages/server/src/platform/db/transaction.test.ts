import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import { type Kysely, sql } from 'kysely';
import { createLog } from '../logging/log.ts';
import { createKysely, createPool } from './pool.ts';
import { inTransaction, rehearse } from './transaction.ts';

type Tables = { accounts: { id: number; amount: number } };

const database = await createScratchDatabase();
const pool = createPool({ connection: database.url, maxConnections: 20 }, createLog('silent'));
const db: Kysely<Tables> = createKysely<Tables>(pool);
await pool.query('create table accounts (id integer primary key, amount integer not null)');
after(async () => {
  await pool.end();
  await database.drop();
});

let lastId = 0;
async function newAccount(): Promise<number> {
  lastId += 1;
  await pool.query('insert into accounts values ($1, 0)', [lastId]);
  return lastId;
}
const amountOf = async (id: number): Promise<number> =>
  (await pool.query('select amount from accounts where id = $1', [id])).rows[0].amount;

test('a successful run is committed, and its value returned', async () => {
  const id = await newAccount();
  const answer = await inTransaction(db, async (tx) => {
    await tx.updateTable('accounts').set({ amount: 7 }).where('id', '=', id).execute();
    return 'done';
  });
  assert.equal(answer, 'done');
  assert.equal(await amountOf(id), 7);
});

test('an error rolls back every change and reaches the caller unchanged', async () => {
  const id = await newAccount();
  const planted = new Error('planted');
  let runs = 0;
  await assert.rejects(
    inTransaction(db, async (tx) => {
      runs += 1;
      await tx.updateTable('accounts').set({ amount: 7 }).where('id', '=', id).execute();
      throw planted;
    }),
    (error) => error === planted,
  );
  assert.equal(runs, 1);
  assert.equal(await amountOf(id), 0);
});

test('a rehearsal rolls back every change, and returns or throws what its function does', async () => {
  const id = await newAccount();
  let runs = 0;
  const result = await rehearse(db, async (tx) => {
    runs += 1;
    await tx.updateTable('accounts').set({ amount: 7 }).where('id', '=', id).execute();
    return 'result';
  });
  assert.deepEqual([result, runs, await amountOf(id)], ['result', 1, 0]);
  const planted = new Error('planted');
  const failing = async (): Promise<never> => Promise.reject(planted);
  await assert.rejects(rehearse(db, failing), (error) => error === planted);
});

test('a retryable error runs the function again, up to four times in all', async () => {
  for (const state of ['40001', '40P01']) {
    const id = await newAccount();
    let runs = 0;
    await inTransaction(db, async (tx) => {
      runs += 1;
      await sql`update accounts set amount = amount + 1 where id = ${id}`.execute(tx);
      if (runs < 4) await sql.raw(`do $$ begin raise exception sqlstate '${state}'; end $$`).execute(tx);
    });
    assert.equal(runs, 4);
    assert.equal(await amountOf(id), 1, 'the failed runs left nothing');
  }
  let runs = 0;
  await assert.rejects(
    inTransaction(db, async (tx) => {
      runs += 1;
      await sql.raw(`do $$ begin raise exception sqlstate '40001'; end $$`).execute(tx);
    }),
    { code: '40001' },
  );
  assert.equal(runs, 4);
});

test('other failures of the database are not retried', async () => {
  const id = await newAccount();
  let runs = 0;
  await assert.rejects(
    inTransaction(db, async (tx) => {
      runs += 1;
      await tx.insertInto('accounts').values({ id, amount: 1 }).execute();
    }),
    { code: '23505' },
  );
  assert.equal(runs, 1);
});

test('two deadlocked transactions both succeed', async () => {
  const [one, two] = [await newAccount(), await newAccount()];
  const bothHold = Promise.withResolvers<void>();
  let holding = 0;
  const transfer = (first: number, second: number) =>
    inTransaction(db, async (tx) => {
      await sql`update accounts set amount = amount + 1 where id = ${first}`.execute(tx);
      holding += 1;
      if (holding === 2) bothHold.resolve();
      await bothHold.promise;
      await sql`update accounts set amount = amount + 1 where id = ${second}`.execute(tx);
    });
  await Promise.all([transfer(one, two), transfer(two, one)]);
  assert.deepEqual([await amountOf(one), await amountOf(two)], [2, 2]);
  assert.ok(holding > 2, 'one of them ran again');
});

test('50 parallel increments lose none', async () => {
  const id = await newAccount();
  await Promise.all(
    Array.from({ length: 50 }, () =>
      inTransaction(db, (tx) => sql`update accounts set amount = amount + 1 where id = ${id}`.execute(tx)),
    ),
  );
  assert.equal(await amountOf(id), 50);
});

test('a failed transaction releases its connection', async () => {
  await Promise.all(
    Array.from({ length: 60 }, () =>
      inTransaction(db, () => Promise.reject(new Error('planted'))).catch(() => {}),
    ),
  );
  assert.equal(pool.idleCount, pool.totalCount);
  assert.equal(pool.waitingCount, 0);
});
