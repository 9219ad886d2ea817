// Fills the database of a new service with a made-up company, to try the service out. For the command line only.
// It must never touch a database that anything but the start has written to, except for superusers.
import type { AttributeValues } from '@castellan/contract/user-attributes';
import { inTransaction } from '../../platform/db/transaction.ts';
import { newRecoveryCode } from '../../platform/security/factors/recovery-codes.ts';
import type { PasswordHasher } from '../../platform/security/password-hasher.ts';
import { errorCode } from '../../platform/unknown-values.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { assignByName } from '../assignments/unattended.ts';
import { insertPast } from '../audit/service.ts';
import type { TotpVault } from '../factors/service.ts';
import { hashFirstPassword, type PasswordDeps } from '../passwords/service.ts';
import { seededNames } from '../seed/service.ts';
import { keyOf } from '../user-attributes/service.ts';
import { renewUserMarks } from '../users/lists/page-marks.ts';
import { attributes } from './attributes.ts';
import { guardedRole, permissionGroups, permissions, roleGroups, roles, serviceAccounts } from './company.ts';
import { announceRequirement, type FactorSecrets, insertFactors } from './factors-store.ts';
import { type Event, type Made, makeAttack, makePeople, type Plan } from './people.ts';
import { createRandom } from './random.ts';
import {
  analyzeFilled,
  countRecords,
  insertAttributes,
  insertAttributeValues,
  insertLastLogins,
  insertLocks,
  insertPeople,
  insertPermissionGroups,
  insertPermissions,
  insertRoleGroups,
  insertRoles,
  insertServiceAccounts,
  insertSessions,
  lockForFilling,
  readStart,
  type WrittenValue,
} from './store.ts';

/** `db` must not have a statement timeout: with a million people, a statement may wait for the disk. */
export type DemoDeps = {
  db: Db;
  hasher: PasswordHasher;
  totpVault: TotpVault;
  passkeySite: { rpId: string };
  settings: {
    concurrentSessionLimit: number;
    refreshTokenDays: number;
    lockoutAttempts: number;
    lockoutMinutes: number;
    unverifiedAccountHours: number;
  };
};

export type DemoOptions = {
  people: number;
  seed: string;
  /** Of everybody who may sign in. Null: nobody can. */
  passwordHash: string | null;
  /** Receives the number of people written so far. */
  onProgress: (people: number) => void;
};

/** What was created. */
export type DemoResult = {
  people: number;
  roles: number;
  roleGroups: number;
  permissions: number;
  permissionGroups: number;
  serviceAccounts: number;
  sessions: number;
  /** People with a second factor. */
  withFactor: number;
  auditEntries: number;
  /** Rows of users, their roles, sessions and audit entries. */
  rows: number;
};

/** Rows of one statement: large enough that round trips do not count, and small enough for memory. */
const BATCH = 5_000;
// A user without a limit has no reason for more.
const USUAL_SESSION_LIMIT = 3;

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Throws an Error for the operator if the database holds anything that neither the start created nor a superuser is. */
export async function requireEmptyService(db: Db): Promise<void> {
  const found = Object.entries(await countRecords(db, seededNames)).filter(([, count]) => count > 0);
  if (found.length === 0) return;
  const counted = found.map(([noun, count]) => plural(count, noun)).join(', ');
  throw new Error(
    `The database is not empty: it has ${counted} besides what the service creates itself. Nothing was changed. Use a new database, or a new DATA_DIR.`,
  );
}

/**
 * Returns one hash for everybody. Throws `password_rejected` with every broken rule. A shared hash keeps a million people
 * as quick as a hundred.
 */
export const hashDemoPassword = (deps: PasswordDeps, password: string): Promise<string> =>
  hashFirstPassword(deps, password, { email: 'demo@example.com', first_name: 'Demo', last_name: '' });

/** Fills the database in one transaction. Throws an Error for the operator; then nothing was changed. */
export async function fillDemo(deps: DemoDeps, options: DemoOptions): Promise<DemoResult> {
  const secrets: FactorSecrets = {
    seal: deps.totpVault.seal,
    rpId: deps.passkeySite.rpId,
    codeHash: await deps.hasher.hash(newRecoveryCode().text, { key: 'demo' }),
  };
  const result = await inTransaction(deps.db, async (tx) => {
    await lock(tx);
    await requireEmptyService(tx);
    return fill(tx, deps, { ...options, secrets });
  });
  await renewUserMarks(deps.db);
  await analyzeFilled(deps.db);
  return result;
}

async function lock(tx: Tx): Promise<void> {
  const isLocked = await lockForFilling(tx).catch((error: unknown) => {
    // lock_not_available
    if (errorCode(error) !== '55P03') throw error;
    throw new Error(
      'The service is writing users at the moment. Nothing was changed. Try again, or stop the service.',
    );
  });
  if (!isLocked)
    throw new Error('Another run of this command is filling the database. Nothing was changed by this one.');
}

async function fill(
  tx: Tx,
  { settings }: Pick<DemoDeps, 'settings'>,
  options: DemoOptions & { secrets: FactorSecrets },
): Promise<DemoResult> {
  const { concurrentSessionLimit } = settings;
  const plan: Plan = {
    people: options.people,
    seed: options.seed,
    ...(await readStart(tx)),
    limits: {
      ...settings,
      sessions: concurrentSessionLimit > 0 ? concurrentSessionLimit : USUAL_SESSION_LIMIT,
      unverifiedHours: settings.unverifiedAccountHours,
    },
  };
  await insertCompany(tx, plan);
  let people = 0;
  let sessions = 0;
  let held = 0;
  let withFactor = 0;
  for (const batch of inBatches(makePeople(plan), BATCH)) {
    await insertBatch(tx, batch, { ...settings, ...options });
    people += batch.length;
    sessions += batch.reduce((sum, one) => sum + one.sessions.length, 0);
    held += batch.reduce((sum, one) => sum + one.roles.length, 0);
    withFactor += batch.filter(({ factors }) => factors !== null).length;
    options.onProgress(people);
  }
  // Last, because counting the events of a day locks the row of that day.
  const auditEntries = await insertEvents(tx, plan);
  return {
    people,
    roles: roles.length,
    roleGroups: roleGroups.length,
    permissions: permissions.length,
    permissionGroups: permissionGroups.length,
    serviceAccounts: serviceAccounts.length,
    sessions,
    withFactor,
    auditEntries,
    rows: people + held + sessions + auditEntries,
  };
}

async function insertCompany(tx: Tx, { seed, creatorId }: Pick<Plan, 'seed' | 'creatorId'>): Promise<void> {
  const random = createRandom(`${seed}|company`);
  let count = 0;
  const withIds = <T extends object>(records: readonly T[]): (T & { id: string })[] =>
    records.map((record) => {
      count += 1;
      return { ...record, id: random.id(Date.UTC(2023, 0, 1) + count) };
    });
  await insertPermissionGroups(tx, withIds(permissionGroups));
  await insertPermissions(tx, withIds(permissions));
  const groups = withIds(roleGroups);
  await insertRoleGroups(tx, groups);
  await insertRoles(tx, withIds(roles), { groups, creatorId });
  await announceRequirement(tx, guardedRole);
  const accounts = withIds(serviceAccounts);
  await insertServiceAccounts(tx, accounts);
  await assignByName(
    tx,
    'service_account',
    accounts.flatMap(({ id, roles: held }) => held.map((role) => ({ id, role }))),
  );
  await insertAttributes(tx, withIds(attributes), creatorId);
}

async function insertBatch(
  tx: Tx,
  batch: readonly Made[],
  options: {
    passwordHash: string | null;
    lockoutAttempts: number;
    lockoutMinutes: number;
    secrets: FactorSecrets;
  },
): Promise<void> {
  await insertPeople(
    tx,
    batch.map(({ person }) => person),
    options.passwordHash,
  );
  await assignByName(
    tx,
    'user',
    batch.flatMap((one) => one.roles),
  );
  await insertAttributeValues(
    tx,
    batch.flatMap(({ person, attributes: values }) => writtenValues(person.id, values)),
  );
  await insertFactors(
    tx,
    batch.flatMap(({ factors }) => factors ?? []),
    options.secrets,
  );
  await insertSessions(
    tx,
    batch.flatMap((one) => one.sessions),
  );
  await insertLastLogins(
    tx,
    batch.flatMap(({ lastLogin }) => lastLogin ?? []),
  );
  await insertLocks(
    tx,
    batch.flatMap(({ lock }) => lock ?? []),
    options,
  );
}

const writtenValues = (user_id: string, values: AttributeValues): WrittenValue[] =>
  attributes.flatMap((attribute) => {
    const { name } = attribute;
    const value = values[name];
    return value === undefined
      ? []
      : [{ user_id, name, value, key: keyOf(attribute, value).toString('hex') }];
  });

/** Writes the events in batches, each with the oldest first. Returns their number. */
async function insertEvents(tx: Tx, plan: Plan): Promise<number> {
  let count = 0;
  for (const batch of inBatches(eventsOf(plan), BATCH)) {
    await insertPast(
      tx,
      batch.toSorted((a, b) => b.age_s - a.age_s),
    );
    count += batch.length;
  }
  return count;
}

/** Makes the people again for their events: those of a million people would fill a gigabyte of memory. */
function* eventsOf(plan: Plan): Generator<Event> {
  yield* makeAttack(plan);
  for (const { events } of makePeople(plan)) yield* events;
}

function* inBatches<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let batch: T[] = [];
  for (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
