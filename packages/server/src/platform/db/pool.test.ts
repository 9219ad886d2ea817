// On a separate cluster: the setting that makes commits wait for a standby holds for a whole server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startEmbeddedPostgres } from '@castellan/embedded-postgres';
import { atEnd, temporaryFolder, until } from '@castellan/embedded-postgres/testing';
import { sql } from 'kysely';
import { createLog } from '../logging/log.ts';
import { isDatabaseUnavailable, isRefused, NotReplicatedError } from './failures.ts';
import { createKysely, createPool } from './pool.ts';
import { inTransaction } from './transaction.ts';

test('a commit is not acknowledged if somebody cancelled its wait for the synchronous standby', async (t) => {
  const server = await startEmbeddedPostgres({ dataDir: temporaryFolder(t), log: () => undefined });
  const pool = createPool({ connection: server.connection, maxConnections: 2 }, createLog('silent'));
  atEnd(t, async () => {
    await pool.end();
    await server.stop();
  });
  const db = createKysely<{ notes: { text: string } }>(pool);
  const write = () => inTransaction(db, (tx) => tx.insertInto('notes').values({ text: 'kept' }).execute());
  const waitFor = async (standbys: string): Promise<void> => {
    await pool.query(`alter system set synchronous_standby_names = '${standbys}'`);
    await pool.query('select pg_reload_conf()');
    await until(`the server waits for ${standbys || 'none'}`, async () => {
      const { rows } = await pool.query('show synchronous_standby_names');
      return rows[0].synchronous_standby_names === standbys;
    });
    // Commits wait once the checkpointer has read the setting, which it does before it answers this.
    await pool.query('checkpoint');
  };
  await pool.query('create table notes (text text)');
  await waitFor('missing');

  const cancelWaits = async (): Promise<void> =>
    until('a commit waits', async () => {
      const { rowCount } = await pool.query(
        `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`,
      );
      return rowCount === 1;
    });
  for (const attempt of [write, () => sql`insert into notes values ('kept')`.execute(db)]) {
    const outcome = attempt();
    outcome.catch(() => undefined);
    await cancelWaits();
    await assert.rejects(outcome, (error: unknown) => {
      assert.ok(error instanceof NotReplicatedError, String(error));
      assert.ok(isDatabaseUnavailable(error));
      assert.ok(!isRefused(error), 'the statement had an effect');
      return true;
    });
  }

  await waitFor('');
  await write();
  assert.equal((await pool.query('select from notes')).rowCount, 3);
});
