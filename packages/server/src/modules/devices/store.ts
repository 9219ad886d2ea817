// SQL of devices: which are known, trusted and forgotten. Times come from the database.
// A transaction that adds or renews one must hold the lock of the user's row.
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';

/** Known devices of one account. One more ends the one that was not used for the longest time. */
const MAX_OF_ACCOUNT = 20;

export type DeviceUse = Pick<Row<'devices'>, 'token_hash' | 'network' | 'user_agent'> & {
  /** Null leaves the trust as it is. */
  trust: { epoch: number; days: number } | null;
};

/** Returns the account's device of one of these hashes, and whether the account has any known device. */
export async function findKnownDevice(
  tx: Tx,
  userId: string,
  hashes: readonly Buffer[],
  knownDays: number,
): Promise<{ id: string | null; token_hash: Buffer | null; has_known: boolean }> {
  const answer = await sql<{ id: string | null; token_hash: Buffer | null; has_known: boolean }>`
    select d.id, d.token_hash, exists (
      select from devices k
      where k.user_id = u.id and k.last_used_at > now() - make_interval(days => ${knownDays})) as has_known
    from (select ${userId}::uuid as id) u
    left join lateral (
      select k.id, k.token_hash from devices k
      where k.user_id = u.id and k.token_hash = any(${hashes}::bytea[])
        and k.last_used_at > now() - make_interval(days => ${knownDays})
      order by k.last_used_at desc limit 1) d on true`.execute(tx);
  return onlyRow(answer);
}

const trustedUntil = ({ trust }: DeviceUse) =>
  sql`case when ${trust !== null}::boolean then now() + make_interval(days => ${trust?.days ?? 0}) end`;

/** Adds a device, in the place of the oldest beyond the limit. */
export async function insertDevice(
  tx: Tx,
  { id, user_id }: Pick<Row<'devices'>, 'id' | 'user_id'>,
  use: DeviceUse,
): Promise<void> {
  await sql`
    with forgotten as (
      delete from devices where id in (
        select id from devices where user_id = ${user_id}
        order by last_used_at desc, id desc offset ${MAX_OF_ACCOUNT - 1}))
    insert into devices (id, user_id, token_hash, network, user_agent, trusted_until, trusted_epoch)
    values (${id}, ${user_id}, ${use.token_hash}, ${use.network}, ${use.user_agent}, ${trustedUntil(use)},
      ${use.trust?.epoch ?? null})`.execute(tx);
}

/** Notes another sign-in from the device. Its token may be a new one. */
export async function renewDevice(tx: Tx, id: string, use: DeviceUse): Promise<void> {
  await sql`
    update devices set token_hash = ${use.token_hash}, network = ${use.network}, user_agent = ${use.user_agent},
      last_used_at = now(), trusted_until = coalesce(${trustedUntil(use)}, trusted_until),
      trusted_epoch = coalesce(${use.trust?.epoch ?? null}, trusted_epoch)
    where id = ${id}`.execute(tx);
}

/** Whether the password alone is enough on the device `d` of the user `u`. The trigger of sessions judges alike. */
const isTrustedNow = 'd.trusted_until > now() and d.trusted_epoch = u.session_epoch';

/** Call it with the lock of the user's row. */
export async function isTrusted(tx: Tx, userId: string, deviceId: string): Promise<boolean> {
  const { rows } = await sql`
    select from devices d join users u on u.id = d.user_id
    where d.id = ${deviceId} and d.user_id = ${userId} and ${sql.raw(isTrustedNow)}`.execute(tx);
  return rows.length > 0;
}

export type ListedDevice = Pick<
  Row<'devices'>,
  'id' | 'user_agent' | 'network' | 'created_at' | 'last_used_at' | 'trusted_until'
> & {
  /** Whether the session began or was confirmed on this device. */
  current: boolean;
};

/** Returns the known devices of an account, the last used first. */
export async function listDevices(
  db: Db,
  userId: string,
  { sessionId, knownDays }: { sessionId: string; knownDays: number },
): Promise<ListedDevice[]> {
  const { rows } = await sql<ListedDevice>`
    select d.id, d.user_agent, d.network, d.created_at, d.last_used_at,
      case when ${sql.raw(isTrustedNow)} then d.trusted_until end as trusted_until,
      exists (select from sessions s where s.id = ${sessionId} and s.device_id = d.id) as current
    from devices d join users u on u.id = d.user_id
    where d.user_id = ${userId} and d.last_used_at > now() - make_interval(days => ${knownDays})
    order by d.last_used_at desc, d.id desc`.execute(db);
  return rows;
}

/** Returns how many devices of the account are trusted now. */
export async function countTrustedDevices(db: Db, userId: string): Promise<number> {
  const answer = await sql<{ count: number }>`
    select count(*)::integer as count from devices d join users u on u.id = d.user_id
    where d.user_id = ${userId} and ${sql.raw(isTrustedNow)}`.execute(db);
  return onlyRow(answer).count;
}

/** Forgets one device of the account, or all of them: their trust and their exemption end. Returns their number. */
export async function deleteDevices(tx: Tx, userId: string, deviceId: string | null): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from devices
    where user_id = ${userId} and (${deviceId}::uuid is null or id = ${deviceId}::uuid)`.execute(tx);
  return Number(numAffectedRows);
}

/** Deletes devices that nobody signed in from for so many days, in batches. Returns their number. */
export async function deleteIdleDevices(db: Db, days: number): Promise<number> {
  const batch = 2_000;
  let total = 0;
  for (let deleted = batch; deleted === batch; total += deleted) {
    const result = await sql`
      delete from devices where id = any(array(
        select id from devices where last_used_at < now() - make_interval(days => ${days})
        order by last_used_at limit ${batch} for update skip locked))`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}
