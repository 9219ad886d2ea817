// `castellan migrate`: prepares the database as each start of the service does, then exits.
import { isatty } from 'node:tty';
import { handOverFirstPassword } from '@castellan/server/start/first-password';
import { type Foundation, prepare } from '@castellan/server/start/foundation';
import type { Call } from '../command.ts';
import { onDatabase } from './database.ts';

/** Prepares the database. If it creates a password for the first superuser, hands it over once. */
export const migrate = (call: Call): Promise<void> =>
  onDatabase(call, { existing: false }, async (foundation) => {
    call.print(foundation.database);
    const migrations = await migrateDatabase(call, foundation);
    if (migrations === 0) call.print('The schema is up to date.');
  });

/** Prepares the database and prints what it created. Returns the number of migrations that ran. */
export async function migrateDatabase(
  call: Call,
  foundation: Foundation,
  options: { anySecretKey?: boolean } = {},
): Promise<number> {
  const done = await prepare(foundation, call.print, options);
  if (done.migrations.length > 0) call.print(`Migrated: ${done.migrations.join(', ')}.`);
  const { firstSuperuserEmail, dataDir } = foundation.deps.settings;
  if (done.madeSuperuser) call.print(`Superuser ${firstSuperuserEmail} created.`);
  if (done.madePassword !== null)
    call.print((await handOverFirstPassword(done.madePassword, { dataDir, isTerminal: isatty(1) })).line);
  return done.migrations.length;
}
