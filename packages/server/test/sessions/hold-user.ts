// Holds a user's row lock while something else runs into it: a race with a fixed outcome instead of many rounds.
// It must not outlive its test: the lock goes with the connection.
import pg from 'pg';
import { eventually, type TestService } from '../harness.ts';

/**
 * Starts `run`, waits until it waits for the lock of this user's row, then commits `change` ($1 is the user's id)
 * and answers what `run` answered. Fails after 10 s when `run` never asks for the lock.
 */
export async function changeUserUnder<T>(
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
