import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Kysely, sql } from 'kysely';
import { createScratchDatabase } from '../../../test/scratch-database.ts';
import { createLog } from '../log.ts';
import { createKysely, createPool } from './pool.ts';
import { inTransaction } from './transaction.ts';

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

test('the changes of one run stay, and its value is the answer', async () => {
  const id = await newAccount();
  const answer = await inTransaction(db, async (tx) => {
    await tx.updateTable('accounts').set({ amount: 7 }).where('id', '=', id).execute();
    return 'done';
  });
  assert.equal(answer, 'done');
  assert.equal(await amountOf(id), 7);
});

test('an error takes every change back and reaches the caller as it is', async () => {
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

test('what PostgreSQL asks to be retried runs again, up to four times in all', async () => {
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

test('two transactions that lock each other out both succeed', async () => {
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

test('a transaction that failed gives its connection back', async () => {
  await Promise.all(
    Array.from({ length: 60 }, () =>
      inTransaction(db, () => Promise.reject(new Error('planted'))).catch(() => {}),
    ),
  );
  assert.equal(pool.idleCount, pool.totalCount);
  assert.equal(pool.waitingCount, 0);
});
