// SQL of the deliveries of a webhook, for people who look at them. The worker has its own (platform/delivery).
import type { DeliveryCause, DeliveryState } from '@castellan/contract/webhooks';
import { sql } from 'kysely';
import { plannedForValues } from '../../../platform/db/statement-names.ts';
import { isOfTarget } from '../../../platform/delivery/targets-store.ts';
import type { Db, Row, Tx } from '../../../schema/database.ts';
import type { Entitled } from '../../authz/change.ts';

export type DeliveryRow = Pick<Row<'deliveries'>, 'id' | 'type' | 'created_at' | 'settled_at'> & {
  event_id: string;
  state: DeliveryState;
  replay: boolean;
  attempt_count: number;
  status: number | null;
  cause: DeliveryCause | null;
  next_at: Date | null;
};

const columns = sql`
  d.id, d.source_id as event_id, d.type, d.state, d.replay_id is not null as replay, d.attempts as attempt_count,
  a.status, a.cause, d.created_at, d.settled_at,
  case when d.state = 'waiting' and d.attempts > 0 then d.due_at end as next_at`;
const lastAttempt = sql`
  left join lateral (
    select status, cause from delivery_attempts where delivery_id = d.id order by at desc limit 1) a on true`;

export type DeliveryFilter = {
  state: DeliveryState | null;
  type: string | null;
  from: string | null;
  to: string | null;
  /** Deliveries with lower ids only. */
  before: string | null;
  limit: number;
};

/** Returns deliveries of a webhook, newest first. */
export async function findDeliveries(
  db: Db,
  webhookId: string,
  { state, type, from, to, before, limit }: DeliveryFilter,
): Promise<DeliveryRow[]> {
  const { rows } = await sql<DeliveryRow>`${plannedForValues}
    select ${columns} from deliveries d ${lastAttempt}
    where ${isOfTarget('d.target_id', sql`${webhookId}::uuid`)} and (${state}::text is null or d.state = ${state})
      and (${type}::text is null or d.type = ${type})
      and (${from}::timestamptz is null or d.created_at >= ${from}::timestamptz)
      and (${to}::timestamptz is null or d.created_at < ${to}::timestamptz)
      and (${before}::bigint is null or d.id < ${before}::bigint)
    order by d.target_id desc, d.id desc limit ${limit}`.execute(db);
  return rows;
}

/** Returns a delivery of a webhook. */
export async function findDelivery(db: Db, webhookId: string, id: string): Promise<DeliveryRow | undefined> {
  const { rows } = await sql<DeliveryRow>`
    select ${columns} from deliveries d ${lastAttempt}
    where d.target_id = ${webhookId} and d.id = ${id}::bigint`.execute(db);
  return rows[0];
}

export type AttemptRow = { at: Date; status: number | null; cause: DeliveryCause | null; ms: number };

/** Returns the attempts of a delivery, newest first. */
export async function findAttempts(db: Db, id: string): Promise<AttemptRow[]> {
  const { rows } = await sql<AttemptRow>`
    select at, status, cause, ms from delivery_attempts where delivery_id = ${id}::bigint order by at desc`.execute(
    db,
  );
  return rows;
}

/** Locks a delivery of a webhook. Returns whether there is one. */
export async function lockDelivery(tx: Tx, webhookId: string, id: string): Promise<boolean> {
  const { rows } = await sql`
    select from deliveries where target_id = ${webhookId} and id = ${id}::bigint for no key update`.execute(
    tx,
  );
  return rows.length > 0;
}

/**
 * Lets a delivery that was settled wait as if it had not been tried, and one that waits be tried at once. So are others with its
 * key that have failed: nothing with the key is sent while one of them waits for its next attempt.
 */
export async function resendRow({ tx }: Entitled, id: string): Promise<void> {
  await sql`
    update deliveries set state = 'waiting', settled_at = null, due_at = now(),
      attempts = case when state = 'waiting' then attempts else 0 end,
      tried_since = case when state = 'waiting' then tried_since end
    where id = ${id}::bigint`.execute(tx);
  await sql`
    update deliveries d set due_at = now() from deliveries resent
    where resent.id = ${id}::bigint and d.target_id = resent.target_id and d.key = resent.key
      and d.state = 'waiting' and d.attempts > 0 and d.due_at > now()`.execute(tx);
}

/** Rows that one statement deletes, so that it is short and holds few locks. */
const BATCH = 2_000;

/** Calls until a batch is not full, for at most `budgetMs`. Returns the sum. */
async function inBatches(budgetMs: number, run: () => Promise<number>): Promise<number> {
  const deadline = performance.now() + budgetMs;
  let total = 0;
  for (let changed = BATCH; changed === BATCH && performance.now() < deadline; total += changed)
    changed = await run();
  return total;
}

/** Gives up what has waited longer than `days` for a paused webhook. Returns how many deliveries. */
export const giveUpPaused = (db: Db, days: number, budgetMs: number): Promise<number> =>
  inBatches(budgetMs, async () => {
    const { numAffectedRows = 0n } = await sql`
      update deliveries set state = 'dead', settled_at = now() where id = any(array(
        select d.id from delivery_targets t join deliveries d on d.target_id = t.id and d.state = 'waiting'
        where t.paused_at is not null and d.created_at < now() - make_interval(days => ${days})
        order by d.id limit ${BATCH} for update of d skip locked))`.execute(db);
    return Number(numAffectedRows);
  });

/** Deletes deliveries that were sent or given up so many days ago. Returns how many. */
export const deleteSettled = (
  db: Db,
  { sentDays, deadDays }: { sentDays: number; deadDays: number },
  budgetMs: number,
): Promise<number> =>
  inBatches(budgetMs, async () => {
    const { numAffectedRows = 0n } = await sql`
      delete from deliveries where id = any(array(
        select d.id from deliveries d
        where (d.state = 'sent' and d.settled_at < now() - make_interval(days => ${sentDays}))
          or (d.state = 'dead' and d.settled_at < now() - make_interval(days => ${deadDays}))
        order by d.id limit ${BATCH} for update skip locked))`.execute(db);
    return Number(numAffectedRows);
  });

/** Deletes what waited for webhooks that were deleted, and what they were sent. Returns how many. */
export const deleteOrphans = (db: Db, budgetMs: number): Promise<number> =>
  inBatches(budgetMs, async () => {
    const { numAffectedRows = 0n } = await sql`
      delete from deliveries where id = any(array(
        select d.id from deliveries d
        where not exists (select from delivery_targets t where t.id = d.target_id)
        limit ${BATCH} for update skip locked))`.execute(db);
    return Number(numAffectedRows);
  });
