// Brings the database to the state that the service needs: server version, schema, seed, signing key.
// Any number of instances may start at once: one works under an advisory lock, the others find it done.
import type { Pool } from 'pg';
import type { Database } from './database.ts';
import { hasAnyUser, makePassword, seed } from './modules/seed/service.ts';
import { migrate } from './platform/db/migrate.ts';
import { createKysely } from './platform/db/pool.ts';
import { inTransaction } from './platform/db/transaction.ts';
import type { PasswordHasher } from './platform/security/password-hasher.ts';
import type { Settings } from './settings.ts';

/** Trying again cannot help: a person has to act on the message. */
export class UnfitDatabaseError extends Error {
  override name = 'UnfitDatabaseError';
}

/** Oldest PostgreSQL that the suite runs on. */
const OLDEST_SERVER = 15;
// Any number that no other software on the same database is likely to take: "cast" in ASCII.
const START_LOCK = 0x63617374;

export type Prepared = {
  migrations: string[];
  /** Set when the first superuser was made now with a password of our own. */
  madePassword: string | null;
  madeSuperuser: boolean;
};

/** `pool`: without statement time-outs, at least three connections. */
export async function prepareDatabase(
  pool: Pool,
  hasher: PasswordHasher,
  secretKey: Buffer,
  settings: Pick<Settings, 'firstSuperuserEmail' | 'firstSuperuserPassword'>,
): Promise<Prepared> {
  const lock = await pool.connect();
  try {
    const { rows } = await lock.query('show server_version_num');
    const major = Math.floor(Number(rows[0].server_version_num) / 10_000);
    if (major < OLDEST_SERVER)
      throw new UnfitDatabaseError(
        `PostgreSQL ${major} is too old. Point DATABASE_URL to PostgreSQL ${OLDEST_SERVER} or later.`,
      );
    await lock.query('select pg_advisory_lock($1)', [START_LOCK]);
    const db = createKysely<Database>(pool);
    const migrations = await migrate(createKysely<unknown>(pool));
    const isEmpty = !(await hasAnyUser(db));
    const password = settings.firstSuperuserPassword ?? makePassword();
    const superuser = isEmpty
      ? { email: settings.firstSuperuserEmail, passwordHash: await hasher.hash(password) }
      : null;
    const madeSuperuser = await inTransaction(db, (tx) => seed(tx, secretKey, superuser));
    const isOurs = madeSuperuser && settings.firstSuperuserPassword === undefined;
    return { migrations, madeSuperuser, madePassword: isOurs ? password : null };
  } finally {
    // Ending the connection ends its lock, whatever state it is in.
    lock.release(true);
  }
}
