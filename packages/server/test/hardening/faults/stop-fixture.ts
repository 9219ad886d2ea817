// What the faults around a stop share: requests that wait in the database, and how long a stop may take.
// It must not judge answers.
import type { TestContext } from 'node:test';
import pg from 'pg';
import { atEnd } from '../../embedded/fixture.ts';
import { eventually } from '../../harness.ts';

/** GRACE_MS of graceful-close.ts is 7 s, the longest other wait 8 s; and time for a crowded machine. */
export const STOP_MS = 12_000;

/** Holds the users table, so that every request that needs it waits; `release` lets them go on. */
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
        // What it shows is kept for the length of a transaction otherwise.
        await holder.query('select pg_stat_clear_snapshot()');
        const { rows } = await holder.query(
          // The worker of the outbox may wait for the table as well.
          `select count(*)::integer as waiting from pg_locks join pg_stat_activity using (pid)
           where not granted and relation = 'users'::regclass and query like '%session_tokens%'`,
        );
        return rows[0].waiting >= count || undefined;
      }, `${count} requests to wait for the users table`);
    },
    release,
  };
}
