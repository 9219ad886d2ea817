// Holds a user's row lock while a request waits for it: a race with a fixed outcome instead of many rounds.
// The lock ends with its connection.
import pg from 'pg';
import { eventually, type TestService } from '../harness.ts';

/**
 * Locks this user's row, starts `run` and waits until a statement waits for a lock. Then it executes `change` ($1 is the
 * user's id), commits, and returns the result of `run`. Throws after 60 s when `run` never waits for the lock.
 */
export async function changeUserWhileWaiting<T>(
  service: TestService,
  userId: string,
  change: string,
  run: () => Promise<T>,
): Promise<T> {
  const holder = new pg.Client(service.databaseUrl);
  await holder.connect();
  try {
    await holder.query('begin');
    await holder.query('select from users where id = $1 for update', [userId]);
    const running = run();
    await eventually(async () => {
      const waiting = await service.sql(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return waiting.length > 0 || undefined;
    }, 'a statement that waits for the row');
    await holder.query(change, [userId]);
    await holder.query('commit');
    return await running;
  } finally {
    await holder.end();
  }
}
