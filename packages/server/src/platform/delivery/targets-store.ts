// SQL of targets, of what waits for them, and of the lease of the instance that delivers it.
// It must not know what is delivered.
import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely';
import { plannedForValues } from '../db/statement-names.ts';
import { isLeaseFree } from './lease.ts';
import type { Queued } from './lineup.ts';

/** How long an instance that dies keeps others from its targets. */
export const LEASE_SECONDS = 30;
const lease = sql.lit(LEASE_SECONDS);
const isFree = sql.raw(isLeaseFree('t.locked_until', LEASE_SECONDS));

/**
 * Returns the condition in SQL that a row of deliveries is of a target. Written as a range, with `order by target_id, id`, it is read
 * from an index that begins with the target. With `=`, the planner may go through the ids of all targets: it takes each target's rows
 * to be evenly spread, but a target that does not answer has a million in a row.
 */
export const isOfTarget = (column: string, target: RawBuilder<unknown>): RawBuilder<boolean> =>
  sql`${sql.raw(column)} >= ${target} and ${sql.raw(column)} <= ${target}`;

export type TargetState = {
  id: string;
  parallel: number;
  failures: number;
  /** Milliseconds until it gets its next probe; null: it does not wait. */
  next_in_ms: number | null;
  is_mine: boolean;
  is_free: boolean;
  is_paused: boolean;
  has_waiting: boolean;
};

/** Returns the targets of a kind. */
export async function readTargets(
  db: QueryExecutorProvider,
  kind: string,
  holder: string,
): Promise<TargetState[]> {
  const { rows } = await sql<TargetState>`
    select t.id, t.parallel, t.failures, t.paused_at is not null as is_paused,
      (extract(epoch from t.next_at - now()) * 1000)::float8 as next_in_ms,
      coalesce(t.holder = ${holder}::uuid and t.locked_until > now(), false) as is_mine, ${isFree} as is_free,
      exists (
        select from deliveries d where ${isOfTarget('d.target_id', sql`t.id`)} and d.state = 'waiting') as has_waiting
    from delivery_targets t where t.kind = ${kind} order by t.id`.execute(db);
  return rows;
}

/** A target that this instance has. */
export type Lease = {
  id: string;
  /** Deliveries that were noted as under way, of which no outcome is recorded. */
  under_way: string[];
  /** Another instance noted them. */
  is_inherited: boolean;
};

/** Takes or renews leases. Returns those that this instance has. */
export async function holdTargets(
  db: QueryExecutorProvider,
  holder: string,
  ids: readonly string[],
): Promise<Lease[]> {
  const { rows } = await sql<Lease>`
    update delivery_targets t set holder = ${holder}::uuid, locked_until = now() + ${lease} * interval '1 second'
    from (
      select t.id, t.holder is distinct from ${holder}::uuid as is_inherited from delivery_targets t
      where t.id = any(${ids}::uuid[]) and t.paused_at is null and (t.holder = ${holder}::uuid or ${isFree})
      order by t.id for no key update skip locked) found
    where t.id = found.id
    returning t.id, t.under_way, found.is_inherited`.execute(db);
  return rows;
}

/** Notes deliveries as under way, before they begin. Returns whether this instance has the target, and nobody has paused it. */
export async function noteUnderWay(
  db: QueryExecutorProvider,
  holder: string,
  targetId: string,
  ids: readonly string[],
): Promise<boolean> {
  const { rows } = await sql`
    update delivery_targets
    set under_way = array(select unnest(under_way) union select unnest(${ids}::bigint[]))
    where id = ${targetId}::uuid and holder = ${holder}::uuid and paused_at is null returning id`.execute(db);
  return rows.length > 0;
}

/** Notes that deliveries are not under way: they have not begun. */
export async function endUnderWay(
  db: QueryExecutorProvider,
  targetId: string,
  ids: readonly string[],
): Promise<void> {
  await sql`
    update delivery_targets set under_way = ${without(ids)} where id = ${targetId}::uuid`.execute(db);
}

const without = (ids: readonly string[]): RawBuilder<string[]> =>
  sql`array(select unnest(under_way) except select unnest(${ids}::bigint[]))`;

/** Returns deliveries that wait, by their ids. */
export async function readThese(
  db: QueryExecutorProvider,
  targetId: string,
  ids: readonly string[],
): Promise<Queued[]> {
  const { rows } = await sql<Queued>`
    select ${queued} from deliveries
    where id = any(${ids}::bigint[]) and target_id = ${targetId}::uuid and state = 'waiting'`.execute(db);
  return rows;
}

/** Ends the leases of an instance that has nothing under way, so that others need not wait for it. */
export async function releaseTargets(db: QueryExecutorProvider, holder: string): Promise<void> {
  await sql`update delivery_targets set locked_until = null, under_way = '{}' where holder = ${holder}::uuid`.execute(
    db,
  );
}

const queued = sql`
  id, source_id as "sourceId", type, key, replay_id is not null as "isReplay", attempts,
  (extract(epoch from due_at - now()) * 1000)::float8 as "dueInMs",
  (extract(epoch from now() - tried_since) * 1000)::float8 as "triedForMs"`;

/**
 * Returns what has waited longest for a target, in the order of the ids, without the keys of `excluded`. Of one key, the first ones:
 * those with lower ids have been settled. The planner must not guess how many rows keys exclude: one key may have nearly all.
 */
export async function readWaiting(
  db: QueryExecutorProvider,
  targetId: string,
  excluded: readonly string[],
  limit: number,
): Promise<Queued[]> {
  const { rows } = await sql<Queued>`${plannedForValues}
    select ${queued} from (
      select * from deliveries
      where ${isOfTarget('target_id', sql`${targetId}::uuid`)} and state = 'waiting'
      order by target_id, id offset 0) d
    where key <> all(${excluded}::bigint[]) limit ${limit}`.execute(db);
  return rows;
}

/** Returns deliveries of these keys that have failed and wait, in the order of the ids. */
export async function readFailed(
  db: QueryExecutorProvider,
  targetId: string,
  keys: readonly string[],
  limit: number,
): Promise<Queued[]> {
  const { rows } = await sql<Queued>`${plannedForValues}
    select ${queued} from deliveries
    where target_id = ${targetId}::uuid and state = 'waiting' and attempts > 0 and key = any(${keys}::bigint[])
    order by id limit ${limit}`.execute(db);
  return rows;
}

/**
 * Returns the keys of deliveries that failed and are due, also those that somebody has made due since. There are few: a holder
 * keeps the keys that wait.
 */
export async function readDueAgain(db: QueryExecutorProvider, targetId: string): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select key from deliveries
    where target_id = ${targetId}::uuid and state = 'waiting' and attempts > 0 and due_at <= now()`.execute(
    db,
  );
  return rows.map(({ key }) => key);
}

/** How an attempt ended. `afterMs`: when a waiting delivery is tried again. */
export type Settled = {
  id: string;
  state: 'waiting' | 'sent' | 'dead';
  afterMs: number;
  status: number | null;
  cause: string | null;
  ms: number;
  /** Milliseconds since it ended. */
  age: number;
};

/** The state of a target after attempts. `hasSucceeded`: one of them arrived. `ended`: they are no longer under way. */
export type Told = {
  id: string;
  failures: number;
  hasSucceeded: boolean;
  nextMs: number | null;
  ended: readonly string[];
};

/**
 * Records how attempts ended, and what they say about their targets. Returns the targets that have failed for `hopelessHours`.
 * A delivery that another instance has settled in the meantime stays as it is.
 */
export async function settleAttempts(
  db: QueryExecutorProvider,
  settled: readonly Settled[],
  told: readonly Told[],
  { hopelessHours, hopelessFailures }: { hopelessHours: number; hopelessFailures: number },
): Promise<string[]> {
  const { rows } = await sql<{ id: string; is_hopeless: boolean }>`
    with ended as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(settled)}::jsonb)
        as e (id bigint, state text, "afterMs" float8, status integer, cause text, ms integer, age float8)
    ), written as (
      update deliveries d set state = e.state, attempts = d.attempts + 1,
        tried_since = coalesce(d.tried_since, now()), due_at = now() + e."afterMs" * interval '1 millisecond',
        settled_at = case when e.state <> 'waiting' then now() end
      from ended e where d.id = e.id and d.state = 'waiting'
      returning d.id
    ), noted as (
      insert into delivery_attempts (delivery_id, at, status, cause, ms)
      select e.id, clock_timestamp() - e.age * interval '1 millisecond', e.status, e.cause, e.ms
      from ended e join written w on w.id = e.id
    )
    update delivery_targets t set failures = s.failures,
      failing_since = case when s.failures = 0 then null when s."hasSucceeded" then now()
        else coalesce(t.failing_since, now()) end,
      last_success_at = case when s."hasSucceeded" then now() else t.last_success_at end,
      next_at = now() + s."nextMs" * interval '1 millisecond',
      under_way = array(
        select unnest(t.under_way) except select e::bigint from jsonb_array_elements_text(s.ended) e)
    from jsonb_to_recordset(${JSON.stringify(told)}::jsonb)
      as s (id uuid, failures integer, "hasSucceeded" boolean, "nextMs" float8, ended jsonb)
    where t.id = s.id
    returning t.id, t.failures >= ${hopelessFailures}::integer
      and coalesce(t.failing_since < now() - make_interval(hours => ${hopelessHours}), false) as is_hopeless`.execute(
    db,
  );
  return rows.filter(({ is_hopeless }) => is_hopeless).map(({ id }) => id);
}

/** Lets everything that waits after a failure be tried at once: the target answers again, or somebody says that it does. */
export async function hastenWaiting(db: QueryExecutorProvider, targetId: string): Promise<void> {
  await sql`
    update deliveries set due_at = now()
    where target_id = ${targetId}::uuid and state = 'waiting' and attempts > 0 and due_at > now()`.execute(
    db,
  );
}
