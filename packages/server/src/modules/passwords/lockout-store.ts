// SQL that ends a lock after failed logins. Counting and setting it is sign-in's business (auth/lockout-store.ts).
import { sql } from 'kysely';
import type { Db } from '../../database.ts';

/** Removes lock and counter. True when there was a lock. */
export async function clearAttempts(db: Db, email: string): Promise<boolean> {
  const { rows } = await sql<{ was_locked: boolean }>`
    delete from login_attempts where email = ${email} returning locked_until > clock_timestamp() as was_locked`.execute(
    db,
  );
  return rows[0]?.was_locked ?? false;
}
