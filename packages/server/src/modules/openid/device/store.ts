// SQL of sign-ins on devices. Times come from the database.
import { type RawBuilder, sql } from 'kysely';
import { lockUntilCommit } from '../../../platform/db/sql.ts';
import type { Db, Row, Tx } from '../../../schema/database.ts';
import type { Target } from '../authorize/request.ts';

export type NewDeviceRequest = Pick<
  Row<'device_requests'>,
  'code_hash' | 'user_code' | 'application_id' | 'scopes' | 'address' | 'user_agent'
> & { resources: readonly Target[] };

/** SQL condition: nobody has allowed or denied the request. */
const isPending = 'd.grant_id is null and d.denied_at is null';
const isWaiting = sql.raw(`${isPending} and d.expires_at > clock_timestamp()`);

/**
 * Keeps a request. Returns `full` if as many wait at the application, and `taken` if another one has the user code. Parallel requests
 * of one application are counted one after the other.
 */
export async function insertDeviceRequest(
  tx: Tx,
  request: NewDeviceRequest,
  { lifetimeSeconds, maxWaiting }: { lifetimeSeconds: number; maxWaiting: number },
): Promise<'kept' | 'taken' | 'full'> {
  await lockUntilCommit(`device requests ${request.application_id}`).execute(tx);
  const { rows } = await sql<{ is_free: boolean; is_kept: boolean }>`
    with room as (
      select count(*) < ${maxWaiting} as is_free from device_requests d
      where d.application_id = ${request.application_id} and ${isWaiting}
    ), kept as (
      insert into device_requests (code_hash, user_code, application_id, scopes, resources, address, user_agent, created_at, expires_at)
      select ${request.code_hash}::bytea, ${request.user_code}::text, ${request.application_id}::uuid, ${request.scopes}::text[],
        ${JSON.stringify(request.resources)}::jsonb, ${request.address}::text, ${request.user_agent}::text, moment,
        moment + make_interval(secs => ${lifetimeSeconds})
      from clock_timestamp() as moment, room where room.is_free
      on conflict do nothing returning 1
    )
    select is_free, exists (select from kept) as is_kept from room`.execute(tx);
  const [row] = rows;
  return row?.is_kept ? 'kept' : row?.is_free ? 'taken' : 'full';
}

/**
 * Gives the request that waits with this user code to the page of a person; the person before has it no more. Returns whether there
 * is one, at an application that is still open to devices.
 */
export async function takeDeviceRequest(
  db: Db,
  userCode: string,
  page: { interaction_hash: Buffer; user_id: string },
): Promise<boolean> {
  const { rows } = await sql`
    update device_requests d set interaction_hash = ${page.interaction_hash}, user_id = ${page.user_id}
    from applications a
    where d.user_code = ${userCode} and ${isWaiting}
      and a.id = d.application_id and a.is_active and 'device_code' = any(a.grant_types)
    returning 1`.execute(db);
  return rows.length > 0;
}

/** What a person is told of a request, and what it asks for. `user_id`: who may see it. */
export type WaitingDevice = Pick<
  Row<'device_requests'>,
  'user_code' | 'scopes' | 'address' | 'user_agent' | 'user_id' | 'created_at' | 'expires_at'
> & { client_id: string; resources: Target[] };

const ofPage = (interactionHash: Buffer): RawBuilder<unknown> =>
  sql`d.interaction_hash = ${interactionHash} and ${isWaiting}`;

export async function findDeviceRequest(db: Db, interactionHash: Buffer): Promise<WaitingDevice | undefined> {
  const { rows } = await sql<WaitingDevice>`
    select d.user_code, d.scopes, d.resources, d.address, d.user_agent, d.user_id, d.created_at, d.expires_at, a.client_id
    from device_requests d join applications a on a.id = d.application_id
    where ${ofPage(interactionHash)}`.execute(db);
  return rows[0];
}

/** Whose page it is: another person's answers nothing. */
export type DevicePage = { interactionHash: Buffer; userId: string };

/** Returns whether the request was still waiting: of parallel answers, on any instance, one counts. */
export async function denyDeviceRequest(db: Db, { interactionHash, userId }: DevicePage): Promise<boolean> {
  const { rows } = await sql`
    update device_requests d set denied_at = clock_timestamp()
    where ${ofPage(interactionHash)} and d.user_id = ${userId} returning 1`.execute(db);
  return rows.length > 0;
}

/** As `denyDeviceRequest`. `grantId`: of the grant that the same transaction adds. */
export async function allowDeviceRequest(
  tx: Tx,
  { interactionHash, userId }: DevicePage,
  grantId: string,
): Promise<boolean> {
  const { rows } = await sql`
    update device_requests d set grant_id = ${grantId}
    where ${ofPage(interactionHash)} and d.user_id = ${userId} returning 1`.execute(tx);
  return rows.length > 0;
}

/** `is_early`: the device asked again before its interval was over. */
export type AskedDevice = Pick<Row<'device_requests'>, 'application_id' | 'grant_id'> & {
  is_denied: boolean;
  is_expired: boolean;
  is_early: boolean;
};

/** Locks the request of a device code until the transaction ends. */
export async function lockDeviceRequest(tx: Tx, codeHash: Buffer): Promise<AskedDevice | undefined> {
  const { rows } = await sql<AskedDevice>`
    select d.application_id, d.grant_id, d.denied_at is not null as is_denied, d.expires_at <= clock_timestamp() as is_expired,
      coalesce(d.polled_at > clock_timestamp() - make_interval(secs => d.interval_seconds), false) as is_early
    from device_requests d where d.code_hash = ${codeHash} for no key update`.execute(tx);
  return rows[0];
}

/** Notes that the device asked. `moreSeconds`: by how much its interval grows. */
export async function notePoll(tx: Tx, codeHash: Buffer, moreSeconds: number): Promise<void> {
  await sql`
    update device_requests set polled_at = clock_timestamp(), interval_seconds = interval_seconds + ${moreSeconds}::integer
    where code_hash = ${codeHash}`.execute(tx);
}

/** Rows that one statement removes at most. */
const BATCH = 2_000;
/** Rows stay so long after their end, so that a device learns why it gets no tokens. */
const KEPT_MINUTES = 60;

/** Removes requests that ended, for at most `budgetMs`. Returns their number; the next call continues. */
export async function removeEndedDeviceRequests(db: Db, budgetMs: number): Promise<number> {
  const deadline = performance.now() + budgetMs;
  let total = 0;
  for (let deleted = BATCH; deleted === BATCH && performance.now() < deadline; total += deleted) {
    const result = await sql`
      delete from device_requests where ctid = any(array(
        select ctid from device_requests where expires_at < now() - make_interval(mins => ${KEPT_MINUTES})
        order by expires_at limit ${BATCH} for update skip locked))`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}
