// `castellan migrate`: what each start of the service does to the database, and nothing else.
import { prepare } from '@castellan/server/foundation';
import type { Call } from './command.ts';
import { onDatabase } from './database.ts';

/** Prints a password once when it made one for the first superuser. */
export const migrate = (call: Call): Promise<void> =>
  onDatabase(call, { existing: false }, async (foundation) => {
    const done = await prepare(foundation);
    call.print(foundation.database);
    call.print(
      done.migrations.length === 0 ? 'The schema is up to date.' : `Migrated: ${done.migrations.join(', ')}.`,
    );
    const { firstSuperuserEmail } = foundation.deps.settings;
    if (done.madeSuperuser) call.print(`Superuser ${firstSuperuserEmail} made.`);
    if (done.madePassword !== null) call.print(`Password ${done.madePassword} (shown this once: keep it)`);
  });
