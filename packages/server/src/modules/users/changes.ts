// Changes of users by those who administrate: one path for a single user and for a thousand, all of them or none.
// What is asked for is planned against the locked records first; a plan that stands is carried out whole.
import type { Tx } from '../../database.ts';
import { brokenConstraint } from '../../platform/db/failures.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { canonicalIds, requireAllFound } from '../../platform/http/ids.ts';
import { requireVersion } from '../../platform/http/record-version.ts';
import { type AuditEvent, recordChanges } from '../audit/service.ts';
import { requireStillEntitled } from '../authz/delegation.ts';
import type { Actor } from '../authz/guard.ts';
import { endSessionsOfUsers } from '../sessions/service.ts';
import {
  addRoleLinks,
  endPendingLinks,
  type FieldChanges,
  lockEmails,
  lockRoles,
  removeRoleLinks,
  updateUsers,
} from './change-store.ts';
import { toUser, type VersionedUser } from './presentation.ts';
import type { UserDeps } from './service.ts';
import { type PlannedChange, refusal, requireMayChange, requireSuperuserAfter } from './standing.ts';
import { findUsersByIds, lockUsers } from './store.ts';

export type RoleChange = { replace: readonly string[] } | { remove: readonly string[] };

/** What a request asks for one user. Texts are clean, ids canonical. */
export type UserChange = {
  id: string;
  fields: FieldChanges;
  roles?: RoleChange;
  /** The password is set beside, in the same transaction. */
  setsPassword?: boolean;
  at: (field: string) => string;
};

export type Plan = { ids: readonly string[]; changes: readonly PlannedChange[]; roleNames: RoleNames };
type RoleNames = ReadonlyMap<string, string>;
type Check = { ifMatch?: readonly number[] | null; idsField?: string };

/**
 * Locks the users, and the actor with them. Throws 404, 401 and 403 (no longer entitled), 412, 403, in this order;
 * `idsField` is where a list of ids stands in the request.
 */
export async function planChanges(
  tx: Tx,
  actor: Actor,
  wanted: readonly UserChange[],
  { ifMatch = null, idsField }: Check,
): Promise<Plan> {
  const ids = wanted.map((one) => one.id);
  const locked = new Map((await lockUsers(tx, [...ids, actor.user_id])).map((user) => [user.user_id, user]));
  const found = new Map(ids.flatMap((id) => locked.get(id) ?? []).map((user) => [user.user_id, user]));
  if (idsField === undefined && found.size < ids.length) throw new AppError('user_not_found');
  requireAllFound('user_not_found', idsField ?? 'id', ids, [...found.keys()]);
  const roleNames = await requireRoles(tx, wanted, found);
  const present = await requireStillEntitled(tx, actor);
  const planned = wanted.map((one) => planOne(one, found.get(one.id) as VersionedUser));
  for (const { before } of planned)
    await requireVersion(ifMatch, before.version, () => toUser(before, actor.graph));
  const changes = planned.filter(
    ({ fields, addedRoles, removedRoles, setsPassword }) =>
      setsPassword || addedRoles.length + removedRoles.length + Object.keys(fields).length > 0,
  );
  await requireMayChange(tx, present, changes);
  return { ids, changes, roleNames };
}

function planOne(
  { fields, roles, setsPassword = false, at }: UserChange,
  before: VersionedUser,
): PlannedChange {
  const differing = Object.entries(fields).filter(
    ([field, value]) => before[field as keyof FieldChanges] !== value,
  );
  const held = new Set(before.role_ids);
  const replaced = roles && 'replace' in roles ? new Set(roles.replace) : held;
  const removed = roles && 'remove' in roles ? new Set(roles.remove) : new Set<string>();
  return {
    before,
    fields: Object.fromEntries(differing),
    addedRoles: [...replaced].filter((id) => !held.has(id)),
    removedRoles: before.role_ids.filter((id) => !replaced.has(id) || removed.has(id)),
    setsPassword,
    at,
  };
}

/** The names of the roles that are asked for, and of those that the users have. Throws `role_not_found`. */
async function requireRoles(
  tx: Tx,
  wanted: readonly UserChange[],
  users: ReadonlyMap<string, VersionedUser>,
): Promise<RoleNames> {
  const changing = wanted.filter((one) => one.roles !== undefined);
  if (changing.length === 0) return new Map();
  const asked = canonicalIds(changing.flatMap(({ roles }) => Object.values(roles ?? {}).flat()));
  const held = changing.flatMap(({ id }) => users.get(id)?.role_ids ?? []);
  const roles = await lockRoles(tx, canonicalIds([...asked, ...held]));
  const names = new Map(roles.map((role) => [role.id, role.name]));
  requireAllFound('role_not_found', changing[0]?.at('role_id') ?? 'role_id', asked, [...names.keys()]);
  return names;
}

/** In the transaction of the plan. Answers the users as they are now, in the order of the request. Throws 409. */
export async function carryOut(
  tx: Tx,
  deps: UserDeps,
  client: Client,
  actor: Actor,
  { ids, changes, roleNames }: Plan,
): Promise<VersionedUser[]> {
  const touched = changes.filter(
    ({ fields, addedRoles, removedRoles }) =>
      addedRoles.length + removedRoles.length + Object.keys(fields).length > 0,
  );
  if (touched.length > 0) {
    await updateFields(tx, touched);
    const moved = touched.filter(({ before, fields }) => (fields.email ?? before.email) !== before.email);
    await endPendingLinks(
      tx,
      moved.map(({ before }) => before.user_id),
    );
    await requireSuperuserAfter(tx, touched);
    await removeRoleLinks(tx, linksOf(touched, 'removedRoles'));
    await addRoleLinks(tx, linksOf(touched, 'addedRoles'));
    const closed = touched.filter(({ fields }) => fields.is_active === false);
    const ended = await endSessionsOfUsers(
      tx,
      closed.map(({ before }) => before.user_id),
      'deactivated',
    );
    const events = touched.flatMap((change) => eventsOf(actor, change, roleNames, ended));
    await recordChanges(tx, deps.log, client, events);
  }
  const now = new Map((await findUsersByIds(tx, ids)).map((user) => [user.user_id, user]));
  return ids.map((id) => now.get(id) as VersionedUser);
}

const linksOf = (changes: readonly PlannedChange[], which: 'addedRoles' | 'removedRoles') =>
  changes.flatMap((change) => change[which].map((roleId) => ({ userId: change.before.user_id, roleId })));

async function updateFields(tx: Tx, changes: readonly PlannedChange[]): Promise<void> {
  if (changes.some(({ fields }) => fields.email !== undefined)) await lockEmails(tx);
  try {
    await updateUsers(
      tx,
      changes.map(({ before, fields }) => ({ id: before.user_id, fields })),
    );
  } catch (error) {
    if (brokenConstraint(error) !== 'users_email_key') throw error;
    // PostgreSQL names the address: `Key (email)=(ada@example.com) already exists.`
    const taken = /\(email\)=\((.+?)\)/.exec((error as { detail?: string }).detail ?? '')?.[1];
    const atFault = changes.filter(({ fields }) => fields.email !== undefined && fields.email === taken);
    throw refusal(
      'email_taken',
      atFault.map((change) => ({ change, field: 'email' })),
      'another account has this address',
    );
  }
}

function eventsOf(
  actor: Actor,
  { before, fields, addedRoles, removedRoles }: PlannedChange,
  roleNames: RoleNames,
  ended: readonly string[],
): AuditEvent[] {
  const about = { actorId: actor.user_id, resourceType: 'user', resourceId: before.user_id };
  const events: AuditEvent[] = [];
  if (Object.keys(fields).length > 0) {
    const sessions = ended.filter((userId) => userId === before.user_id).length;
    events.push({
      action: 'user_updated',
      ...about,
      before: { ...before },
      after: fields,
      ...(sessions > 0 ? { details: { sessions_ended: sessions } } : {}),
    });
  }
  if (addedRoles.length + removedRoles.length > 0) {
    const removed = new Set(removedRoles);
    const kept = before.role_ids.filter((id) => !removed.has(id));
    const namesOf = (ids: readonly string[]) => ids.map((id) => roleNames.get(id) ?? id).sort();
    events.push({
      action: 'user_roles_changed',
      ...about,
      before: { roles: namesOf(before.role_ids) },
      after: { roles: namesOf([...kept, ...addedRoles]) },
    });
  }
  return events;
}
