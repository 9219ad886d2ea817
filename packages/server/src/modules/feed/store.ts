// SQL of the change feed. The triggers of migration 0080 write its queue.
// Every function is one statement, so that a client that stops or dies holds nothing.
import type { FeedChange } from '@castellan/contract/feed';
import { sql } from 'kysely';
import type { Pool } from 'pg';
import { onlyRow } from '../../platform/db/sql.ts';
import type { Db, Tx } from '../../schema/database.ts';
import type { Position } from './positions.ts';

/** What one poll found. */
export type Polled = {
  isOn: boolean;
  /** Whether the log has the position, so that `rows` follow it. */
  isKnown: boolean;
  /** Whether all that had committed when the poll began is at most `head`, and not beyond `rows`. */
  isComplete: boolean;
  head: Position;
  rows: readonly LogRow[];
};

export type LogRow = Position & { changes: readonly FeedChange[] };

type PollRow = {
  is_on: boolean;
  is_known: boolean;
  is_complete: boolean;
  head_seq: string;
  head_stamp: string;
  log_rows: LogRow[] | null;
};

const pollStatement = {
  name: 'feed-poll',
  text: 'select p.* from feed_poll($1::bigint, $2::uuid) p',
};

/** Numbers what waits in the queue, and reads at most 100 rows after the position; none without one. */
export async function poll(pool: Pool, after: Position | null): Promise<Polled> {
  const { rows } = await pool.query<PollRow>({
    ...pollStatement,
    values: [after?.seq ?? null, after?.stamp ?? null],
  });
  const found = onlyRow({ rows });
  return {
    isOn: found.is_on,
    isKnown: found.is_known,
    isComplete: found.is_complete,
    head: { seq: Number(found.head_seq), stamp: found.head_stamp },
    rows: found.log_rows ?? [],
  };
}

const turnOnStatement = {
  name: 'feed-turn-on',
  text: `
    update feed_state set is_on = true, wanted_until = clock_timestamp() + interval '1 day'
    where not is_on or wanted_until < clock_timestamp() + interval '22 hours'`,
};

/** Turns the feed on for a day. Writes nothing while more than 22 hours of the day are left. */
export async function turnOn(pool: Pool): Promise<void> {
  await pool.query(turnOnStatement);
}

const markStatement = { name: 'feed-mark', text: 'select pg_current_xact_id()::text as mark' };

/** Returns the id of a new transaction: every transaction that changed something before now has a lower one. */
export async function drawMark(pool: Pool): Promise<string> {
  return onlyRow(await pool.query<{ mark: string }>(markStatement)).mark;
}

const passedStatement = {
  name: 'feed-mark-passed',
  text: 'select pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8 as passed',
};

/** Returns whether every transaction with a lower id has ended. */
export async function isPassed(pool: Pool, mark: string): Promise<boolean> {
  return onlyRow(await pool.query<{ passed: boolean }>({ ...passedStatement, values: [mark] })).passed;
}

/** Trims the log, and turns the feed off when nobody has wanted it for a day. */
export async function keepUp(db: Db): Promise<void> {
  await sql`select feed_upkeep()`.execute(db);
}

/** Forgets every change and turns the feed off. No cursor from before is known afterwards. */
export async function forgetFeed(tx: Tx): Promise<void> {
  await sql`delete from feed_queue`.execute(tx);
  await sql`delete from feed_log`.execute(tx);
  await sql`delete from feed_state`.execute(tx);
  await sql`insert into feed_state default values`.execute(tx);
}
