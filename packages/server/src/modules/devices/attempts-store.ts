// SQL of the failures of known devices: passwords, with slots as in login_attempts, and codes of an app.
// A transaction that also changes login_attempts must change the device first: the order of their locks.
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import type { Db, Tx } from '../../schema/database.ts';

type Limits = { maxAttempts: number; lockSeconds: number };

// As in login_attempts: a slot of a crashed process becomes free, and one that was made while the clock was ahead.
const SLOT_LEASE_SECONDS = 30;
const LONGEST_LEASE_SECONDS = 2 * SLOT_LEASE_SECONDS;

const leaseOf = (slot: string) =>
  sql`jsonb_build_object(${slot}::text, extract(epoch from clock_timestamp()) + ${SLOT_LEASE_SECONDS})`;
const running = sql`coalesce((
  select jsonb_object_agg(key, value) from jsonb_each(d.slots)
  where value::numeric - extract(epoch from clock_timestamp()) between 0 and ${LONGEST_LEASE_SECONDS}), '{}'::jsonb)`;

// A closure that has passed leaves no failure.
const failures = sql`case when d.locked_until <= clock_timestamp() then 0 else d.failures end`;

/**
 * Takes a slot of the device if its failures and running attempts together leave one. `closed`: its failures alone leave none,
 * or it is gone.
 */
export async function takeDeviceSlot(
  db: Db,
  deviceId: string,
  slot: string,
  maxAttempts: number,
): Promise<'taken' | 'closed' | 'busy'> {
  const answer = await sql<{ taken: boolean; is_open: boolean }>`
    with taken as (
      update devices d set slots = ${running} || ${leaseOf(slot)}, failures = ${failures}, locked_until = null
      where d.id = ${deviceId} and (d.locked_until is null or d.locked_until <= clock_timestamp())
        and ${failures} + (select count(*) from jsonb_object_keys(${running})) < ${maxAttempts}
      returning d.id
    )
    select exists (select from taken) as taken, exists (
      select from devices d where d.id = ${deviceId} and ${failures} < ${maxAttempts}
        and (d.locked_until is null or d.locked_until <= clock_timestamp())) as is_open`.execute(db);
  const { taken, is_open } = onlyRow(answer);
  if (taken) return 'taken';
  return is_open ? 'busy' : 'closed';
}

/** Frees the slot and counts one failure. The last one closes the exemption. */
export async function settleDeviceFailure(
  tx: Tx,
  deviceId: string,
  slot: string,
  limits: Limits,
): Promise<void> {
  await sql`
    update devices d set slots = d.slots - ${slot}::text, failures = ${failures} + 1,
      locked_until = case
        when d.locked_until > clock_timestamp() then d.locked_until
        when ${failures} + 1 >= ${limits.maxAttempts}
          then clock_timestamp() + make_interval(secs => ${limits.lockSeconds}) end
    where d.id = ${deviceId}`.execute(tx);
}

/** Frees the slot and resets the failures. */
export async function settleDeviceSuccess(db: Db, deviceId: string, slot: string): Promise<void> {
  await sql`
    update devices set slots = slots - ${slot}::text, failures = 0, locked_until = null
    where id = ${deviceId}`.execute(db);
}

/** Frees the slot without counting the attempt. */
export async function releaseDeviceSlot(db: Db, deviceId: string, slot: string): Promise<void> {
  await sql`update devices set slots = slots - ${slot}::text where id = ${deviceId}`.execute(db);
}

/** Returns whether codes from this device of the account are verified while its app is closed to others. */
export async function isOpenForCodes(
  db: Db,
  { userId, deviceId }: { userId: string; deviceId: string },
  maxAttempts: number,
): Promise<boolean> {
  const { rows } = await sql`
    select from devices where id = ${deviceId} and user_id = ${userId}
      and (code_locked_until <= clock_timestamp() or (code_locked_until is null and code_failures < ${maxAttempts}))`.execute(
    db,
  );
  return rows.length > 0;
}

/** Counts a wrong code. The last one closes the exemption. It must run under the lock of the user's row. */
export async function countDeviceCodeFailure(tx: Tx, deviceId: string, limits: Limits): Promise<void> {
  await sql`
    update devices d set code_failures = counted.failures,
      code_locked_until = case
        when d.code_locked_until > clock_timestamp() then d.code_locked_until
        when counted.failures >= ${limits.maxAttempts}
          then clock_timestamp() + make_interval(secs => ${limits.lockSeconds}) end
    from (
      select id, case when code_locked_until <= clock_timestamp() then 1 else code_failures + 1 end as failures
      from devices where id = ${deviceId}) counted
    where d.id = counted.id`.execute(tx);
}
