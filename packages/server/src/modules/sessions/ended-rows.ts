// Removes the rows that ended sessions, deleted users and expired tokens leave behind. Each small batch is a separate
// transaction, so the work can stop at any point and continue later.
// It must not decide what has ended: `session_ends` and the expiry times do.
import { type RawBuilder, sql } from 'kysely';
import { isDatabaseUnavailable } from '../../platform/db/failures.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';

/** Maximum rows that one statement removes, so that it is short and holds few locks. */
const BATCH = 2_000;
/** Maximum sessions of an earlier epoch that one batch marks. */
const SESSION_BATCH = 200;

type End = Pick<
  Row<'session_ends'>,
  'id' | 'user_id' | 'session_id' | 'before_epoch' | 'reason' | 'ended_at'
>;

/**
 * Removes rows for at most `budgetMs`; the next call continues. Returns the number of removed rows by kind;
 * `ended_tokens` includes sessions.
 */
export async function removeEndedRows(
  db: Db,
  budgetMs: number,
): Promise<{ ended_tokens: number; expired_tokens: number }> {
  const deadline = performance.now() + budgetMs;
  // Expired tokens first, because every refresh adds one. Half of the time is kept for the ended sessions.
  const expired_tokens = await removeExpiredTokens(db, performance.now() + budgetMs / 2);
  return { ended_tokens: await processEnds(db, deadline), expired_tokens };
}

async function removeExpiredTokens(db: Db, deadline: number): Promise<number> {
  let total = 0;
  for (let deleted = BATCH; deleted === BATCH && performance.now() < deadline; total += deleted) {
    const result = await sql`
      delete from session_tokens where ctid = any(array(
        select ctid from session_tokens
        where expires_at < now() and (rotated_at is not null or coalesce(signed_expires_at, expires_at) < now())
        order by expires_at limit ${BATCH} for update skip locked))`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}

// Maximum rows of `session_ends` that one pass reads. The next pass starts again at the first row.
const PASS = 1_000;
/** Ends of single sessions that one transaction processes. */
const ENDS_BATCH = 100;

/**
 * Processes one batch of each row of `session_ends` in turn, so that a large one does not delay the others, until none
 * makes progress. Skips a row that fails, and throws its error after the others are done. Returns the removed rows.
 */
async function processEnds(db: Db, deadline: number): Promise<number> {
  const failed = new Map<string, unknown>();
  let total = 0;
  const work = async (ids: readonly string[]): Promise<boolean> => {
    const removed = await inTransaction(db, (tx) => removeOneBatch(tx, ids));
    total += removed ?? 0;
    return removed !== undefined;
  };
  for (let progress = true; progress && performance.now() < deadline; ) {
    progress = false;
    for (const ids of await findEnds(db, [...failed.keys()])) {
      if (performance.now() >= deadline) break;
      try {
        if (await work(ids)) progress = true;
      } catch (error) {
        if (isDatabaseUnavailable(error)) throw error;
        for (const id of ids)
          try {
            if (await work([id])) progress = true;
          } catch (cause) {
            failed.set(id, cause);
          }
      }
    }
  }
  if (failed.size > 0)
    throw new AggregateError(failed.values(), `session_ends not processed: ${[...failed.keys()].join(', ')}`);
  return total;
}

/**
 * Returns ids of `session_ends`, one list for each transaction: up to 100 single sessions, or one end of another kind.
 */
async function findEnds(db: Db, except: readonly string[]): Promise<string[][]> {
  const { rows } = await sql<{ id: string; is_session: boolean }>`
    select id, session_id is not null as is_session from session_ends
    where id <> all(${except}::bigint[])
    order by id limit ${PASS}`.execute(db);
  const sessions = rows.filter((row) => row.is_session).map((row) => row.id);
  const batches = Array.from({ length: Math.ceil(sessions.length / ENDS_BATCH) }, (_, index) =>
    sessions.slice(index * ENDS_BATCH, (index + 1) * ENDS_BATCH),
  );
  return [...batches, ...rows.filter((row) => !row.is_session).map((row) => [row.id])];
}

/** Returns the number of removed rows; undefined if nothing is left or other transactions have locked the rest. */
async function removeOneBatch(tx: Tx, ids: readonly string[]): Promise<number | undefined> {
  const { rows } = await sql<End>`
    select id, user_id, session_id, before_epoch, reason, ended_at from session_ends
    where id = any(${ids}::bigint[]) order by id for update skip locked`.execute(tx);
  const [end] = rows;
  if (!end) return undefined;
  if (end.session_id !== null) return processSessionEnds(tx, rows);
  const { removed, isLast } = await (end.before_epoch === null
    ? removeRowsOfUser(tx, end)
    : removeEarlierSessions(tx, end));
  if (isLast) await sql`delete from session_ends where id = ${end.id}`.execute(tx);
  return removed > 0 || isLast ? removed : undefined;
}

/** Removes tokens and bound grants, then the ends that have none left. An ended session gets no new ones. */
async function processSessionEnds(tx: Tx, ends: readonly End[]): Promise<number> {
  const sessionIds = ends.flatMap((end) => end.session_id ?? []);
  const tokens = await removeTokensOf(tx, sessionIds);
  const grants = await removeRows(
    tx,
    'access_grants',
    sql`session_id = any(${sessionIds}::uuid[]) and revoked_at is null and not offline`,
    BATCH,
  );
  await sql`
    delete from session_ends e where id = any(${ends.map((end) => end.id)}::bigint[])
      and not exists (select from session_tokens t where t.session_id = e.session_id)
      and not exists (
        select from access_grants g where g.session_id = e.session_id and g.revoked_at is null and not g.offline)`.execute(
    tx,
  );
  return tokens + grants;
}

type Removed = { removed: number; isLast: boolean };

/**
 * Locks sessions before their tokens, in the same order as a refresh. Skips locked sessions; a later batch processes
 * them. It never waits for a lock, so it cannot take part in a deadlock.
 */
async function lockSessions(tx: Tx, which: RawBuilder<unknown>): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from sessions where ${which}
    order by created_at limit ${SESSION_BATCH} for no key update skip locked`.execute(tx);
  return rows.map((row) => row.id);
}

async function hasSessions(tx: Tx, which: RawBuilder<unknown>): Promise<boolean> {
  const { rows } = await sql`select from sessions where ${which} limit 1`.execute(tx);
  return rows.length > 0;
}

/** Marks the sessions of an earlier epoch as revoked, after their tokens are removed. */
async function removeEarlierSessions(tx: Tx, end: End): Promise<Removed> {
  const which = sql`user_id = ${end.user_id} and revoked_at is null and epoch < ${end.before_epoch}`;
  const ids = await lockSessions(tx, which);
  const removed = await removeTokensOf(tx, ids);
  if (removed === BATCH) return { removed, isLast: false };
  const ofEpoch = sql`user_id = ${end.user_id} and user_epoch < ${end.before_epoch}`;
  const grants = await removeRows(tx, 'access_grants', ofEpoch, BATCH);
  if (grants === BATCH) return { removed: removed + grants, isLast: false };
  await sql`
    update sessions set revoked_at = ${end.ended_at}, revoked_reason = ${end.reason}
    where id = any(${ids}::uuid[])`.execute(tx);
  // Marked sessions count as progress.
  return { removed: removed + grants + ids.length, isLast: !(await hasSessions(tx, which)) };
}

async function removeRowsOfUser(tx: Tx, { user_id }: End): Promise<Removed> {
  const which = sql`user_id = ${user_id}`;
  const ids = await lockSessions(tx, which);
  let removed = await removeTokensOf(tx, ids);
  if (removed === BATCH) return { removed, isLast: false };
  removed += await removeRows(tx, 'sessions', sql`id = any(${ids}::uuid[])`, SESSION_BATCH);
  if (await hasSessions(tx, which)) return { removed, isLast: false };
  for (const table of ['session_tokens', 'access_grants', 'idempotency_keys']) {
    const gone = await removeRows(tx, table, which, BATCH);
    removed += gone;
    if (gone === BATCH) return { removed, isLast: false };
  }
  return { removed, isLast: true };
}

const removeTokensOf = (tx: Tx, sessionIds: readonly string[]): Promise<number> =>
  removeRows(tx, 'session_tokens', sql`session_id = any(${sessionIds}::uuid[])`, BATCH);

async function removeRows(tx: Tx, table: string, which: RawBuilder<unknown>, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from ${sql.table(table)} where ctid = any(array(
      select ctid from ${sql.table(table)} where ${which} limit ${limit}))`.execute(tx);
  return Number(numAffectedRows);
}

/** Deletes sessions that ended more than `keepDays` ago; until then they help to investigate. Returns their number. */
export async function deleteOldSessions(db: Db, keepDays: number): Promise<number> {
  let total = 0;
  for (let deleted = BATCH; deleted >= BATCH; total += deleted) {
    // Two conditions joined by `or` may be answered by reading every session.
    const result = await sql`
      delete from sessions where id = any(
        array(select id from sessions where expires_at < now() - make_interval(days => ${keepDays})
              order by expires_at limit ${BATCH} for update skip locked)
        || array(select id from sessions where revoked_at < now() - make_interval(days => ${keepDays})
                 order by revoked_at limit ${BATCH} for update skip locked))`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}
