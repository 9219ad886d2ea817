// SQL of replays: which past entries are queued again, in batches, so that no statement is long.
import { type RawBuilder, sql } from 'kysely';
import { onlyRow } from '../../../platform/db/sql.ts';
import { plannedForValues } from '../../../platform/db/statement-names.ts';
import { isOfTarget } from '../../../platform/delivery/targets-store.ts';
import type { Db, Row, Tx } from '../../../schema/database.ts';
import type { Entitled } from '../../authz/change.ts';

export type Replay = Pick<Row<'webhook_replays'>, 'id' | 'webhook_id' | 'actions' | 'only_dead'> & {
  /** ISO 8601. `to`: exclusive. */
  from: string;
  to: string;
};

type Range = Pick<Replay, 'webhook_id' | 'actions' | 'only_dead' | 'from' | 'to'>;

/** SQL condition on an entry `e` and a webhook `w`, as the trigger on audit_logs has it; without the actions. */
const isWanted: RawBuilder<boolean> = sql`
  (w.resource_types is null or e.resource_type = any(w.resource_types))
  and not (e.resource_type = 'webhook' and e.resource_id = w.id::text)`;

/** Counts what a replay would queue, at most `most`. */
export async function countReplayed(
  db: Db,
  { webhook_id, actions, only_dead, from, to }: Range,
  most: number,
): Promise<number> {
  const found = only_dead
    ? sql<{ count: number }>`${plannedForValues}
        select count(*)::integer as count from (
          select from deliveries d
          where ${isOfTarget('d.target_id', sql`${webhook_id}::uuid`)} and d.state = 'dead' and d.type = any(${actions}::text[])
            and d.created_at >= ${from}::timestamptz and d.created_at < ${to}::timestamptz limit ${most}) c`
    : sql<{ count: number }>`${plannedForValues}
        select count(*)::integer as count from (
          select from audit_logs e join webhooks w on w.id = ${webhook_id} and ${isWanted}
          where e.action = any(${actions}::text[]) and e."timestamp" >= ${from}::timestamptz
            and e."timestamp" < ${to}::timestamptz limit ${most}) c`;
  return onlyRow(await found.execute(db)).count;
}

/** Returns whether a replay of a webhook is not queued as a whole, or not delivered. */
export async function isReplaying(tx: Tx, webhookId: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from webhook_replays where webhook_id = ${webhookId})
      or exists (
        select from deliveries where target_id = ${webhookId} and state = 'waiting' and replay_id is not null) as found`.execute(
    tx,
  );
  return rows[0]?.found === true;
}

export async function insertReplay(
  { tx }: Entitled,
  { id, webhook_id, actions, only_dead, from, to }: Replay,
): Promise<void> {
  await sql`
    insert into webhook_replays (id, webhook_id, from_at, to_at, actions, only_dead)
    values (${id}, ${webhook_id}, ${from}::timestamptz, ${to}::timestamptz, ${actions}::text[], ${only_dead})`.execute(
    tx,
  );
}

/** Entries that one statement looks at, and dead deliveries that it moves. */
const BATCH = 10_000;

/** Locks the oldest replay that no other instance works on. */
export async function lockReplay(
  tx: Tx,
): Promise<Pick<Row<'webhook_replays'>, 'id' | 'only_dead'> | undefined> {
  const { rows } = await sql<Pick<Row<'webhook_replays'>, 'id' | 'only_dead'>>`
    select id, only_dead from webhook_replays order by created_at limit 1 for update skip locked`.execute(tx);
  return rows[0];
}

/** Queues the next entries of a replay. Returns whether some may be left. */
export async function queueEntries(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await sql<{ seen: number }>`${plannedForValues}
    with batch as materialized (
      select e.id, e."timestamp", e.action, e.resource_type, e.resource_id
      from webhook_replays r cross join lateral (
        select e.id, e."timestamp", e.action, e.resource_type, e.resource_id from audit_logs e
        where e."timestamp" >= r.from_at and e."timestamp" < r.to_at
          and (r.after_at is null or (e."timestamp", e.id) > (r.after_at, r.after_id::uuid))
        order by e."timestamp", e.id limit ${BATCH}) e
      where r.id = ${id}
    ), queued as (
      insert into deliveries (target_id, source_id, type, key, replay_id)
      select w.id, e.id, e.action, delivery_key(e.resource_type, e.resource_id, e.id), r.id
      from webhook_replays r join webhooks w on w.id = r.webhook_id
      join batch e on e.action = any(r.actions) and ${isWanted}
      where r.id = ${id} order by e."timestamp", e.id
    ), moved as (
      update webhook_replays r set after_at = last."timestamp", after_id = last.id::text
      from (select "timestamp", id from batch order by "timestamp" desc, id desc limit 1) last where r.id = ${id}
    )
    select count(*)::integer as seen from batch`.execute(tx);
  return (rows[0]?.seen ?? 0) === BATCH;
}

/** Gives the next dead deliveries of a replay a new place. Returns whether some may be left. */
export async function requeueDead(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await sql<{ seen: number }>`${plannedForValues}
    with gone as (
      delete from deliveries where id = any(array(
        select d.id from webhook_replays r join deliveries d
          on ${isOfTarget('d.target_id', sql`r.webhook_id`)} and d.state = 'dead'
        where r.id = ${id} and d.replay_id is distinct from r.id and d.type = any(r.actions)
          and d.created_at >= r.from_at and d.created_at < r.to_at
        order by d.target_id, d.id limit ${BATCH} for update of d))
      returning id, target_id, source_id, type, content, key
    ), queued as (
      insert into deliveries (target_id, source_id, type, content, key, replay_id)
      select target_id, source_id, type, content, key, ${id} from gone order by id
    )
    select count(*)::integer as seen from gone`.execute(tx);
  return (rows[0]?.seen ?? 0) === BATCH;
}

export async function deleteReplay(tx: Tx, id: string): Promise<void> {
  await sql`delete from webhook_replays where id = ${id}`.execute(tx);
}
