// Carries out planned changes of one or many users, all or none, on behalf of an administrator.
// It checks nothing: change-plans.ts locks and checks everything first.

import { brokenConstraint } from '../../../platform/db/failures.ts';
import type { Tx } from '../../../schema/database.ts';
import {
  changesRoles,
  type RoleNames,
  rolesDelta,
  rolesEntry,
  writeRoles,
} from '../../assignments/service.ts';
import { type Done, type Entitled, type Entry, isNonEmpty } from '../../authz/change.ts';
import type { AccessDelta } from '../../authz/impact/impact.ts';
import { endSessionsOfUsers } from '../../sessions/service.ts';
import type { VersionedUser } from '../presentation.ts';
import { type PlannedChange, refusal, requireSuperuserAfter } from '../protection.ts';
import { findUsersByIds } from '../store.ts';
import { changesRecord, type Plan, plannedRolesOf } from './change-plans.ts';
import { endDeletions, endPendingLinks, lockEmails, updateUsers } from './change-store.ts';

/** Carries out a plan and ends its change. Returns the changed users in the order of the request. Throws 409. */
export async function carryOut(plan: Plan): Promise<Done<VersionedUser[]>> {
  const { users, entries } = await write(plan);
  return isNonEmpty(entries)
    ? plan.entitled.done(users, deltaOf(plan), ...entries)
    : plan.entitled.unchanged(users);
}

/** Returns what a plan does to access. */
export const deltaOf = (plan: Plan): AccessDelta => ({
  ...rolesDelta(plannedRolesOf(plan)),
  subjects: plan.changes.flatMap(({ before, fields: { is_active, is_superuser } }) =>
    is_active === undefined && is_superuser === undefined
      ? []
      : [
          {
            id: before.user_id,
            ...(is_active === undefined ? {} : { is_active }),
            ...(is_superuser === undefined ? {} : { is_superuser }),
          },
        ],
  ),
});

/** Carries out a plan within a larger change, which ends with these entries and its own. Throws 409. */
export async function write({
  entitled,
  ids,
  changes,
  roleNames,
}: Plan): Promise<{ users: VersionedUser[]; entries: readonly Entry[] }> {
  const { tx } = entitled;
  let entries: readonly Entry[] = [];
  await endPendingLinks(entitled, idsOf(changes.filter(changesAccess)));
  const touched = changes.filter(changesRecord);
  if (touched.length > 0) {
    await updateFields(entitled, touched);
    await endDeletions(entitled, idsOf(touched.filter(endsDeletion)));
    await requireSuperuserAfter(tx, touched);
    await writeRoles(
      entitled,
      touched.map(({ roles }) => roles),
    );
    const ended = await endSessions(tx, touched);
    entries = touched.flatMap((change) => entriesOf(change, roleNames, ended));
  }
  const now = new Map((await findUsersByIds(tx, ids)).map((user) => [user.user_id, user]));
  return { users: ids.flatMap((id) => now.get(id) ?? []), entries };
}

const idsOf = (changes: readonly PlannedChange[]): string[] => changes.map(({ before }) => before.user_id);

const changesAccess = ({ fields, setsPassword }: PlannedChange): boolean =>
  setsPassword ||
  fields.email !== undefined ||
  fields.is_active !== undefined ||
  fields.verified !== undefined;

/** Returns whether the change ends the plan of an owner to delete the account. */
const endsDeletion = ({ before, fields }: Pick<PlannedChange, 'before' | 'fields'>): boolean =>
  before.deletion_due_at !== null && fields.is_active !== undefined;

/** Returns why the change ends the user's sessions; null if it does not. A new password has ended them already. */
function endOfSessions({ fields }: PlannedChange): string | null {
  if (fields.is_active === false) return 'deactivated';
  if (fields.email !== undefined) return 'email_changed';
  return fields.verified === false ? 'unverified' : null;
}

/** Returns how many live sessions ended, by user. */
async function endSessions(tx: Tx, changes: readonly PlannedChange[]): Promise<ReadonlyMap<string, number>> {
  const ended = new Map<string, number>();
  for (const [reason, ending] of Map.groupBy(changes, endOfSessions)) {
    if (reason === null) continue;
    for (const [userId, count] of await endSessionsOfUsers(tx, idsOf(ending), reason))
      ended.set(userId, count);
  }
  return ended;
}

async function updateFields(entitled: Entitled, changes: readonly PlannedChange[]): Promise<void> {
  if (changes.some(({ fields }) => fields.email !== undefined)) await lockEmails(entitled.tx);
  try {
    await updateUsers(
      entitled,
      changes.map(({ before, fields }) => ({ id: before.user_id, fields })),
    );
  } catch (error) {
    const field = uniqueFields.find((one) => brokenConstraint(error) === `users_${one}_key`);
    if (field === undefined) throw error;
    throw refusal(
      `${field}_taken`,
      changes.filter((change) => isTaken(change, field, error)).map((change) => ({ change, field })),
      'belongs to another account',
    );
  }
}

/** What no two users have in common. */
export const uniqueFields = ['email', 'external_id'] as const;

/** PostgreSQL names the value in the detail of its error, such as `Key (email)=(ada@example.com) already exists.` */
function isTaken({ fields }: PlannedChange, field: (typeof uniqueFields)[number], error: unknown): boolean {
  const detail = error instanceof Error && 'detail' in error ? error.detail : undefined;
  return (
    typeof detail === 'string' && fields[field] != null && detail.includes(`(${field})=(${fields[field]})`)
  );
}

function entriesOf(
  { before, fields, roles }: PlannedChange,
  roleNames: RoleNames,
  ended: ReadonlyMap<string, number>,
): Entry[] {
  const entries: Entry[] = [];
  if (Object.keys(fields).length > 0) {
    const sessions = ended.get(before.user_id) ?? 0;
    entries.push({
      action: 'user_updated',
      resourceType: 'user',
      resourceId: before.user_id,
      before: { ...before },
      after: {
        ...fields,
        // The database ends the invitation of an account that is verified.
        ...(before.invited_at !== null && fields.verified === true ? { invited_at: null } : {}),
        ...(endsDeletion({ before, fields }) ? { deletion_due_at: null } : {}),
      },
      ...(sessions > 0 ? { details: { sessions_ended: sessions } } : {}),
    });
  }
  if (changesRoles(roles)) entries.push(rolesEntry(roles, roleNames));
  return entries;
}
