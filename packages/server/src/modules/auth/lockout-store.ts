// SQL of login_attempts (clearing one: passwords/lockout-store.ts).
// Each statement is atomic under the row's lock, so parallel attempts count exactly.
import { sql } from 'kysely';
import type { Db } from '../../database.ts';

// An attempt whose process died frees its slot after this: longer than hashing waits at most.
const SLOT_LEASE_SECONDS = 30;

/** Takes a slot when failures and running attempts together leave one, and no lock is set. */
export async function takeSlot(db: Db, email: string, slot: string, maxAttempts: number): Promise<boolean> {
  const lease = sql`jsonb_build_object(${slot}::text, extract(epoch from clock_timestamp()) + ${SLOT_LEASE_SECONDS})`;
  const running = sql`coalesce((
    select jsonb_object_agg(key, value) from jsonb_each(a.slots)
    where value::numeric > extract(epoch from clock_timestamp())), '{}'::jsonb)`;
  const result = await sql`
    insert into login_attempts as a (email, slots) values (${email}, ${lease})
    on conflict (email) do update set slots = ${running} || ${lease}, updated_at = now()
    where a.locked_until is null
      and a.failures + (select count(*) from jsonb_object_keys(${running})) < ${maxAttempts}`.execute(db);
  return result.numAffectedRows === 1n;
}

/** Seconds that the lock still lasts; null when there is none. A lock that has passed is at most 0. */
export async function findLock(db: Db, email: string): Promise<number | null> {
  const { rows } = await sql<{ seconds: number }>`
    select extract(epoch from locked_until - clock_timestamp())::float8 as seconds
    from login_attempts where email = ${email} and locked_until is not null`.execute(db);
  return rows[0]?.seconds ?? null;
}

/** Removes a lock that has passed; true for the one caller that removed it. */
export async function removePassedLock(db: Db, email: string): Promise<boolean> {
  const result = await sql`
    update login_attempts set locked_until = null, failures = 0, updated_at = now()
    where email = ${email} and locked_until <= clock_timestamp()`.execute(db);
  return result.numAffectedRows === 1n;
}

/** Gives the slot back and counts one failure. True when this failure set the lock. */
export async function settleFailure(
  db: Db,
  email: string,
  slot: string,
  limits: { maxAttempts: number; lockSeconds: number },
): Promise<boolean> {
  const { rows } = await sql<{ locked_now: boolean }>`
    with before as (select email, locked_until from login_attempts where email = ${email} for update)
    update login_attempts a set slots = slots - ${slot}::text, failures = failures + 1, updated_at = now(),
      locked_until = case when failures + 1 >= ${limits.maxAttempts}
        then coalesce(a.locked_until, clock_timestamp() + make_interval(secs => ${limits.lockSeconds})) end
    from before where a.email = before.email
    returning before.locked_until is null and a.locked_until is not null as locked_now`.execute(db);
  return rows[0]?.locked_now ?? false;
}

/** Locks an address whose failures have reached the limit without a lock, as after the limit was lowered. */
export async function lockOverdrawn(
  db: Db,
  email: string,
  limits: { maxAttempts: number; lockSeconds: number },
): Promise<boolean> {
  const result = await sql`
    update login_attempts set updated_at = now(),
      locked_until = clock_timestamp() + make_interval(secs => ${limits.lockSeconds})
    where email = ${email} and locked_until is null and failures >= ${limits.maxAttempts}`.execute(db);
  return result.numAffectedRows === 1n;
}

/** Gives the slot back and forgets earlier failures. */
export async function settleSuccess(db: Db, email: string, slot: string): Promise<void> {
  await sql`
    update login_attempts set slots = slots - ${slot}::text, failures = 0, updated_at = now()
    where email = ${email} and locked_until is null`.execute(db);
}

/** Gives the slot back as if the attempt had not been. */
export async function releaseSlot(db: Db, email: string, slot: string): Promise<void> {
  await sql`update login_attempts set slots = slots - ${slot}::text where email = ${email}`.execute(db);
}

/** Counters that nobody touched for `hours`, in one bounded statement after another. */
export async function deleteIdleAttempts(db: Db, hours: number): Promise<number> {
  const batch = 5_000;
  let total = 0;
  for (let deleted = batch; deleted === batch; total += deleted) {
    const result = await sql`
      delete from login_attempts where email in (
        select email from login_attempts
        where updated_at < now() - make_interval(hours => ${hours})
          and (locked_until is null or locked_until < now() - make_interval(hours => ${hours}))
        limit ${batch} for update skip locked)`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}
