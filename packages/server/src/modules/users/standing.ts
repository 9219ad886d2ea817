// Who may change whom: lower rights never act on a superuser, nobody takes over an account that may more than his
// own, and one superuser always remains. To be asked under the locks of the users' rows.

import type { FieldError } from '@castellan/contract/envelope';
import type { ErrorCode } from '@castellan/contract/errors';
import type { Tx } from '../../database.ts';
import { AppError } from '../../platform/errors.ts';
import { requireMayGrantRoles, requireStillEntitled } from '../authz/delegation.ts';
import { permissionsOf } from '../authz/effective.ts';
import type { Actor } from '../authz/guard.ts';
import { type FieldChanges, findPermissionsOf } from './change-store.ts';
import type { VersionedUser } from './presentation.ts';
import { lockUsers } from './store.ts';
import { isSuperuserLeft } from './superuser-store.ts';

/** A change as it will be made: only what differs from the present record. */
export type PlannedChange = {
  before: VersionedUser;
  fields: FieldChanges;
  addedRoles: readonly string[];
  removedRoles: readonly string[];
  setsPassword: boolean;
  /** Where a field of this user stands in the request, for refusals. */
  at: (field: string) => string;
};

// More would help nobody.
const MAX_NAMED = 20;

/** The refusal of a request because of some of its users, each named with the field at fault. */
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
 * For acts that change no field of the record. Locks the user together with whoever acts on him, so that neither changes
 * before the transaction ends. Answers the user. Throws 401 and 403 (no longer entitled), 404, `superuser_required`.
 */
export async function requireMayActOn(tx: Tx, actor: Actor, id: string): Promise<VersionedUser> {
  const found = await lockUsers(tx, [id, actor.user_id]);
  const now = await requireStillEntitled(tx, actor);
  const user = found.find((one) => one.user_id === id);
  if (!user) throw new AppError('user_not_found');
  requireNoLower(now, user);
  return user;
}

function requireNoLower(actor: Actor, user: VersionedUser): void {
  if (user.is_superuser && !actor.is_superuser)
    throw new AppError('superuser_required', { detail: 'Only a superuser may do this to a superuser.' });
}

/** For an actor as he is now. Throws `superuser_required` or `privilege_escalation` (403). */
export async function requireMayChange(
  tx: Tx,
  actor: Actor,
  changes: readonly PlannedChange[],
): Promise<void> {
  if (actor.is_superuser) return;
  const ofSuperusers = changes.filter(({ before }) => before.is_superuser);
  if (ofSuperusers.length > 0)
    throw refusal('superuser_required', onField(ofSuperusers, 'id'), 'is a superuser');
  const raising = changes.filter(({ fields }) => fields.is_superuser !== undefined);
  if (raising.length > 0)
    throw refusal('superuser_required', onField(raising, 'is_superuser'), 'only a superuser may set it');
  await requireMayGrant(tx, actor, changes);
  await requireMayTakeOver(tx, actor, changes);
}

async function requireMayGrant(tx: Tx, actor: Actor, changes: readonly PlannedChange[]): Promise<void> {
  const added = [...new Set(changes.flatMap((change) => change.addedRoles))];
  try {
    await requireMayGrantRoles(tx, actor, added);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const held = new Set(permissionsOf(actor.graph, actor));
    const isTooMuch = (id: string): boolean =>
      actor.graph.roles.get(id)?.permissions.some((permission) => !held.has(permission)) ?? true;
    const atFault = changes.filter((change) => change.addedRoles.some(isTooMuch));
    const { errors } = refusal(
      error.code,
      onField(atFault, 'role_id'),
      'holds more than you may hand out',
    ).extras;
    throw new AppError(error.code, { ...error.extras, ...(errors ? { errors } : {}) });
  }
}

// What everybody may do with the own account gives nobody power over others.
const OWN_ACCOUNT: ReadonlySet<string> = new Set(['self.update_profile']);

// Whoever sets somebody's password or e-mail address can sign in as him; an unverified account goes with the next sweep.
async function requireMayTakeOver(tx: Tx, actor: Actor, changes: readonly PlannedChange[]): Promise<void> {
  const taking = changes.filter(
    ({ before, fields, setsPassword }) =>
      before.user_id !== actor.user_id &&
      (setsPassword || fields.email !== undefined || fields.verified === false),
  );
  if (taking.length === 0) return;
  const present = await findPermissionsOf(tx, [actor.user_id, ...taking.map(({ before }) => before.user_id)]);
  const held = new Set(
    present.filter(({ user_id }) => user_id === actor.user_id).map(({ permission }) => permission),
  );
  const beyond = new Set(
    present
      .filter(({ permission }) => !held.has(permission) && !OWN_ACCOUNT.has(permission))
      .map(({ user_id }) => user_id),
  );
  const atFault = taking
    .filter(({ before }) => beyond.has(before.user_id))
    .map((change) => ({
      change,
      field: change.setsPassword ? 'password' : change.fields.email === undefined ? 'verified' : 'email',
    }));
  if (atFault.length > 0)
    throw refusal(
      'privilege_escalation',
      atFault,
      'may do more than you: you cannot change how they sign in',
    );
}

const isStanding = (user: { is_superuser: boolean; is_active: boolean; verified: boolean }): boolean =>
  user.is_superuser && user.is_active && user.verified;

/** After the changes, in their transaction. Throws `last_superuser` (409). */
export async function requireSuperuserAfter(tx: Tx, changes: readonly PlannedChange[]): Promise<void> {
  const lost = changes.filter(
    ({ before, fields }) => isStanding(before) && !isStanding({ ...before, ...fields }),
  );
  if (lost.length === 0 || (await isSuperuserLeft(tx))) return;
  const fieldOf = ({ fields }: PlannedChange): string =>
    (['is_superuser', 'is_active', 'verified'] as const).find((field) => fields[field] === false) ?? 'id';
  throw refusal(
    'last_superuser',
    lost.map((change) => ({ change, field: fieldOf(change) })),
    'no superuser would be left who can sign in',
  );
}

/** After the deletion, in its transaction. Throws `last_superuser` (409). */
export async function requireSuperuserWithout(tx: Tx, deleted: VersionedUser): Promise<void> {
  if (isStanding(deleted) && !(await isSuperuserLeft(tx))) throw new AppError('last_superuser');
}
