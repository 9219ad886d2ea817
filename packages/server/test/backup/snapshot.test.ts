// A backup while others write: one moment, and nobody waits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { backupFrames, packed, verifyBackup } from '../../src/modules/backup/service.ts';
import { createPool } from '../../src/platform/db/pool.ts';
import { createLog } from '../../src/platform/logging/log.ts';

const addUser = `insert into users (id, email, first_name, last_name)
  values (gen_random_uuid(), gen_random_uuid() || '@example.com', 'Ada', 'Byron')`;

test('what is written after the backup began is not in it, in any table, and does not wait for it', async (t) => {
  const { url, drop } = await createScratchDatabase({ migrated: true });
  const writer = new pg.Client(url);
  await writer.connect();
  await writer.query(addUser);
  const log = createLog('error', { write: () => undefined });
  const pool = createPool({ connection: url, maxConnections: 1, unbounded: true }, log);
  const client = await pool.connect();
  // In this order: the database is dropped last.
  t.after(async () => {
    client.release(true);
    await Promise.all([pool.end(), writer.end()]);
    await drop();
  });

  const frames = backupFrames(client, { version: '0.0.0' });
  const parts: Buffer[] = [];
  const reported: string[] = [];
  // The first two are the header.
  for (const _ of [1, 2]) parts.push((await frames.next()).value as Buffer);
  const counts = `select (select count(*) from users)::integer as users,
    (select count(*) from user_changes)::integer as changes`;
  const { rows } = await writer.query<{ users: number; changes: number }>(counts);
  await writer.query(addUser);
  await writer.query(`update roles set description = 'written during the backup'`);
  const contents = await verifyBackup(
    packed(
      (async function* () {
        yield* parts;
        const result = yield* frames;
        reported.push(...[result.tables, result.rows].map(String));
      })(),
    ),
  );
  const rowsOf = (name: string): number | undefined =>
    contents.tables.find((table) => table.name === name)?.rows;
  assert.deepEqual([{ users: rowsOf('users'), changes: rowsOf('user_changes') }], rows);
  const { rows: later } = await writer.query<{ users: number; changes: number }>(counts);
  assert.notDeepEqual(later, rows);
  assert.deepEqual(reported, [String(contents.tables.length), String(contents.rows)]);
});
