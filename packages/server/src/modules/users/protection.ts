// Decides whether a caller may act on an account. Only superusers act on superusers. Taking an account over requires
// every permission of its user; any other action requires the user's built-in permissions. One superuser must remain.
// Call it while holding the locks of the users' rows.

import type { FieldError } from '@castellan/contract/envelope';
import type { ErrorCode } from '@castellan/contract/errors';
import { AppError } from '../../platform/errors.ts';
import type { Tx } from '../../schema/database.ts';
import { nameOf, type PlannedRoles, requireMayAdd } from '../assignments/service.ts';
import { type Entitled, type Locking, lockSubjects } from '../authz/change.ts';
import {
  asksForProof,
  findSubjectsBeyond,
  requireNotBeyond,
  requireProvedAll,
  requireProvedForTakeover,
  type Target,
} from '../authz/delegation.ts';
import type { FieldChanges } from './changes/change-store.ts';
import type { VersionedUser } from './presentation.ts';
import { findUserById, findUsersByIds } from './store.ts';
import { isSuperuserLeft } from './superuser-store.ts';

/** A planned change: only the fields that differ from the current record. */
export type PlannedChange = {
  before: VersionedUser;
  fields: FieldChanges;
  roles: PlannedRoles;
  setsPassword: boolean;
  /** Returns the path of a field of this user in the request, for errors. */
  at: (field: string) => string;
};

// A longer list would not help the caller.
const MAX_NAMED = 20;

/**
 * Returns the error for a request that is refused because of some of its users. It names up to 20 users with the field.
 */
export function refusal(
  code: ErrorCode,
  at: readonly { change: PlannedChange; field: string }[],
  message: string,
): AppError {
  const errors: FieldError[] = at.slice(0, MAX_NAMED).map(({ change, field }) => ({
    field: change.at(field),
    code,
    message: `${message} (user ${change.before.user_id})`,
  }));
  return new AppError(code, { errors });
}

const onField = (changes: readonly PlannedChange[], field: string) =>
  changes.map((change) => ({ change, field }));

/**
 * Checks an action on several users that changes no field of their records, as `requireMayActOn`: all of them or none. An
 * error names up to 20 of the users who caused it.
 */
export async function requireMayActOnAll(locking: Locking, ids: readonly string[]): Promise<Entitled> {
  await lockSubjects(locking, { users: ids });
  const found = await findUsersByIds(locking.tx, ids);
  const entitled = await locking.entitle();
  const superusers = entitled.isSuperuser ? [] : found.filter((user) => user.is_superuser);
  if (superusers.length > 0)
    throw refusalOfUsers(
      'superuser_required',
      superusers.map((user) => user.user_id),
      'is a superuser',
    );
  const beyond = await findSubjectsBeyond(
    entitled,
    ids.map((id) => ({ id, all: false })),
  );
  if (beyond.size > 0)
    throw refusalOfUsers('privilege_escalation', [...beyond], 'holds permissions that you do not hold');
  return entitled;
}

const refusalOfUsers = (code: ErrorCode, ids: readonly string[], message: string): AppError =>
  new AppError(code, {
    errors: ids
      .slice(0, MAX_NAMED)
      .map((id) => ({ field: 'user_id', code, message: `${message} (user ${id})` })),
  });

/**
 * Checks an action that changes no field of the user's record. Locks the rows of the user and of the caller, so that
 * neither changes before the transaction ends. Returns the user and the entitled change. Throws 401 or 403 (the caller
 * lost access), 404, `superuser_required`, `privilege_escalation`.
 */
export async function requireMayActOn(
  locking: Locking,
  id: string,
): Promise<{ entitled: Entitled; user: VersionedUser }> {
  await lockSubjects(locking, { users: [id] });
  // A separate statement, so that it sees what was committed while the locks were awaited.
  const user = await findUserById(locking.tx, id);
  const entitled = await locking.entitle();
  if (!user) throw new AppError('user_not_found');
  if (user.is_superuser && !entitled.isSuperuser)
    throw new AppError('superuser_required', { detail: 'Only a superuser can act on a superuser.' });
  if ((await findSubjectsBeyond(entitled, [{ id, all: false }])).size > 0)
    throw new AppError('privilege_escalation', {
      detail: 'This user holds permissions that you do not hold.',
    });
  return { entitled, user };
}

/**
 * Checks whether the caller may act as the user: as `requireMayActOn`, with every permission of the user instead of the built-in
 * ones, each proved as it asks.
 */
export async function requireMayActAs(
  locking: Locking,
  id: string,
): Promise<{ entitled: Entitled; user: VersionedUser }> {
  const found = await requireMayActOn(locking, id);
  const { entitled, user } = found;
  const target = { id: user.user_id, all: true };
  if ((await findSubjectsBeyond(entitled, [target])).size > 0)
    throw new AppError('privilege_escalation', {
      detail: 'This user holds permissions that you do not hold.',
    });
  if (user.is_superuser) await requireProvedAll(entitled);
  await requireProvedForTakeover(entitled, [{ ...target, field: 'id', about: user.email }]);
  return found;
}

/**
 * Checks whether the caller may make the changes. Throws `superuser_required`, `privilege_escalation` or `step_up_required`
 * (403).
 */
export async function requireMayChange(entitled: Entitled, changes: readonly PlannedChange[]): Promise<void> {
  const added = changes.map(({ roles }) => roles);
  // A superuser lacks nothing, but a permission may ask for more than this call has proved.
  if (entitled.isSuperuser) {
    if (!asksForProof(entitled)) return;
    await requireMayAdd(entitled, added);
    const isOfSuperuser = ({ before, ...change }: PlannedChange): boolean =>
      change.fields.is_superuser === true ||
      (before.is_superuser && takeoverField({ before, ...change }) !== undefined);
    if (changes.some(isOfSuperuser)) await requireProvedAll(entitled);
    await requireProvedForTakeover(entitled, changes.map(targetOf));
    return;
  }
  const ofSuperusers = changes.filter(({ before }) => before.is_superuser);
  if (ofSuperusers.length > 0)
    throw refusal('superuser_required', onField(ofSuperusers, 'id'), 'is a superuser');
  const raising = changes.filter(({ fields }) => fields.is_superuser !== undefined);
  if (raising.length > 0)
    throw refusal('superuser_required', onField(raising, 'is_superuser'), 'can be set only by a superuser');
  await requireMayAdd(entitled, added);
  const targets = changes.map(targetOf);
  await requireNotBeyond(entitled, targets);
  await requireProvedForTakeover(entitled, targets);
}

/**
 * A caller who sets these can sign in as the user, keep the user out until they verify their email again, or make decisions about
 * somebody else answer with what the user may do.
 */
const takeoverFields = ['email', 'verified', 'external_id'] as const;

const takeoverField = ({ fields, setsPassword }: PlannedChange): string | undefined =>
  setsPassword ? 'password' : takeoverFields.find((field) => fields[field] !== undefined);

/** Returns whose permissions the caller must hold too: all of them for a takeover, else the built-in ones. */
function targetOf(change: PlannedChange): Target {
  const takeover = takeoverField(change);
  return {
    id: change.before.user_id,
    all: takeover !== undefined,
    field: change.at(takeover ?? Object.keys(change.fields)[0] ?? 'role_id'),
    about: nameOf(change.roles.assignee),
  };
}

const canActAsSuperuser = (user: { is_superuser: boolean; is_active: boolean; verified: boolean }): boolean =>
  user.is_superuser && user.is_active && user.verified;

/** Checks that a superuser remains. Call it after the changes, in their transaction. Throws `last_superuser` (409). */
export async function requireSuperuserAfter(tx: Tx, changes: readonly PlannedChange[]): Promise<void> {
  const lost = changes.filter(
    ({ before, fields }) => canActAsSuperuser(before) && !canActAsSuperuser({ ...before, ...fields }),
  );
  if (lost.length === 0 || (await isSuperuserLeft(tx))) return;
  const fieldOf = ({ fields }: PlannedChange): string =>
    (['is_superuser', 'is_active', 'verified'] as const).find((field) => fields[field] === false) ?? 'id';
  throw refusal(
    'last_superuser',
    lost.map((change) => ({ change, field: fieldOf(change) })),
    'no superuser who can sign in would remain',
  );
}

/** Checks that a superuser remains. Call it after the deletion, in its transaction. Throws `last_superuser` (409). */
export async function requireSuperuserWithout(tx: Tx, deleted: VersionedUser): Promise<void> {
  if (canActAsSuperuser(deleted) && !(await isSuperuserLeft(tx))) throw new AppError('last_superuser');
}
