// SQL of sign-ins that were begun at a provider. Times come from the database. Only hashes of state and cookie are in it.
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Db, Row, Tx } from '../../schema/database.ts';

type SignIn = Row<'provider_sign_ins'>;

/** How long a person may take at the provider. */
export const BEGUN_SECONDS = 10 * 60;
/** How long a person may take to do what a pending identity needs. */
export const PENDING_SECONDS = 30 * 60;
export const CODE_SECONDS = 15 * 60;
/** Tries of one code: of 10⁸ codes, so many can be guessed. */
const MAX_CODE_TRIES = 5;

/** The key of a state or of a cookie: its SHA-256. */
export const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();

export async function insertBegun(
  db: Db,
  begun: Pick<
    SignIn,
    'state_hash' | 'cookie_hash' | 'provider_id' | 'purpose' | 'user_id' | 'session_id' | 'begun_sealed'
  >,
): Promise<void> {
  await sql`
    insert into provider_sign_ins (state_hash, cookie_hash, provider_id, purpose, user_id, session_id, begun_sealed,
      created_at, expires_at)
    select ${begun.state_hash}, ${begun.cookie_hash}, ${begun.provider_id}::uuid, ${begun.purpose}, ${begun.user_id}::uuid,
      ${begun.session_id}::uuid, ${begun.begun_sealed}, moment, moment + make_interval(secs => ${BEGUN_SECONDS})
    from clock_timestamp() as moment`.execute(db);
}

/** Keeps what a provider posted, until the browser comes with its cookie. What came first counts. */
export async function keepPosted(
  db: Db,
  { stateHash, slug }: { stateHash: Buffer; slug: string },
  posted: Buffer,
): Promise<void> {
  await sql`
    update provider_sign_ins s set posted_sealed = ${posted}
    from identity_providers p
    where s.state_hash = ${stateHash} and p.id = s.provider_id and p.slug = ${slug}
      and s.posted_sealed is null and s.used_at is null and s.expires_at > clock_timestamp()`.execute(db);
}

export type Consumed = Pick<
  SignIn,
  'state_hash' | 'purpose' | 'user_id' | 'session_id' | 'begun_sealed' | 'posted_sealed'
>;

/**
 * Uses a state up and returns what was begun with it; undefined if it is unknown, used, too late, of another provider or of
 * another browser. Of parallel calls, on any instance, one gets it.
 */
export async function consumeState(
  db: Db,
  { stateHash, cookieHash, providerId }: { stateHash: Buffer; cookieHash: Buffer; providerId: string },
): Promise<Consumed | undefined> {
  const { rows } = await sql<Consumed>`
    update provider_sign_ins set used_at = clock_timestamp()
    where state_hash = ${stateHash} and cookie_hash = ${cookieHash} and provider_id = ${providerId}
      and used_at is null and expires_at > clock_timestamp()
    returning state_hash, purpose, user_id, session_id, begun_sealed, posted_sealed`.execute(db);
  return rows[0];
}

/** Keeps what the provider said while the person has to do something, for so many seconds. */
export async function keepResult(tx: Tx, stateHash: Buffer, result: Buffer, seconds: number): Promise<void> {
  await sql`
    update provider_sign_ins set result_sealed = ${result}, email = null, code_hash = null, code_expires_at = null,
      expires_at = clock_timestamp() + make_interval(secs => ${seconds})
    where state_hash = ${stateHash}`.execute(tx);
}

// A sign-in counts as long as its provider is active.
const isOpen = sql`s.result_sealed is not null and s.finished_at is null and s.expires_at > clock_timestamp() and exists (
  select from identity_providers p where p.id = s.provider_id and p.is_active)`;

export type PendingRow = Pick<SignIn, 'state_hash' | 'provider_id' | 'begun_sealed' | 'result_sealed'>;

/** Returns what waits in the browser with this cookie. */
export async function findPendingRow(db: Db, cookieHash: Buffer): Promise<PendingRow | undefined> {
  const { rows } = await sql<PendingRow>`
    select s.state_hash, s.provider_id, s.begun_sealed, s.result_sealed from provider_sign_ins s
    where s.cookie_hash = ${cookieHash} and ${isOpen}
    order by s.created_at desc limit 1`.execute(db);
  return rows[0];
}

/** Ends what waits. Returns whether it still waited: of parallel calls, one ends it. */
export async function finishPending(db: Db, stateHash: Buffer): Promise<boolean> {
  const { rows } = await sql`
    update provider_sign_ins s set finished_at = clock_timestamp(), result_sealed = null, code_hash = null
    where s.state_hash = ${stateHash} and ${isOpen} returning 1`.execute(db);
  return rows.length > 0;
}

/** Notes the address that a code is to be mailed to. A code for an earlier one ends. */
export async function noteEmail(tx: Tx, stateHash: Buffer, email: string): Promise<void> {
  await sql`
    update provider_sign_ins s set email = ${email}, code_hash = null, code_expires_at = null
    where s.state_hash = ${stateHash} and ${isOpen}`.execute(tx);
}

/** Returns the name of the provider of a sign-in that waits for a code to this address. */
export async function findAwaitingCode(
  db: Db,
  stateHash: Buffer,
  email: string,
): Promise<{ provider: string } | undefined> {
  const { rows } = await sql<{ provider: string }>`
    select (select p.name from identity_providers p where p.id = s.provider_id) as provider from provider_sign_ins s
    where s.state_hash = ${stateHash} and s.email = ${email} and ${isOpen}`.execute(db);
  return rows[0];
}

/** Keeps the newest code, with tries of its own. Returns whether the sign-in still waits for one to this address. */
export async function keepCode(
  db: Db,
  { stateHash, email }: { stateHash: Buffer; email: string },
  codeHash: Buffer,
): Promise<boolean> {
  const { rows } = await sql`
    update provider_sign_ins s set code_hash = ${codeHash}, code_tries = 0,
      code_expires_at = clock_timestamp() + make_interval(secs => ${CODE_SECONDS})
    where s.state_hash = ${stateHash} and s.email = ${email} and ${isOpen} returning 1`.execute(db);
  return rows.length > 0;
}

/** Counts a try before the code is compared. Undefined: there is no code, or it takes no more tries. */
export async function takeCodeTry(
  db: Db,
  stateHash: Buffer,
): Promise<Pick<SignIn, 'code_hash' | 'email'> | undefined> {
  const { rows } = await sql<Pick<SignIn, 'code_hash' | 'email'>>`
    update provider_sign_ins s set code_tries = s.code_tries + 1
    where s.state_hash = ${stateHash} and s.code_hash is not null and s.email is not null
      and s.code_expires_at > clock_timestamp() and s.code_tries < ${MAX_CODE_TRIES} and ${isOpen}
    returning s.code_hash, s.email`.execute(db);
  return rows[0];
}

/** Uses a code up, in the transaction of what it proves. Of parallel calls, one gets true. */
export async function consumeCode(tx: Tx, stateHash: Buffer, codeHash: Buffer): Promise<boolean> {
  const { rows } = await sql`
    update provider_sign_ins s set code_hash = null
    where s.state_hash = ${stateHash} and s.code_hash = ${codeHash} and ${isOpen} returning 1`.execute(tx);
  return rows.length > 0;
}

/** Rows that one statement removes at most. */
const BATCH = 2_000;

/** Removes sign-ins that have ended, for at most `budgetMs`. Returns their number; the next call continues. */
export async function removeEndedSignIns(db: Db, budgetMs: number): Promise<number> {
  const deadline = performance.now() + budgetMs;
  let total = 0;
  for (let deleted = BATCH; deleted === BATCH && performance.now() < deadline; total += deleted) {
    const result = await sql`
      delete from provider_sign_ins where ctid = any(array(
        select ctid from provider_sign_ins where expires_at < now()
        order by expires_at limit ${BATCH} for update skip locked))`.execute(db);
    deleted = Number(result.numAffectedRows);
  }
  return total;
}
