// SQL of requests that wait: pushed ones, interactions and sign-outs. Times come from the database.
import { type RawBuilder, sql } from 'kysely';
import { onlyRow } from '../../../platform/db/sql.ts';
import type { Db, Row } from '../../../schema/database.ts';
import { isWaiting, requestColumns, type WaitingRequest } from './waiting.ts';

export type RequestKind = 'pushed' | 'interaction' | 'sign_out';

type Json = Record<string, unknown>;

const waiting = (kind: RequestKind, idHash: Buffer): RawBuilder<unknown> =>
  sql`q.id_hash = ${idHash} and q.kind = ${kind} and ${sql.raw(isWaiting)}`;

export async function insertRequest(
  db: Db,
  request: {
    id_hash: Buffer;
    kind: RequestKind;
    application_id: string | null;
    parameters: Json;
    state: Json;
  },
  lifetimeSeconds: number,
): Promise<Pick<Row<'application_requests'>, 'created_at' | 'expires_at'>> {
  return onlyRow(
    await sql<Pick<Row<'application_requests'>, 'created_at' | 'expires_at'>>`
      insert into application_requests (id_hash, kind, application_id, parameters, state, created_at, expires_at)
      select ${request.id_hash}, ${request.kind}, ${request.application_id}::uuid, ${JSON.stringify(request.parameters)}::jsonb,
        ${JSON.stringify(request.state)}::jsonb, moment, moment + make_interval(secs => ${lifetimeSeconds})
      from clock_timestamp() as moment
      returning created_at, expires_at`.execute(db),
  );
}

export async function findWaiting(
  db: Db,
  kind: RequestKind,
  idHash: Buffer,
): Promise<WaitingRequest | undefined> {
  const { rows } = await sql<WaitingRequest>`
    select ${sql.raw(requestColumns)} from application_requests q where ${waiting(kind, idHash)}`.execute(db);
  return rows[0];
}

/** Adds members to the state; those of the same name are replaced. Returns whether the request was still waiting. */
export async function addToState(db: Db, kind: RequestKind, idHash: Buffer, state: Json): Promise<boolean> {
  const { rows } = await sql`
    update application_requests q set state = q.state || ${JSON.stringify(state)}::jsonb
    where ${waiting(kind, idHash)} returning 1`.execute(db);
  return rows.length > 0;
}

/** Marks a request as used. Returns it; undefined if it was not waiting: of parallel calls, one gets it. */
export async function markUsed(
  db: Db,
  kind: RequestKind,
  idHash: Buffer,
): Promise<WaitingRequest | undefined> {
  const { rows } = await sql<WaitingRequest>`
    update application_requests q set used_at = clock_timestamp() where ${waiting(kind, idHash)}
    returning ${sql.raw(requestColumns)}`.execute(db);
  return rows[0];
}

/** Rows that one statement removes at most. */
const BATCH = 2_000;
/** Pushed requests stay so long after their end: an interaction of 30 minutes uses up the one that it began with. */
const PUSHED_KEPT_MINUTES = 60;

/** Removes requests that ended, for at most `budgetMs`. Returns their number; the next call continues. */
export async function removeEndedRequests(db: Db, budgetMs: number): Promise<number> {
  const deadline = performance.now() + budgetMs;
  let total = 0;
  for (let deleted = BATCH; deleted === BATCH && performance.now() < deadline; total += deleted) {
    const result = await sql`
      delete from application_requests where ctid = any(array(
        select ctid from application_requests
        where expires_at < now()
          and (kind <> 'pushed' or expires_at < now() - make_interval(mins => ${PUSHED_KEPT_MINUTES}))
        order by expires_at limit ${BATCH} for update skip locked))`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}
