// What a restore leaves on the database server when it ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scratchName, urlOfDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { BackupError } from '../../src/modules/backup/service.ts';
import { createLog } from '../../src/platform/logging/log.ts';
import { restoreDatabase } from '../../src/start/database/restore-database.ts';

test('a failed restore has no connection when it ends, so another one can begin at once', async (t) => {
  const name = scratchName();
  const admin = new pg.Client(urlOfDatabase('postgres'));
  await admin.connect();
  await admin.query(`create database ${name}`);
  const watcher = new pg.Client(urlOfDatabase(name));
  await watcher.connect();
  t.after(async () => {
    await watcher.end();
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  });
  const log = createLog('error', { write: () => {} });
  for (let round = 0; round < 20; round += 1) {
    const pool = new pg.Pool({ connectionString: urlOfDatabase(name), max: 2 });
    // An empty file fails after the restore has taken the lock.
    const backup = (async function* () {})();
    await assert.rejects(
      restoreDatabase(pool, backup, { log, sessions: 'end', revokeApiKeys: false, totalBytes: 0 }),
      BackupError,
    );
    const { rows } = await watcher.query(
      `select a.pid, l.locktype from pg_stat_activity a left join pg_locks l on l.pid = a.pid
       where a.datname = current_database() and a.backend_type = 'client backend' and a.pid <> pg_backend_pid()`,
    );
    assert.deepEqual(rows, [], `round ${round}`);
    await pool.end();
  }
});
