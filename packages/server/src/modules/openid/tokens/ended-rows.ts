// Removes expired tokens of applications, and grants of which no token can live, in small batches.
// It must not decide what has ended: the statements that judge tokens do.
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../../schema/database.ts';

/** Maximum rows that one statement removes, so that it is short and holds few locks. */
const BATCH = 2_000;
/** Ends of applications that one call reads. */
const ENDS = 100;
/** How far back expired sessions are looked for. The job runs every minute; what it misses ends with its last token. */
const LOOK_BACK_HOURS = 2;

/**
 * Grants that nothing can be done with: ended, past their last token, or with a code that was not exchanged in time; and those bound
 * to a session that has expired. What ends sessions otherwise is in modules/sessions/ended-rows.ts.
 */
const endedGrants: readonly RawBuilder<unknown>[] = [
  sql`select g.ctid from access_grants g
    where least(g.revoked_at, g.expires_at, coalesce(g.ends_at, g.code_expires_at)) < now()
    order by least(g.revoked_at, g.expires_at, coalesce(g.ends_at, g.code_expires_at))`,
  // As an array, so that the grants are found by their index whatever the planner knows.
  sql`select g.ctid from access_grants g
    where g.session_id = any(array(
        select s.id from sessions s
        where s.expires_at between now() - make_interval(hours => ${LOOK_BACK_HOURS}) and now()))
      and g.revoked_at is null and not g.offline`,
];

/** Removes rows for at most `budgetMs`; the next call continues. Returns their number. */
export async function removeEndedGrants(db: Db, budgetMs: number): Promise<number> {
  const deadline = performance.now() + budgetMs;
  let total = await removeBatches(deadline, () =>
    sql`delete from application_tokens where ctid = any(array(
      select ctid from application_tokens where expires_at < now()
      order by expires_at limit ${BATCH} for update skip locked))`.execute(db),
  );
  for (const which of endedGrants)
    total += await removeBatches(deadline, () =>
      sql`delete from access_grants where ctid = any(array(${which} limit ${BATCH} for update of g skip locked))`.execute(
        db,
      ),
    );
  return total + (await removeGrantsOfEnds(db, deadline));
}

/** Removes the grants of applications whose grants all ended, and then the notes of these ends. */
async function removeGrantsOfEnds(db: Db, deadline: number): Promise<number> {
  const { rows } = await sql<{ id: string; application_id: string; before_epoch: number | null }>`
    select id, application_id, before_epoch from application_ends order by id limit ${sql.lit(ENDS)}`.execute(
    db,
  );
  let total = 0;
  for (const { id, application_id, before_epoch } of rows) {
    const isEnded = sql`application_id = ${application_id}
      and application_epoch < coalesce(${before_epoch}::integer, application_epoch + 1)`;
    total += await removeBatches(deadline, () =>
      sql`delete from access_grants where ctid = any(array(
        select ctid from access_grants where ${isEnded} limit ${BATCH} for update skip locked))`.execute(db),
    );
    await sql`delete from application_ends where id = ${id} and not exists (
      select from access_grants where ${isEnded})`.execute(db);
    if (performance.now() >= deadline) break;
  }
  return total;
}

async function removeBatches(
  deadline: number,
  remove: () => Promise<{ numAffectedRows?: bigint }>,
): Promise<number> {
  let total = 0;
  for (let deleted = BATCH; deleted === BATCH && performance.now() < deadline; total += deleted)
    deleted = Number((await remove()).numAffectedRows ?? 0);
  return total;
}
