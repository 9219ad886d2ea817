import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { escapeLike, isoTime, lockUntilCommit, wildcardToLike } from './sql.ts';

let db: Kysely<never>;
let drop: () => Promise<void>;

before(async () => {
  const database = await createScratchDatabase();
  db = new Kysely({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: database.url }) }),
  });
  drop = database.drop;
});
after(async () => {
  await db.destroy();
  await drop();
});

for (const [text, escaped] of [
  ['', ''],
  ['plain', 'plain'],
  ['100%', '100\\%'],
  ['a_b', 'a\\_b'],
  ['a\\b', 'a\\\\b'],
  ['\\%_', '\\\\\\%\\_'],
  ['*', '*'],
] as const)
  test(`${JSON.stringify(text)} in a LIKE pattern is ${JSON.stringify(escaped)}`, () => {
    assert.equal(escapeLike(text), escaped);
  });

const matches = async (text: string, pattern: string): Promise<boolean> => {
  const { rows } = await sql<{ matches: boolean }>`
    select ${text}::text like ${wildcardToLike(pattern)}::text as matches`.execute(db);
  return rows[0]?.matches ?? false;
};

for (const [text, pattern, expected] of [
  ['abc', 'abc', true],
  ['abc', 'ab', false],
  ['abc', 'ab*', true],
  ['abc', '*bc', true],
  ['abc', '*', true],
  ['', '*', true],
  ['', '', true],
  ['abc', 'a**c', true],
  ['abc', 'a_c', false],
  ['abc', 'a%c', false],
  ['a%c', 'a%c', true],
  ['a_c', 'a_*', true],
  ['a\\c', 'a\\c', true],
  ['a\\*', 'a\\*', true],
  ['a*c', 'a*c', true],
  ['😀x', '😀*', true],
] as const)
  test(`${JSON.stringify(text)} ${expected ? 'matches' : 'does not match'} ${JSON.stringify(pattern)}`, async () => {
    assert.equal(await matches(text, pattern), expected);
  });

test('a time is ISO 8601 in UTC with milliseconds, whatever the time zone of the connection', async () => {
  await db.connection().execute(async (connection) => {
    await sql`set time zone 'Asia/Kathmandu'`.execute(connection);
    const { rows } = await sql<{ text: string }>`
      select ${isoTime('at')} as text from (select timestamptz '2026-01-02 03:04:05.6789+01' as at) as times`.execute(
      connection,
    );
    assert.equal(rows[0]?.text, '2026-01-02T02:04:05.678Z');
    await sql`reset time zone`.execute(connection);
  });
});

test('a lock excludes other holders of the same name until the commit, and no other names', async () => {
  await db.transaction().execute(async (holder) => {
    await lockUntilCommit('one').execute(holder);
    await db.transaction().execute(async (other) => {
      await lockUntilCommit('another').execute(other);
      await sql`set local lock_timeout = '50ms'`.execute(other);
      await assert.rejects(lockUntilCommit('one').execute(other), { code: '55P03' });
      await sql`rollback`.execute(other);
    });
  });
  await db.transaction().execute(async (later) => {
    await sql`set local lock_timeout = '50ms'`.execute(later);
    await lockUntilCommit('one').execute(later);
  });
});
