import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import { sql } from 'kysely';
import { createLog } from '../logging/log.ts';
import { createKysely, createPool } from './pool.ts';
import { plannedForValues, statementName } from './statement-names.ts';

const database = await createScratchDatabase();
// One connection, whose prepared statements can be read.
const pool = createPool({ connection: database.url, maxConnections: 1 }, createLog('silent'));
const db = createKysely<never>(pool);
after(async () => {
  await pool.end();
  await database.drop();
});

test('a marked statement is planned for its values at each run, any other one is prepared by name', async () => {
  for (let run = 0; run < 8; run += 1) {
    await sql`${plannedForValues} select ${run}::integer as marked`.execute(db);
    await sql`select ${run}::integer as plain`.execute(db);
  }
  const { rows } = await sql<{ statement: string; generic_plans: string; custom_plans: string }>`
    select statement, generic_plans, custom_plans from pg_prepared_statements`.execute(db);
  assert.deepEqual(
    rows.map(({ statement }) => statement),
    ['select $1::integer as plain'],
  );
  // The reason for the mark: PostgreSQL reuses one plan for all values from the sixth run on.
  assert.deepEqual([rows[0]?.custom_plans, rows[0]?.generic_plans], ['5', '3']);
});

test('names are the same for the same text, and only statements with values have one', () => {
  assert.equal(statementName('select $1', [1]), statementName('select $1', [2]));
  assert.notEqual(statementName('select $1', [1]), statementName('select $1 + 1', [1]));
  assert.equal(statementName('select 1', []), undefined);
});
