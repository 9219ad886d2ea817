// Imports users in batches, each in one transaction: a row goes in whole or not at all, and a wrong row stops no other.
// It must not change a user who exists.
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { shownEmail } from '../../platform/security/email.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { assignImported } from '../assignments/unattended.ts';
import { type ChangeLog, recordChange } from '../audit/service.ts';
import { enqueueInvitations } from '../auth/mails.ts';
import {
  attributePath,
  carryOutValues,
  type PlannedValues,
  planNewValues,
  uniqueOf,
} from '../user-attributes/service.ts';
import { renewUserMarks } from '../users/lists/page-marks.ts';
import { type NewUser, readUser, type UserRules } from './user-rows.ts';
import {
  analyzeUsers,
  findByEmails,
  findTakenExternalIds,
  findTakenIds,
  type IdOwner,
  insertUsers,
  lockRolesByName,
  type NamedRole,
} from './user-store.ts';
import { type Fault, refused, type SourceRow, type Verdict } from './verdict.ts';

/** `db` must not have a statement timeout: the statistics of a million users may wait for the disk. */
export type UserImportDeps = {
  db: Db;
  auditLog: ChangeLog;
  settings: { defaultRole: string; invitationHours: number };
};

export type UserImportOptions = UserRules & {
  /** Where the rows come from, for the audit log. */
  source: string;
  /** Writes nothing, and tells what an import would say. */
  dryRun: boolean;
};

// Rows of one transaction: large enough that round trips do not count, and small enough that other writers do not wait.
const BATCH = 1_000;
// From here on, the planner works with wrong numbers of users for a while.
const ANALYZE_FROM = 10_000;

type Candidate = { row: number; user: NewUser };

/**
 * Imports the rows in their order. Calls `report` with the verdicts of a batch after its commit. Throws an Error for the
 * operator if the default role is missing; other errors are those of the database, and the batches before them stay.
 */
export async function importUsers(
  deps: UserImportDeps,
  rows: AsyncIterable<SourceRow>,
  options: UserImportOptions,
  report: (verdicts: readonly Verdict[]) => Promise<void>,
): Promise<void> {
  const seen: Seen = { emails: new Set(), externalIds: new Set(), values: [] };
  let created = 0;
  for await (const batch of readAhead(readBatches(rows, options))) {
    const verdicts = await importBatch(deps, batch, options, seen);
    created += verdicts.filter(({ verdict }) => verdict === 'created').length;
    await report(verdicts);
  }
  if (created > 0) await renewUserMarks(deps.db);
  if (created >= ANALYZE_FROM) await analyzeUsers(deps.db);
}

/** Rows that were read: people, and the verdicts on those that cannot be imported. */
type Batch = { candidates: Candidate[]; refusals: Verdict[] };

async function* readBatches(rows: AsyncIterable<SourceRow>, rules: UserRules): AsyncGenerator<Batch> {
  let candidates: Candidate[] = [];
  let refusals: Verdict[] = [];
  for await (const one of rows) {
    const read = 'fault' in one ? { errors: [one.fault] } : readUser(one.value, rules);
    if ('user' in read) candidates.push({ row: one.row, user: read.user });
    else refusals.push(refused(one.row, 'value' in one ? one.value.email : null, read.errors));
    if (candidates.length + refusals.length < BATCH) continue;
    yield { candidates, refusals };
    candidates = [];
    refusals = [];
  }
  if (candidates.length + refusals.length > 0) yield { candidates, refusals };
}

/** Reads the next item while the caller works on the present one, and no further. */
async function* readAhead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = items.next();
  try {
    for (let item = await next; !item.done; item = await next) {
      next = items.next();
      // An error is thrown when its turn comes; the items before it are complete.
      next.catch(() => undefined);
      yield item.value;
    }
  } finally {
    await items.return(undefined);
  }
}

/** Whom a dry run would have created so far, which no transaction remembers. `values`: those of people with unique ones. */
type Seen = { emails: Set<string>; externalIds: Set<string>; values: PlannedValues[] };

async function importBatch(
  deps: UserImportDeps,
  { candidates, refusals }: Batch,
  options: UserImportOptions,
  seen: Seen,
): Promise<Verdict[]> {
  const { people, verdicts } = await inTransaction(deps.db, async (tx) => {
    const judged = await judge(tx, deps, candidates, { ...options, seen });
    const done = options.dryRun
      ? judged.people.map(wouldCreate)
      : await insert(tx, deps, judged.people, options);
    return { ...judged, verdicts: [...judged.verdicts, ...done] };
  });
  if (options.dryRun)
    for (const { user, values } of people) {
      seen.emails.add(user.email);
      if (user.external_id !== null) seen.externalIds.add(user.external_id);
      if (uniqueOf(values).length > 0) seen.values.push(values);
    }
  return [...refusals, ...verdicts].sort((one, other) => one.row - other.row);
}

const wouldCreate = ({ row, user }: Person): Verdict => ({
  row,
  verdict: 'would_create',
  name: shownEmail(user.email),
});

/** Returns the people of a batch who can be created, and the verdicts on all other rows. */
async function judge(
  tx: Tx,
  deps: UserImportDeps,
  candidates: readonly Candidate[],
  options: Pick<UserImportOptions, 'dryRun' | 'privileged'> & { seen: Seen },
): Promise<{ people: Person[]; verdicts: Verdict[] }> {
  const { defaultRole } = deps.settings;
  const { dryRun, privileged, seen } = options;
  const rolesOf = await roleFinder(tx, candidates, defaultRole, privileged);
  const known = await findByEmails(
    tx,
    candidates.map(({ user }) => user.email),
  );
  const taken = await findTakenIds(
    tx,
    candidates.flatMap(({ user }) => user.id ?? []),
  );
  const takenExternalIds = await findTakenExternalIds(
    tx,
    candidates.flatMap(({ user }) => user.external_id ?? []),
  );
  const isTaken = (externalId: string) =>
    takenExternalIds.has(externalId) || seen.externalIds.has(externalId);
  const verdicts: Verdict[] = [];
  const fresh = new Map<string, Fresh>();
  for (const { row, user } of candidates) {
    const found = rolesOf(user);
    const id = known.get(user.email) ?? fresh.get(user.email)?.user.id;
    if ('errors' in found) verdicts.push(refused(row, shownEmail(user.email), found.errors));
    else if (id !== undefined || seen.emails.has(user.email))
      verdicts.push({
        row,
        verdict: 'exists',
        name: shownEmail(user.email),
        id: dryRun ? null : (id ?? null),
      });
    else if (isReserved(user, taken)) verdicts.push(refused(row, shownEmail(user.email), [reservedId]));
    else if (user.external_id !== null && isTaken(user.external_id))
      verdicts.push(refused(row, shownEmail(user.email), [takenExternalId]));
    else {
      fresh.set(user.email, { row, roles: found.roles, ...withFreeId(user, taken) });
      if (user.external_id !== null) takenExternalIds.add(user.external_id);
    }
  }
  const planned = await planNewValues(
    tx,
    [...fresh.values()].map(({ user }) => ({
      userId: user.id,
      attributes: user.attributes,
      at: attributePath,
    })),
    seen.values,
  );
  const people: Person[] = [];
  const wrong = new Map<number, Verdict>();
  for (const one of fresh.values()) {
    const { row, user } = one;
    const values = planned.get(user.id);
    if (values instanceof AppError)
      wrong.set(row, refused(row, shownEmail(user.email), values.extras.errors ?? []));
    else if (values) people.push({ ...one, values });
  }
  const losers = [...fresh.values()].filter(({ row }) => wrong.has(row));
  const others = candidates.filter(({ row }) => !wrong.has(row));
  if (!losers.some((loser) => others.some(({ user }) => areRivals(loser.user, user))))
    return { people, verdicts: [...verdicts, ...wrong.values()] };
  // Rows that gave way to a wrong one are judged without it.
  const again = await judge(tx, deps, others, options);
  return { ...again, verdicts: [...again.verdicts, ...wrong.values()] };
}

/** Returns whether only one of them can be created. */
const areRivals = (one: Rival, other: Rival): boolean =>
  one.email === other.email || (one.external_id !== null && one.external_id === other.external_id);

type Rival = Pick<NewUser, 'email' | 'external_id'>;

type Fresh = {
  row: number;
  user: Omit<NewUser, 'roles'> & { id: string };
  roles: readonly NamedRole[];
  note?: string;
};

/** Somebody who can be created. */
type Person = Fresh & { values: PlannedValues };

/** Returns whether tokens that this service issued name another account by the id of the row. */
function isReserved({ id }: NewUser, taken: ReadonlyMap<string, IdOwner>): boolean {
  const owner = id === null ? undefined : taken.get(id);
  return owner !== undefined && owner !== 'user';
}

const reservedId: Fault = {
  field: 'id',
  code: 'id_reserved',
  message:
    'is that of a service account, or of a deleted account whose sessions are still being removed: leave the id out, or import the row again after some minutes',
};

const takenExternalId: Fault = {
  field: 'external_id',
  code: 'external_id_taken',
  message: 'is that of another user',
};

/** Keeps the id of the row unless another user has it. `taken` grows with it. */
function withFreeId(
  { roles: _names, ...user }: NewUser,
  taken: Map<string, IdOwner>,
): Pick<Fresh, 'user' | 'note'> {
  const id = user.id === null || taken.has(user.id) ? newId() : user.id;
  taken.set(id, 'user');
  const note = user.id === null || user.id === id ? {} : { note: 'another user has the id of the row' };
  return { user: { ...user, id }, ...note };
}

/** Returns a function that finds the roles of a user by their names. */
async function roleFinder(
  tx: Tx,
  candidates: readonly Candidate[],
  defaultRole: string,
  privileged: boolean,
): Promise<(user: NewUser) => { roles: NamedRole[] } | { errors: Fault[] }> {
  const defaults = defaultRole === '' ? [] : [defaultRole];
  const wanted = new Set([...defaults, ...candidates.flatMap(({ user }) => user.roles ?? [])]);
  const roles = await lockRolesByName(tx, [...wanted]);
  const byName = new Map(roles.map((role) => [role.name.toLowerCase(), role]));
  if (defaultRole !== '' && !byName.has(defaultRole.toLowerCase()))
    throw new Error(
      `The role "${defaultRole}" in DEFAULT_ROLE does not exist. Create it, or set DEFAULT_ROLE to another one, or to an empty text.`,
    );
  return (user) => {
    const errors: Fault[] = [];
    const found = new Map<string, NamedRole>();
    for (const name of user.roles ?? defaults) {
      const role = byName.get(name.toLowerCase());
      if (role === undefined)
        errors.push({ field: 'roles', code: 'unknown_role', message: `there is no role "${name}"` });
      else if (!privileged && (role.is_system || role.administers_by !== null))
        errors.push(needsPrivileged(role));
      else found.set(role.id, role);
    }
    return errors.length > 0 ? { errors } : { roles: [...found.values()] };
  };
}

const needsPrivileged = ({ name, is_system, administers_by }: NamedRole): Fault => ({
  field: 'roles',
  code: 'needs_privileged',
  message: is_system
    ? `"${name}" is a system role: it is given with --privileged only`
    : `"${name}" has the built-in permission "${administers_by}": it is given with --privileged only`,
});

async function insert(
  tx: Tx,
  { auditLog, settings }: UserImportDeps,
  people: readonly Person[],
  { source }: Pick<UserImportOptions, 'source'>,
): Promise<Verdict[]> {
  if (people.length === 0) return [];
  const inserted = await insertUsers(
    tx,
    people.map(({ user }) => user),
    settings.invitationHours,
  );
  await enqueueInvitations(
    tx,
    people.flatMap(({ user }) => (user.invite && inserted.has(user.id) ? [user.email] : [])),
  );
  await assignImported(
    tx,
    people.flatMap(({ user, roles }) =>
      inserted.has(user.id) ? roles.map((role) => ({ subjectId: user.id, roleId: role.id })) : [],
    ),
  );
  await carryOutValues(
    tx,
    people.flatMap(({ user, values }) => (inserted.has(user.id) ? [values] : [])),
  );
  if (inserted.size > 0)
    await recordChange(tx, auditLog, null, {
      action: 'users_imported',
      actorId: null,
      resourceType: 'user',
      details: { count: inserted.size, source, via: 'command_line' },
    });
  return people.map(({ row, user, note }) =>
    inserted.has(user.id)
      ? {
          row,
          verdict: 'created',
          name: shownEmail(user.email),
          id: user.id,
          ...(note === undefined ? {} : { note }),
        }
      : { row, verdict: 'exists', name: shownEmail(user.email), id: null },
  );
}
