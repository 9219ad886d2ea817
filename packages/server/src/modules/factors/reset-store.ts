// SQL with which an administrator resets the factors of an account, and that ends with the reset.
// It must run under the lock of the user's row.
import { sql } from 'kysely';
import type { Db, Tx } from '../../schema/database.ts';

export type Removed = { totp: boolean; passkeys: number; recovery_codes: number };

/**
 * Removes every factor of the account, with its recovery codes, what is being set up, the counted failures, and the sign-ins
 * that wait for a factor. Returns what it removed.
 */
export async function deleteAllFactors(tx: Tx, userId: string): Promise<Removed> {
  const { numAffectedRows: apps } = await sql`
    delete from totp_factors where user_id = ${userId}`.execute(tx);
  const { numAffectedRows: passkeys } = await sql`
    delete from passkeys where user_id = ${userId}`.execute(tx);
  const { numAffectedRows: codes } = await sql`
    delete from recovery_codes where user_id = ${userId}`.execute(tx);
  await sql`delete from totp_enrolments where user_id = ${userId}`.execute(tx);
  await sql`delete from factor_attempts where user_id = ${userId}`.execute(tx);
  await sql`delete from pending_sign_ins where user_id = ${userId}`.execute(tx);
  return { totp: apps === 1n, passkeys: Number(passkeys ?? 0), recovery_codes: Number(codes ?? 0) };
}

/** Returns whether the password alone does not sign in, because the factors were reset. */
export async function isRecoveryPending(db: Db, userId: string): Promise<boolean> {
  const { rows } = await sql`select from users where id = ${userId} and recovery_pending`.execute(db);
  return rows.length > 0;
}

/** From now on the next sign-in takes the recovery link. `isHandedOver`: no mail may bring one. */
export async function beginRecovery(
  tx: Tx,
  userId: string,
  { isHandedOver }: { isHandedOver: boolean },
): Promise<void> {
  await sql`
    update users set recovery_pending = true, recovery_handed_over = ${isHandedOver} where id = ${userId}`.execute(
    tx,
  );
}

export async function endRecovery(tx: Tx, userId: string): Promise<void> {
  await sql`
    update users set recovery_pending = false, recovery_handed_over = false where id = ${userId}`.execute(tx);
}

/**
 * Opens an app that wrong codes closed. Returns whether it was closed. The count towards the suspension stays, and so does a
 * suspension.
 */
export async function openClosedApp(tx: Tx, userId: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update factor_attempts set locked_until = null
    where user_id = ${userId} and locked_until > clock_timestamp()`.execute(tx);
  return numAffectedRows === 1n;
}
