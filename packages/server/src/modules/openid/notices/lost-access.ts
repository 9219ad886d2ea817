// Ends what people have at applications whose rule they no longer meet, and tells the applications. Requests of such people are
// refused at once: this is for the sessions that applications keep themselves.
// It must not go through people one by one: a set statement for each application finds them.
import { sql } from 'kysely';
import type { Db } from '../../../schema/database.ts';
import { type AuditLog, recordEvent } from '../../audit/service.ts';

/** Rows that one statement ends, so that it is short and holds few locks. */
const BATCH = 1_000;
/** After a change, for as long as transactions that began before may take to commit. */
const SETTLE_MINUTES = 2;
/** Whatever has changed. */
const CHECK_MINUTES = 10;

type Rule = { id: string; name: string };

/** Where this process stopped in an unfinished pass: the state it began with, and the last rule that it finished. */
const unfinished = new WeakMap<Db, { seen: string; after: string }>();

/**
 * Looks for people who lost the permission that an application requires, if a role, a permission, an assignment or an application
 * has changed. Stops after `budgetMs`, with at least one statement of each kind; the next call continues with the rule it
 * stopped at. Returns how many grants it ended and notices it wrote.
 */
export async function endLostAccess(
  { db, auditLog }: { db: Db; auditLog: AuditLog },
  budgetMs: number,
): Promise<{ grants: number; notices: number }> {
  const deadline = performance.now() + budgetMs;
  const total = { grants: 0, notices: 0 };
  const rules = await findRules(db);
  if (rules.length === 0) return total;
  const begun = unfinished.get(db);
  const now = await changes(db);
  if (!begun && !now.isDue) return total;
  const { seen, after } = begun ?? { seen: now.seen, after: '' };
  let finished = after;
  let isStopped = false;
  for (const rule of rules.filter(({ id }) => id > after)) {
    if (isStopped) break;
    let grants = 0;
    let ended: number;
    let told: number;
    do {
      ended = await endGrants(db, rule.id);
      grants += ended;
    } while (ended === BATCH && performance.now() < deadline);
    do {
      told = await tellSessions(db, rule.id);
      total.notices += told;
    } while (told === BATCH && performance.now() < deadline);
    total.grants += grants;
    if (ended < BATCH && told < BATCH) finished = rule.id;
    isStopped = finished !== rule.id || performance.now() >= deadline;
    if (grants > 0)
      await recordEvent({ auditLog }, null, {
        action: 'application_access_ended',
        actorId: null,
        resourceType: 'application',
        resourceId: rule.id,
        resourceName: rule.name,
        details: { reason: 'permission_lost', grants },
      });
  }
  if (finished === (rules.at(-1)?.id ?? finished) || !isStopped) {
    unfinished.delete(db);
    await markChecked(db, seen);
  } else unfinished.set(db, { seen, after: finished });
  return total;
}

async function findRules(db: Db): Promise<Rule[]> {
  const { rows } = await sql<Rule>`
    select id, name from applications where required_permission_id is not null and is_active order by id`.execute(
    db,
  );
  return rows;
}

async function changes(db: Db): Promise<{ seen: string; isDue: boolean }> {
  const { rows } = await sql<{ seen: string; isDue: boolean }>`
    select now_.seen, coalesce(c.seen <> now_.seen or c.seen_at > now() - make_interval(mins => ${SETTLE_MINUTES})
      or c.checked_at < now() - make_interval(mins => ${CHECK_MINUTES}), true) as "isDue"
    from (
      select concat_ws(' ', (select last_value from access_losses), (select stamp from authz_version),
        (select max(updated_at) from applications where required_permission_id is not null)) as seen) now_
    left join lost_access_checks c on true`.execute(db);
  return rows[0] ?? { seen: '', isDue: true };
}

async function markChecked(db: Db, seen: string): Promise<void> {
  await sql`
    insert into lost_access_checks as c (seen) values (${seen})
    on conflict (only_row) do update
    set seen = excluded.seen, checked_at = now(),
      seen_at = case when c.seen = excluded.seen then c.seen_at else now() end`.execute(db);
}

/** SQL condition on a user id and an application `a`: the user does not meet its rule. */
const hasLost = (userId: string) => sql`
  not exists (select from users u where u.id = ${sql.raw(userId)} and u.is_superuser)
  and not exists (
    select from held_user_roles h join role_permissions p on p.role_id = h.role_id
    where h.user_id = ${sql.raw(userId)} and p.permission_id = a.required_permission_id)`;

async function endGrants(db: Db, applicationId: string): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update access_grants set revoked_at = clock_timestamp(), revoked_reason = 'permission_lost'
    where id = any(array(
      select g.id from access_grants g join applications a on a.id = g.application_id
      where g.application_id = ${applicationId} and g.revoked_at is null and g.expires_at > now() and ${hasLost('g.user_id')}
      limit ${BATCH} for update of g skip locked))`.execute(db);
  return Number(numAffectedRows);
}

/** Also those whose grants are gone: the application may keep a session. */
async function tellSessions(db: Db, applicationId: string): Promise<number> {
  const { rows } = await sql<{ told: number }>`
    with told as (
      update application_sessions set told_at = clock_timestamp()
      where ctid = any(array(
        select s.ctid from application_sessions s join applications a on a.id = s.application_id
        where s.application_id = ${applicationId} and s.told_at is null and ${hasLost('s.user_id')}
        limit ${BATCH} for update of s skip locked))
      returning application_id, user_id, sid
    ), written as (
      insert into logout_notices (application_id, user_id, sid, reason)
      select t.application_id, t.user_id, t.sid, 'permission_lost'
      from told t join applications a on a.id = t.application_id
      where a.is_active and a.backchannel_logout_url is not null
    )
    select count(*)::integer as told from told`.execute(db);
  return rows[0]?.told ?? 0;
}
