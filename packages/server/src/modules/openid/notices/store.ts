// SQL of the logout notices that an instance sends. Triggers write them (migration 0060).
// A lease hides a notice from other instances; the number of the attempt identifies it.
import { sql } from 'kysely';
import { isLeaseFree } from '../../../platform/delivery/lease.ts';
import type { Db, Row } from '../../../schema/database.ts';

/** Renewed while a notice is being sent, so that another instance sends what a dead one had claimed within 3 s. */
export const LEASE_SECONDS = 2.2;
const lease = sql.lit(LEASE_SECONDS);
const isFree = sql.raw(isLeaseFree('n.locked_until', LEASE_SECONDS));

/** What the record of the application says, also after its deletion. */
type Told = Pick<
  Row<'applications'>,
  'client_id' | 'backchannel_logout_url' | 'subject_type' | 'sector' | 'id_token_signing_alg'
>;

export type ClaimedNotice = Told &
  Pick<Row<'logout_notices'>, 'id' | 'application_id' | 'user_id' | 'sid' | 'attempts'> & {
    /** Null for a deleted application. */
    name: string | null;
    /** False if the application was made inactive. */
    is_active: boolean;
    /** The salt of pairwise subjects; null for an application with public ones. */
    salt: Buffer | null;
    /** Seconds since the epoch, of the database. */
    now_seconds: number;
    /** It has waited for as long as notices are tried. */
    is_last: boolean;
  };

/** How many notices to an application this instance is sending. */
export type Busy = ReadonlyMap<string, number>;

/**
 * Claims due notices, at most `free`, and of one application at most `ofApplication` with those that are being sent. Those with the
 * fewest come first, so that no application waits for another's. `hasBacklog`: there are ends of which notices are missing.
 * `hasWaiting`: notices wait, due or not. `hasEnded`: there are sessions to look at, which may have ended (rows.ts).
 */
export async function claimNotices(
  db: Db,
  { free, ofApplication, hours, busy }: { free: number; ofApplication: number; hours: number; busy: Busy },
): Promise<{ notices: ClaimedNotice[]; hasBacklog: boolean; hasWaiting: boolean; hasEnded: boolean }> {
  const { rows } = await sql<
    ClaimedNotice & { has_backlog: boolean; has_waiting: boolean; has_ended: boolean }
  >`
    with recursive addressed (application_id) as (
      (select application_id from logout_notices where state = 'waiting' order by application_id limit 1)
      union all
      select (
        select n.application_id from logout_notices n
        where n.state = 'waiting' and n.application_id > a.application_id order by n.application_id limit 1)
      from addressed a where a.application_id is not null
    ), due as materialized (
      select n.id from addressed a
      left join unnest(${[...busy.keys()]}::uuid[], ${[...busy.values()]}::integer[]) b (application_id, sent)
        on b.application_id = a.application_id
      cross join lateral (
        select due.id, due.next_at, coalesce(b.sent, 0) + row_number() over (order by due.next_at) as place from (
          select n.id, n.next_at from logout_notices n
          where n.application_id = a.application_id and n.state = 'waiting' and n.next_at <= now() and ${isFree}
          order by n.next_at limit greatest(0, ${ofApplication}::integer - coalesce(b.sent, 0))
          for update skip locked) due) n
      where a.application_id is not null
      order by n.place, n.next_at limit ${free}
    ), claimed as (
      update logout_notices n set locked_until = now() + ${lease} * interval '1 second', attempts = n.attempts + 1
      from due where n.id = due.id
      returning n.id, n.application_id, n.user_id, n.sid, n.attempts, n.created_at, n.application
    ), told as (
      select c.*, a.name, coalesce(a.is_active, true) as is_active,
        case when a.id is null then c.application ->> 'client_id' else a.client_id end as client_id,
        case when a.id is null then c.application ->> 'backchannel_logout_url' else a.backchannel_logout_url end
          as backchannel_logout_url,
        case when a.id is null then c.application ->> 'subject_type' else a.subject_type end as subject_type,
        case when a.id is null then c.application ->> 'sector' else a.sector end as sector,
        case when a.id is null then c.application ->> 'id_token_signing_alg' else a.id_token_signing_alg end
          as id_token_signing_alg
      from claimed c left join applications a on a.id = c.application_id
    )
    select exists (select from logout_backlog) as has_backlog,
      exists (select from addressed where application_id is not null) as has_waiting,
      exists (select from application_sessions where told_at is null and expires_at <= now()) as has_ended, t.id, t.application_id, t.user_id, t.sid, t.attempts, t.name,
      t.is_active, t.client_id, t.backchannel_logout_url, t.subject_type, t.sector, t.id_token_signing_alg,
      case when t.subject_type = 'pairwise' then (select salt from pairwise_salt) end as salt,
      extract(epoch from now())::float8 as now_seconds,
      t.created_at < now() - make_interval(hours => ${hours}) as is_last
    from (values (1)) always (one) left join told t on true`.execute(db);
  return {
    notices: rows.filter(({ id }) => id !== null),
    hasBacklog: rows.some(({ has_backlog }) => has_backlog),
    hasWaiting: rows.some(({ has_waiting }) => has_waiting),
    hasEnded: rows.some(({ has_ended }) => has_ended),
  };
}

/** Backlog entries of one round, and notices of one of them. */
const ENTRIES = 20;
const NOTICES_OF_ENTRY = 2_000;

/** Writes notices of ends that had too many applications at once. Returns how many ends were finished. */
export async function workOffBacklog(db: Db): Promise<number> {
  const { rows } = await sql<{ finished: number }>`
    with worked as materialized (
      select b.id, write_logout_notices(
        b.user_id, b.session_id, b.application_id, b.reason, b.application, b.ended_at, ${NOTICES_OF_ENTRY}) as is_left
      from (select * from logout_backlog order by id limit ${ENTRIES} for update skip locked) b
    ), finished as (
      delete from logout_backlog where id in (select id from worked where not is_left) returning id
    )
    select count(*)::integer as finished from finished`.execute(db);
  return rows[0]?.finished ?? 0;
}

/** Keeps other instances from notices that are being sent. */
export async function renewLeases(db: Db, ids: readonly string[]): Promise<void> {
  await sql`
    update logout_notices set locked_until = now() + ${lease} * interval '1 second'
    where id = any(array(
      select id from logout_notices where id = any(${ids}::bigint[]) and state = 'waiting' and locked_until > now()
      order by id for no key update skip locked))`.execute(db);
}

type Attempt = Pick<ClaimedNotice, 'id' | 'attempts'>;
/** `status`: of the answer; null: there was none. */
export type Outcome = { status: number | null; error: string | null };

/** Also if another instance has the lease by now: it was sent. */
export async function markSent(db: Db, { id }: Attempt, { status }: Outcome): Promise<void> {
  await sql`
    update logout_notices set state = 'sent', sent_at = now(), locked_until = null, status = ${status}, error = null
    where id = ${id} and state = 'waiting'`.execute(db);
}

export async function postpone(
  db: Db,
  { id, attempts }: Attempt,
  { status, error }: Outcome,
  afterMs: number,
): Promise<void> {
  await sql`
    update logout_notices set next_at = now() + ${afterMs}::float8 * interval '1 millisecond', locked_until = null,
      status = ${status}, error = ${error}
    where id = ${id} and attempts = ${attempts} and state = 'waiting'`.execute(db);
}

/** Returns whether this call did it. */
export async function markFailed(
  db: Db,
  { id, attempts }: Attempt,
  state: 'refused' | 'given_up',
  { status, error }: Outcome,
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update logout_notices set state = ${state}, locked_until = null, status = ${status}, error = ${error}
    where id = ${id} and attempts = ${attempts} and state = 'waiting'`.execute(db);
  return numAffectedRows > 0n;
}
