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
  timeline: number;
};

// A standby that takes over and a restore to a point in time begin a timeline of PostgreSQL. It may have every row of the log, and
// lack what nobody notes: sign-ins and new keys. So the number of the timeline is a part of the stamps outside the database; that
// of the first one changes nothing in them.
const pollStatement = {
  name: 'feed-poll',
  text: `
    select p.*, t.number::integer as timeline
    from (select ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32) # 1::bit(32) as number) t
    cross join lateral feed_poll($1::bigint,
      (lpad(to_hex((('x' || left($2::text, 8))::bit(32) # t.number)::integer), 8, '0') || substr($2::text, 9))::uuid) p`,
};

/** Returns the stamp as it is outside the database. */
function stampOn(timeline: number, stamp: string): string {
  const first = (Number.parseInt(stamp.slice(0, 8), 16) ^ timeline) >>> 0;
  return first.toString(16).padStart(8, '0') + stamp.slice(8);
}

/** Numbers what waits in the queue, and reads at most 100 rows after the position; none without one. */
export async function poll(pool: Pool, after: Position | null): Promise<Polled> {
  const { rows } = await pool.query<PollRow>({
    ...pollStatement,
    values: [after?.seq ?? null, after?.stamp ?? null],
  });
  const { timeline, ...found } = onlyRow({ rows });
  return {
    isOn: found.is_on,
    isKnown: found.is_known,
    isComplete: found.is_complete,
    head: { seq: Number(found.head_seq), stamp: stampOn(timeline, found.head_stamp) },
    rows: (found.log_rows ?? []).map((row) => ({ ...row, stamp: stampOn(timeline, row.stamp) })),
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
