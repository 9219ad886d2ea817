// SQL of authenticator apps and recovery codes. Times come from the database.
// It must run under the lock of the user's row where it takes a `Tx`, so that no code counts twice.
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';

type Totp = Row<'totp_factors'>;

/** The factors of an account, as far as its owner may see them. */
export type FactorFacts = {
  totp_created_at: Date | null;
  totp_last_used_at: Date | null;
  totp_suspended_at: Date | null;
  /** When the app opens again after too many wrong codes; null if it is open. */
  codes_locked_until: Date | null;
  codes_left: number;
  /** When the recovery codes were made; null if there are none, used or unused. */
  codes_created_at: Date | null;
  recovery_pending: boolean;
};

/** Returns undefined if there is no such user. */
export async function findFactorFacts(db: Db, userId: string): Promise<FactorFacts | undefined> {
  const { rows } = await sql<FactorFacts>`
    select t.created_at as totp_created_at, t.last_used_at as totp_last_used_at, t.suspended_at as totp_suspended_at,
      case when a.locked_until > now() then a.locked_until end as codes_locked_until,
      c.codes_left, c.codes_created_at, u.recovery_pending
    from users u
    left join totp_factors t on t.user_id = u.id
    left join factor_attempts a on a.user_id = u.id
    cross join lateral (
      select (count(*) filter (where r.used_at is null))::integer as codes_left, max(r.created_at) as codes_created_at
      from recovery_codes r where r.user_id = u.id) c
    where u.id = ${userId}`.execute(db);
  return rows[0];
}

/** What decides about a code of the app. */
export type CodeState = {
  /** Null if the account has no app that works. */
  secret_sealed: Buffer | null;
  last_step: string | null;
  /** Seconds until the app opens again; null if it is open. */
  locked_seconds: number | null;
  /** The database's time. */
  now: Date;
};

export async function readCodeState(tx: Tx, userId: string): Promise<CodeState> {
  const answer = await sql<CodeState>`
    select case when t.suspended_at is null then t.secret_sealed end as secret_sealed, t.last_step,
      case when a.locked_until > clock_timestamp()
        then extract(epoch from a.locked_until - clock_timestamp())::float8 end as locked_seconds,
      clock_timestamp() as now
    from (select ${userId}::uuid as id) u
    left join totp_factors t on t.user_id = u.id
    left join factor_attempts a on a.user_id = u.id`.execute(tx);
  return onlyRow(answer);
}

/** Uses up the time step of an accepted code. Returns whether no code of it, or of a later one, was accepted before. */
export async function useTotpStep(tx: Tx, userId: string, step: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update totp_factors set last_step = ${step}, last_used_at = now()
    where user_id = ${userId} and last_step < ${step} and suspended_at is null`.execute(tx);
  return numAffectedRows === 1n;
}

/** Returns whether there was an app that worked. */
export async function suspendTotp(tx: Tx, userId: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update totp_factors set suspended_at = now() where user_id = ${userId} and suspended_at is null`.execute(
    tx,
  );
  return numAffectedRows === 1n;
}

/** Returns the hash of an unused recovery code. */
export async function findRecoveryHash(
  db: Db,
  userId: string,
  selector: string,
): Promise<string | undefined> {
  const { rows } = await sql<{ code_hash: string }>`
    select code_hash from recovery_codes
    where user_id = ${userId} and selector = ${selector} and used_at is null`.execute(db);
  return rows[0]?.code_hash;
}

/** Uses up the recovery code. Returns how many are left; undefined if it has been used or replaced. */
export async function useRecoveryCode(
  tx: Tx,
  userId: string,
  { selector, code_hash }: Pick<Row<'recovery_codes'>, 'selector' | 'code_hash'>,
): Promise<number | undefined> {
  const { rows } = await sql<{ left: number }>`
    with used as (
      update recovery_codes set used_at = now()
      where user_id = ${userId} and selector = ${selector} and code_hash = ${code_hash} and used_at is null
      returning user_id)
    select count(*)::integer - 1 as left from recovery_codes r join used on r.user_id = used.user_id
    where r.used_at is null having count(*) > 0`.execute(tx);
  return rows[0]?.left;
}

/** Replaces the recovery codes of the account. */
export async function replaceRecoveryCodes(
  tx: Tx,
  userId: string,
  codes: readonly Pick<Row<'recovery_codes'>, 'selector' | 'code_hash'>[],
): Promise<void> {
  await deleteRecoveryCodes(tx, userId);
  await tx
    .insertInto('recovery_codes')
    .values(codes.map((code) => ({ ...code, user_id: userId })))
    .execute();
}

export async function deleteRecoveryCodes(tx: Tx, userId: string): Promise<void> {
  await sql`delete from recovery_codes where user_id = ${userId}`.execute(tx);
}

/** SQL: whether the user with this id has a factor, from the tables of the factors. */
export const hasFactorOf = (userId: string) => sql<boolean>`
  (exists (select from totp_factors where user_id = ${userId}) or exists (select from passkeys where user_id = ${userId}))`;

/** SQL: whether anybody has a factor. */
export const areFactorsInUse = sql<boolean>`
  (exists (select from totp_factors) or exists (select from passkeys))`;

/** Returns whether the account has a factor. */
export async function hasFactor(db: Db, userId: string): Promise<boolean> {
  const answer = await sql<{ has: boolean }>`select ${hasFactorOf(userId)} as has`.execute(db);
  return onlyRow(answer).has;
}

const ENROLMENT_MINUTES = 10;

/** Begins to set up an app in a session; one that was begun before, in whatever session, ends. Returns until when. */
export async function beginEnrolment(
  tx: Tx,
  {
    user_id,
    session_id,
    secret_sealed,
  }: Pick<Row<'totp_enrolments'>, 'user_id' | 'session_id' | 'secret_sealed'>,
): Promise<Date> {
  const answer = await sql<{ expires_at: Date }>`
    insert into totp_enrolments (user_id, session_id, secret_sealed, expires_at)
    values (${user_id}, ${session_id}, ${secret_sealed}, now() + make_interval(mins => ${ENROLMENT_MINUTES}))
    on conflict (user_id) do update set session_id = excluded.session_id, secret_sealed = excluded.secret_sealed,
      failures = 0, expires_at = excluded.expires_at
    returning expires_at`.execute(tx);
  return onlyRow(answer).expires_at;
}

/** Returns the enrolment that this session began, and the database's time; undefined if it is over. */
export async function readEnrolment(
  tx: Tx,
  userId: string,
  sessionId: string,
): Promise<{ secret_sealed: Buffer; failures: number; now: Date } | undefined> {
  const { rows } = await sql<{ secret_sealed: Buffer; failures: number; now: Date }>`
    select secret_sealed, failures, clock_timestamp() as now from totp_enrolments
    where user_id = ${userId} and session_id = ${sessionId} and expires_at > clock_timestamp()`.execute(tx);
  return rows[0];
}

export async function countEnrolmentFailure(tx: Tx, userId: string): Promise<void> {
  await sql`update totp_enrolments set failures = failures + 1 where user_id = ${userId}`.execute(tx);
}

export async function endEnrolment(tx: Tx, userId: string): Promise<void> {
  await sql`delete from totp_enrolments where user_id = ${userId}`.execute(tx);
}

/** Makes the app the account's, and returns whether in the place of an earlier one. `step` is used up. */
export async function saveTotp(
  tx: Tx,
  { user_id, secret_sealed, step }: Pick<Totp, 'user_id' | 'secret_sealed'> & { step: number },
): Promise<boolean> {
  const answer = await sql<{ replaced: boolean }>`
    with former as (select user_id from totp_factors where user_id = ${user_id})
    insert into totp_factors (user_id, secret_sealed, last_step) values (${user_id}, ${secret_sealed}, ${step})
    on conflict (user_id) do update set secret_sealed = excluded.secret_sealed, last_step = excluded.last_step,
      created_at = now(), last_used_at = null, suspended_at = null
    returning exists (select from former) as replaced`.execute(tx);
  return onlyRow(answer).replaced;
}

/** Returns whether there was an app. */
export async function deleteTotp(tx: Tx, userId: string): Promise<boolean> {
  const { numAffectedRows } = await sql`delete from totp_factors where user_id = ${userId}`.execute(tx);
  return numAffectedRows === 1n;
}

/** Deletes enrolments and used challenges that are over, in batches. Returns their number. */
export async function deleteExpiredProofs(db: Db): Promise<number> {
  const batch = 2_000;
  let total = 0;
  for (let deleted = batch; deleted >= batch; total += deleted) {
    const enrolments = await sql`
      delete from totp_enrolments where user_id = any(array(
        select user_id from totp_enrolments where expires_at < now()
        order by expires_at limit ${batch} for update skip locked))`.execute(db);
    const challenges = await sql`
      delete from used_challenges where challenge_hash = any(array(
        select challenge_hash from used_challenges where expires_at < now()
        order by expires_at limit ${batch} for update skip locked))`.execute(db);
    deleted = Number((enrolments.numAffectedRows ?? 0n) + (challenges.numAffectedRows ?? 0n));
  }
  return total;
}
