// Opens the database that the settings name for one command, and leaves it as it was: an embedded PostgreSQL that runs
// is joined and runs on, one that was at rest rests again.
import { type Foundation, openFoundation } from '@castellan/server/foundation';
import { isDatabaseUnavailable } from '@castellan/server/platform/db/failures';
import { AppError } from '@castellan/server/platform/errors';
import { createLog } from '@castellan/server/platform/log';
import { loadSettings } from '@castellan/server/settings';
import { explainStartFailure, explainWait } from '@castellan/server/start-failure';
import type { Call } from './command.ts';

/** With `existing` nothing is made: it rejects when the database, its schema or the secret key is missing. */
export async function onDatabase<T>(
  call: Call,
  options: { existing: boolean },
  work: (foundation: Foundation) => Promise<T>,
): Promise<T> {
  const settings = loadSettings(call.environment);
  // Standard output is the command's answer.
  const log = createLog(settings.logLevel, { write: (line) => void process.stderr.write(line) });
  try {
    const foundation = await openFoundation({ settings, log, print: call.print, existing: options.existing });
    try {
      if (options.existing) await requirePrepared(foundation);
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

/** The schema is there and the secret key is the one that sealed the signing keys. */
async function requirePrepared({ deps, database }: Foundation): Promise<void> {
  try {
    await deps.keyRing.load();
    deps.keyRing.current();
  } catch (error) {
    // undefined_table: nobody has prepared this database.
    if ((error as { code?: string }).code !== '42P01') throw error;
    throw new Error(`${database} is not prepared yet: run \`castellan migrate\`, or start the service once.`);
  }
}
