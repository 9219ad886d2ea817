// Prepares the database for the service: server version, schema, seed, signing key.
// Several instances may start at once: one prepares under the start lock, the others find the work done.
import { sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { hasAnyUser, makePassword, seed } from '../../modules/seed/service.ts';
import {
  compareHistory,
  type MigrationFile,
  migrate,
  readMigrations,
  type SchemaHistory,
} from '../../platform/db/migrate.ts';
import { createKysely } from '../../platform/db/pool.ts';
import { onlyRow } from '../../platform/db/sql.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Logger } from '../../platform/logging/log.ts';
import type { PasswordHasher } from '../../platform/security/password-hasher.ts';
import { openPrivateKey } from '../../platform/security/signing-keys.ts';
import type { Db, Row } from '../../schema/database.ts';
import type { Tables } from '../../schema/tables.ts';
import type { Settings } from '../../settings.ts';
import { blockerOf, releaseStartLock, takeStartLock } from '../lock.ts';
import { UnfitDatabaseError } from './unfit-database.ts';

/** Oldest supported PostgreSQL; the tests run on it. */
const OLDEST_SERVER = 15;
const BLOCKER_CHECK_MS = 1_000;

export type Prepared = {
  migrations: string[];
  /** The generated password, if the first superuser was created now and no password was configured. */
  madePassword: string | null;
  madeSuperuser: boolean;
};

export type PrepareOptions = {
  hasher: PasswordHasher;
  secretKey: Buffer;
  settings: Pick<Settings, 'firstSuperuserEmail' | 'firstSuperuserPassword'>;
  log: Logger;
  /** Skip the check that SECRET_KEY decrypts the signing keys: for replacing the keys. Default: false. */
  anySecretKey?: boolean;
  /** Whether the breach file has a password. Default: there is none. */
  isBreached?: (password: string) => Promise<boolean>;
  /** Receives what a start waits for, in sentences for the operator. */
  tell: (text: string) => void;
  signal?: AbortSignal;
};

/**
 * Prepares the database. `pool`: without statement timeouts, at least three connections. While a migration waits for a
 * table lock, it blocks every other use of the table, so the lock timeout ends the attempt (SQLSTATE 55P03), to be
 * retried. Nothing is changed unless everything succeeds: the keys are decrypted first, and migrations and seed are one
 * transaction. Throws UnfitDatabaseError if a retry cannot help.
 */
export async function prepareDatabase(pool: Pool, options: PrepareOptions): Promise<Prepared> {
  const lock = await pool.connect();
  try {
    await requireServerVersion(lock);
    await takeStartLock(lock, options.tell, options.signal ? { signal: options.signal } : {});
    const db = createKysely<Tables>(pool);
    const files = await readMigrations();
    const { unrecorded, isCurrent, isNew } = await db.connection().execute((connection) =>
      reportingBlockers(lock, connection, options.tell, async () => {
        const { unrecorded, missing, unknown } = await requireKnownSchema(connection, files);
        if (unknown.length > 0)
          options.log.warn(
            { migrations: unknown },
            'a newer version has migrated this database; its migrations only added to the schema, so this version runs on it',
          );
        if (!options.anySecretKey) await requireReadableKeys(connection, options.secretKey);
        const isCurrent = unrecorded.length + missing.length === 0;
        return { unrecorded, isCurrent, isNew: await isEmpty(connection) };
      }),
    );
    const { firstSuperuserEmail, firstSuperuserPassword } = options.settings;
    const password = firstSuperuserPassword ?? makePassword();
    if (isNew && (await options.isBreached?.(password)))
      throw new UnfitDatabaseError(
        'FIRST_SUPERUSER_PASSWORD is in PASSWORD_BREACH_FILE. Set another one, or remove the setting to have one generated.',
      );
    const superuser = isNew
      ? { email: firstSuperuserEmail, passwordHash: await options.hasher.hash(password) }
      : null;
    const { migrations, madeSuperuser } = await inTransaction(db, (tx) =>
      reportingBlockers(lock, tx, options.tell, async () => {
        // A limit that is set for the database user would end a long migration.
        if (!isCurrent) await sql`set local statement_timeout = 0`.execute(tx);
        const migrations = isCurrent ? [] : await migrate(tx, files, unrecorded);
        return { migrations, madeSuperuser: await seed(tx, options.log, options.secretKey, superuser) };
      }),
    );
    if (unrecorded.length > 0)
      options.log.info(
        { migrations: unrecorded.map((file) => file.name) },
        'recorded the checksums of migrations that ran before checksums were recorded',
      );
    await releaseStartLock(lock);
    const isOurs = madeSuperuser && firstSuperuserPassword === undefined;
    return { migrations, madeSuperuser, madePassword: isOurs ? password : null };
  } finally {
    // After a failure, closing the connection releases the lock, in whatever state the connection is.
    lock.release(true);
  }
}

/** Throws UnfitDatabaseError if the server is older than the oldest supported version. */
export async function requireServerVersion(connection: PoolClient): Promise<void> {
  const { rows } = await connection.query<{ server_version_num: string }>('show server_version_num');
  const major = Math.floor(Number(rows[0]?.server_version_num) / 10_000);
  if (major < OLDEST_SERVER)
    throw new UnfitDatabaseError(
      `PostgreSQL ${major} is too old. Set DATABASE_URL to PostgreSQL ${OLDEST_SERVER} or later.`,
    );
}

/** Throws UnfitDatabaseError if this version does not fit the schema, or a migration has changed. Writes nothing. */
export async function requireSchemaOfThisVersion(db: Db): Promise<void> {
  await requireKnownSchema(db, await readMigrations());
}

/**
 * Returns the migrations that are missing, those that ran before checksums were recorded, and those of a newer version that
 * this one can live with.
 */
async function requireKnownSchema(
  db: Db,
  files: readonly MigrationFile[],
): Promise<Pick<SchemaHistory, 'missing' | 'unrecorded' | 'unknown'>> {
  const { unknown, toleratesUnknown, changed, unrecorded, missing } = await compareHistory(db, files);
  // Own migrations would run on a schema that nobody has tried them on.
  if (unknown.length > 0 && (!toleratesUnknown || missing.length + unrecorded.length > 0))
    throw new UnfitDatabaseError(
      `The database is newer than this version of Castellan: it has ${unknown.join(', ')}. Start the version that migrated it, or restore the backup from before the upgrade (docs/operate/upgrade.md). Nothing was changed.`,
    );
  if (changed.length > 0)
    throw new UnfitDatabaseError(
      `Migration ${changed.join(', ')} ran on this database with other contents than the file of this version. Install the released files of packages/server/migrations again (docs/operate/upgrade.md). Nothing was changed.`,
    );
  return { missing, unrecorded, unknown };
}

type SealedKey = Pick<Row<'signing_keys'>, 'key_id' | 'private_key_sealed'>;

/**
 * Throws before anything is migrated, so that an instance with a wrong SECRET_KEY does not break the running version.
 */
async function requireReadableKeys(db: Db, secretKey: Buffer): Promise<void> {
  if (!(await hasTable(db, 'signing_keys'))) return;
  const { rows } = await sql<SealedKey>`select key_id, private_key_sealed from signing_keys`.execute(db);
  const { rows: others } = (await hasTable(db, 'application_keys'))
    ? await sql<SealedKey>`select key_id, private_key_sealed from application_keys`.execute(db)
    : { rows: [] };
  for (const { key_id, private_key_sealed } of [...rows, ...others])
    openPrivateKey(secretKey, key_id, private_key_sealed);
}

const isEmpty = async (db: Db): Promise<boolean> => !(await hasTable(db, 'users')) || !(await hasAnyUser(db));

async function hasTable(db: Db, name: string): Promise<boolean> {
  const { rows } = await sql<{ there: boolean }>`select to_regclass(${name}) is not null as there`.execute(
    db,
  );
  return rows[0]?.there ?? false;
}

/**
 * Runs `work` on `db`, a single connection. While it runs, checks on another connection which backend blocks it, and tells
 * once.
 */
async function reportingBlockers<T>(
  observer: PoolClient,
  db: Db,
  tell: (text: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  const { pid } = onlyRow(await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db));
  let told = false;
  const timer = setInterval(async () => {
    const blocker = told ? undefined : await blockerOf(observer, pid).catch(() => undefined);
    if (blocker === undefined || told) return;
    told = true;
    tell(blocker);
  }, BLOCKER_CHECK_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
