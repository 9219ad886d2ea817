// SQL of login_attempts.
// Each statement is atomic under the row's lock, so parallel attempts count exactly. The row of a device is locked first.
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { type CredentialHolder, credentialColumns } from '../../schema/credential-holder.ts';
import type { Db } from '../../schema/database.ts';

// The slot of a crashed process becomes free after this time, which is longer than the longest wait for hashing.
const SLOT_LEASE_SECONDS = 30;
// A longer lease was created while the database's clock was ahead. Twice the lease tolerates small clock steps.
const LONGEST_LEASE_SECONDS = 2 * SLOT_LEASE_SECONDS;

/** The account of an attempt, and which of its known devices the attempt comes from. */
export type AttemptHolder = CredentialHolder & { device_id: string | null };

/** `devices`: what the attempt presents; `areCounted`: whether the device of the account runs the attempt too. */
export type Opening = {
  slot: string;
  maxAttempts: number;
  devices: { hashes: readonly Buffer[]; knownDays: number; areCounted: boolean };
};

/**
 * Takes a slot if the email is not locked and failures and running attempts together leave one. Returns whether it did, and
 * the account with this email, in one commit.
 */
export async function takeSlot(
  db: Db,
  email: string,
  { slot, maxAttempts, devices }: Opening,
): Promise<{ taken: boolean; holder: AttemptHolder | null }> {
  const lease = sql`jsonb_build_object(${slot}::text, extract(epoch from clock_timestamp()) + ${SLOT_LEASE_SECONDS})`;
  const running = sql`coalesce((
    select jsonb_object_agg(key, value) from jsonb_each(a.slots)
    where value::numeric - extract(epoch from clock_timestamp()) between 0 and ${LONGEST_LEASE_SECONDS}), '{}'::jsonb)`;
  const answer = await sql<{ taken: boolean; holder: AttemptHolder | null }>`
    with holder as materialized (
      select ${sql.raw(credentialColumns)}, (
        select d.id from devices d
        where d.user_id = users.id and d.token_hash = any(${devices.hashes}::bytea[])
          and d.last_used_at > now() - make_interval(days => ${devices.knownDays})
        order by d.last_used_at desc limit 1) as device_id
      from users where email = ${email}
    ), counted as materialized (
      select d.id from devices d join holder h on d.id = h.device_id
      where ${devices.areCounted}::boolean for no key update of d
    ), taken as (
      insert into login_attempts as a (email, slots)
      select ${email}, ${lease} from (select count(*) from counted) locked
      on conflict (email) do update set slots = ${running} || ${lease}, updated_at = now()
      where a.locked_until is null
        and a.failures + (select count(*) from jsonb_object_keys(${running})) < ${maxAttempts}
      returning a.email
    ), noted as (
      update devices d set slots = d.slots || ${lease} from counted c
      where d.id = c.id and exists (select from taken)
    )
    select exists (select from taken) as taken, (select row_to_json(h) from holder h) as holder`.execute(db);
  return onlyRow(answer);
}

/**
 * Returns the remaining seconds of the lock: 0 or less if it has expired, null if there is none. Shortens a lock to
 * `lockSeconds` if it would last longer because the clock was ahead.
 */
export async function findLock(db: Db, email: string, lockSeconds: number): Promise<number | null> {
  const longest = sql`clock_timestamp() + make_interval(secs => ${lockSeconds})`;
  const { rows } = await sql<{ seconds: number }>`
    with shortened as (
      update login_attempts set locked_until = ${longest} where email = ${email} and locked_until > ${longest}
    )
    select extract(epoch from least(locked_until, ${longest}) - clock_timestamp())::float8 as seconds
    from login_attempts where email = ${email} and locked_until is not null`.execute(db);
  return rows[0]?.seconds ?? null;
}

/** Removes an expired lock. Returns the account's id, null if there is none; undefined if another caller removed it. */
export async function removePassedLock(
  db: Db,
  email: string,
): Promise<{ userId: string | null } | undefined> {
  const { rows } = await sql<{ user_id: string | null }>`
    update login_attempts a set locked_until = null, failures = 0, updated_at = now()
    where email = ${email} and locked_until <= clock_timestamp()
    returning (select u.id from users u where u.email = a.email) as user_id`.execute(db);
  return rows[0] && { userId: rows[0].user_id };
}

/** Frees the slot and counts one failure. Returns whether this failure set the lock. */
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

/**
 * Locks an email whose failures exceed the limit, which happens after the limit was lowered. Returns whether it did.
 */
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

/** Frees the slot and resets the failures. */
export async function settleSuccess(db: Db, email: string, slot: string): Promise<void> {
  await sql`
    update login_attempts set slots = slots - ${slot}::text, failures = 0, updated_at = now()
    where email = ${email} and locked_until is null`.execute(db);
}

/** Frees the slot without counting the attempt. */
export async function releaseSlot(db: Db, email: string, slot: string): Promise<void> {
  await sql`update login_attempts set slots = slots - ${slot}::text where email = ${email}`.execute(db);
}

/** Removes an active lock and its counter. Returns whether there was one. Keeps failures if there is no lock. */
export async function endLock(db: Db, email: string): Promise<boolean> {
  const result = await sql`
    delete from login_attempts where email = ${email} and locked_until > clock_timestamp()`.execute(db);
  return result.numAffectedRows === 1n;
}

/** Removes the lock and the counter. Returns whether there was a lock. */
export async function clearAttempts(db: Db, email: string): Promise<boolean> {
  const { rows } = await sql<{ was_locked: boolean }>`
    delete from login_attempts where email = ${email} returning locked_until > clock_timestamp() as was_locked`.execute(
    db,
  );
  return rows[0]?.was_locked ?? false;
}

/** Deletes counters that did not change for `hours`, in batches. Returns their number. */
export async function deleteIdleAttempts(db: Db, hours: number): Promise<number> {
  const batch = 2_000;
  let total = 0;
  for (let deleted = batch; deleted === batch; total += deleted) {
    const result = await sql`
      delete from login_attempts where email = any(array(
        select email from login_attempts
        where updated_at < now() - make_interval(hours => ${hours})
          and (locked_until is null or locked_until < now() - make_interval(hours => ${hours}))
        order by updated_at limit ${batch} for update skip locked))`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}
