// Shared by the tests of shutdown: makes requests wait in the database.
// It must not judge answers.
import type { TestContext } from 'node:test';
import { atEnd } from '@castellan/embedded-postgres/testing';
import { eventually } from '@castellan/testing/harness';
import pg from 'pg';

/** Locks the users table, so that every request that needs it waits until `release`. */
export async function holdUsers(
  t: TestContext,
  databaseUrl: string,
): Promise<{ waiting(count: number): Promise<void>; release(): Promise<void> }> {
  const holder = new pg.Client(databaseUrl);
  await holder.connect();
  let released: Promise<void> | undefined;
  const release = (): Promise<void> => (released ??= holder.end());
  atEnd(t, release);
  await holder.query('begin');
  await holder.query('lock table users in access exclusive mode');
  return {
    async waiting(count) {
      await eventually(async () => {
        // Within a transaction, the statistics views keep their first result.
        await holder.query('select pg_stat_clear_snapshot()');
        const { rows } = await holder.query(
          // The worker of the outbox may wait for the table as well. The view has the first 1,024 bytes of a statement.
          `select count(*)::integer as waiting from pg_locks join pg_stat_activity using (pid)
           where not granted and relation = 'users'::regclass and query like '%k.ordinal, t.session_id%'`,
        );
        return rows[0].waiting >= count || undefined;
      }, `${count} requests to wait for the users table`);
    },
    release,
  };
}
