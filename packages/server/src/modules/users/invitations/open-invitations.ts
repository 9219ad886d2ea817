// Sends an invitation again, or withdraws it. It must not touch an account that has accepted: the user's row is locked first.
import type { User } from '@castellan/contract/users';
import { AppError } from '../../../platform/errors.ts';
import { overLimit } from '../../../platform/http/plugins/rate-limits.ts';
import { requireVersion } from '../../../platform/http/record-version.ts';
import { lockRoles, planRoles, rolesDelta, takenBy, writeRoles } from '../../assignments/service.ts';
import type { Caller } from '../../authz/caller.ts';
import { change, type Entitled, type Locking } from '../../authz/change.ts';
import { requireMayTake } from '../../authz/delegation.ts';
import { sameAccess } from '../../authz/impact/impact.ts';
import { endPendingLinks } from '../changes/change-store.ts';
import { toUser, type VersionedUser } from '../presentation.ts';
import { requireMayActOn } from '../protection.ts';
import { present, readRecord } from '../service.ts';
import { deleteUserRow } from '../store.ts';
import type { InviteDeps } from './inviting.ts';
import { extendInvitation } from './store.ts';

/**
 * Ends the link of an invitation and sends a new one. Throws 404, 403, 409 (`not_invited`, or the account is not active, so the
 * mail would not be sent), 429 (ACCOUNT_EMAIL_LIMIT reached).
 */
export async function sendAgain(deps: InviteDeps, caller: Caller, id: string): Promise<User> {
  // Checked before counting, so that a refused request does not use up the limit of the email.
  const email = await change(deps, caller, async (locking) => {
    const { entitled, user } = await requireRecipient(locking, id);
    return entitled.unchanged(user.email);
  });
  const counted = await deps.accountMail.count(email, 'invitation');
  if (counted?.allowed === false) throw overLimit(counted);
  const record = await change(deps, caller, async (locking) => {
    const { entitled, user } = await requireRecipient(locking, id);
    await endPendingLinks(entitled, [id]);
    await extendInvitation(entitled, id);
    await deps.accountMail.enqueue(locking.tx, 'invitation', { email: user.email, counted: true });
    return entitled.done(await readRecord(locking.tx, id), sameAccess, {
      action: 'invitation_sent',
      resourceType: 'user',
      resourceId: id,
      details: { email: user.email },
    });
  });
  deps.accountMail.wake();
  return (await present(deps, record)).record;
}

async function requireRecipient(
  locking: Locking,
  id: string,
): Promise<{ entitled: Entitled; user: VersionedUser }> {
  const found = await requireMayActOn(locking, id);
  if (found.user.invited_at === null) throw new AppError('not_invited');
  if (!found.user.is_active)
    throw new AppError('conflict', {
      detail: 'The account is not active, so no mail is sent to it. Activate it first.',
    });
  return found;
}

/**
 * Removes an invited account with its roles. Returns the removed record. Throws, in order, 401, 403, 404, 403, 412, 409
 * (`not_invited`), 403 (its roles grant permissions that the caller lacks).
 */
export async function withdraw(deps: InviteDeps, caller: Caller, id: string): Promise<User> {
  const removed = await change(deps, caller, async (locking) => {
    const { tx } = locking;
    const { entitled, user } = await requireMayActOn(locking, id);
    await requireVersion(caller.ifMatch, user.version, () => toUser(user, caller.graph));
    if (user.invited_at === null) throw new AppError('not_invited');
    const plan = planRoles({
      assignee: { type: 'user', id, role_ids: user.role_ids },
      roles: { replace: [] },
      at: (field) => field,
    });
    const roles = await lockRoles(tx, user.role_ids);
    await requireMayTake(entitled, { assignments: takenBy([plan]) });
    await writeRoles(entitled, [plan]);
    await deleteUserRow(entitled, id);
    const { user_id, role_ids, authz_stamp, version, has_password, created_at, updated_at, ...before } = user;
    const delta = { ...rolesDelta([plan]), subjects: [{ id, is_deleted: true as const }] };
    return entitled.done(user, delta, {
      action: 'invitation_withdrawn',
      resourceType: 'user',
      resourceId: id,
      before: { ...before, roles: roles.map(({ name }) => name).sort() },
      after: null,
    });
  });
  return (await present(deps, removed)).record;
}
