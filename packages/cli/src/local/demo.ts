// `castellan demo`: fills the database of a new service with a made-up company, to try the service out.
// It must not fill a database without a confirmation.
import {
  type DemoResult,
  fillDemo,
  hashDemoPassword,
  requireEmptyService,
} from '@castellan/server/modules/demo/service';
import { createKysely, createPool } from '@castellan/server/platform/db/pool';
import type { Tables } from '@castellan/server/schema/tables';
import type { Foundation } from '@castellan/server/start/foundation';
import { type Call, UsageError } from '../command.ts';
import { confirm } from '../input/confirmation.ts';
import { readSecretLine } from '../input/secret-file.ts';
import { onDatabase } from './database.ts';

const DEFAULT_PEOPLE = 120;
const MAX_PEOPLE = 1_000_000;
const DEFAULT_SEED = '1';
// From here on, a run takes long enough to wonder.
const PROGRESS_FROM = 50_000;

export async function demo(call: Call): Promise<void> {
  const people = peopleOf(call);
  const seed = typeof call.values.seed === 'string' ? call.values.seed : DEFAULT_SEED;
  const password = passwordOf(call);
  await onDatabase(call, { existing: true }, async (foundation) => {
    await requireEmptyService(foundation.deps.db);
    const passwordHash = password === null ? null : await hashDemoPassword(foundation.deps, password);
    await confirm(call, consequences(foundation, people));
    const began = performance.now();
    const result = await fill(call, foundation, { people, seed, passwordHash });
    report(call, result, { seconds: (performance.now() - began) / 1_000, hasPassword: password !== null });
  });
}

function peopleOf({ values: { users } }: Call): number {
  if (users === undefined) return DEFAULT_PEOPLE;
  const count = typeof users === 'string' && /^\d{1,7}$/.test(users) ? Number(users) : 0;
  if (count < 1 || count > MAX_PEOPLE)
    throw new UsageError(`--users is "${users}"; write a whole number from 1 to ${MAX_PEOPLE}.`);
  return count;
}

/** Returns the content of --password-file without its final line end, null without the option. */
const passwordOf = ({ values }: Call): string | null =>
  typeof values['password-file'] === 'string'
    ? readSecretLine(values['password-file'], '--password-file', 'password')
    : null;

const consequences = ({ database }: Foundation, people: number): string[] => [
  `Fills ${database} with a made-up company of ${number(people)} people.`,
  'There is no command that removes it. Do not do this to a database that you want to use for anything else.',
];

async function fill(
  call: Call,
  { deps, connection }: Foundation,
  options: { people: number; seed: string; passwordHash: string | null },
): Promise<DemoResult> {
  const pool = createPool({ connection, maxConnections: 1, unbounded: true }, deps.log);
  let next = PROGRESS_FROM;
  try {
    return await fillDemo(
      { ...deps, db: createKysely<Tables>(pool) },
      {
        ...options,
        onProgress: (people) => {
          if (options.people <= PROGRESS_FROM || people < next) return;
          call.print(`${number(people)} of ${number(options.people)} people`);
          next += PROGRESS_FROM;
        },
      },
    );
  } finally {
    await pool.end();
  }
}

const number = (value: number): string => value.toLocaleString('en');

function report(
  call: Call,
  made: DemoResult,
  { seconds, hasPassword }: { seconds: number; hasPassword: boolean },
): void {
  const rate = Math.round(made.rows / Math.max(seconds, 0.001));
  call.print(
    [
      `Created ${number(made.people)} people, ${made.roles} roles in ${made.roleGroups} role groups, ${made.permissions} permissions in ${made.permissionGroups} permission groups,`,
      `${made.serviceAccounts} service accounts without keys, ${number(made.sessions)} sessions without tokens and ${number(made.auditEntries)} audit entries: ${number(made.rows)} rows in ${seconds.toFixed(1)} s, ${number(rate)} rows/s.`,
      `${number(made.withFactor)} of the people have a second factor, which nobody can use: reset it to sign in as one of them.`,
      hasPassword
        ? 'Everyone else who is active and verified can sign in with the password of --password-file.'
        : 'None of these people can sign in. Sign in as the superuser.',
      'To remove the company, delete the database, or start with a new DATA_DIR.',
    ].join('\n'),
  );
}
