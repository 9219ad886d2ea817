// Opens the database of the settings for one command. A running embedded PostgreSQL is shared and keeps running; one
// that was stopped is started and stopped again.
import { isDatabaseUnavailable } from '@castellan/server/platform/db/failures';
import { AppError } from '@castellan/server/platform/errors';
import { createLog } from '@castellan/server/platform/logging/log';
import { SealedKeyError } from '@castellan/server/platform/security/signing-keys';
import { loadSettings } from '@castellan/server/settings';
import { requireSchemaOfThisVersion } from '@castellan/server/start/database/prepare-database';
import { explainStartFailure, explainWait } from '@castellan/server/start/failure';
import { type Foundation, openFoundation } from '@castellan/server/start/foundation';
import type { Call } from '../command.ts';

type DatabaseOptions = {
  /**
   * Creates nothing. Rejects if the database, its schema or the secret key is missing, if a newer version has migrated
   * the schema, or if the secret key does not decrypt the signing keys.
   */
  existing: boolean;
  /** Accepts another secret key, and creates a missing one. Default: false. */
  anySecretKey?: boolean;
  /** Accepts a schema that a newer version has migrated. Default: false. */
  anySchema?: boolean;
};

/** Runs `work` on the database. */
export async function onDatabase<T>(
  call: Call,
  options: DatabaseOptions,
  work: (foundation: Foundation) => Promise<T>,
): Promise<T> {
  const settings = loadSettings(call.environment);
  // The log goes to standard error, because standard output is for the command's result.
  const log = createLog(settings.logLevel, { write: (line) => void process.stderr.write(line) });
  try {
    const foundation = await openFoundation({ settings, log, print: call.print, ...options });
    try {
      if (options.existing) await requirePrepared(foundation, options);
      return await work(foundation);
    } finally {
      await foundation.close();
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new Error(
      isDatabaseUnavailable(error) ? explainWait(error) : explainStartFailure(error, settings.dataDir),
      { cause: error },
    );
  }
}

async function requirePrepared(
  { deps, database }: Foundation,
  { anySecretKey = false, anySchema = false }: DatabaseOptions,
): Promise<void> {
  if (!anySchema) await requireSchemaOfThisVersion(deps.db);
  try {
    await deps.keyRing.load();
    if (!anySecretKey && deps.keyRing.publicKeys().size === 0)
      throw new Error(
        `${database} has no signing key, as after a restore: run \`castellan migrate\`, or start the service once.`,
      );
  } catch (error) {
    if (anySecretKey && error instanceof SealedKeyError) return;
    // undefined_table: the database has no schema yet.
    if (!(error instanceof Error && 'code' in error && error.code === '42P01')) throw error;
    throw new Error(`${database} is not prepared yet: run \`castellan migrate\`, or start the service once.`);
  }
}
