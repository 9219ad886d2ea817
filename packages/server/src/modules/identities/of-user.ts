// The identities of a user, for administrators. No administrator can add one: that would be taking the account over.
import type { Identity, IdentityDisconnected } from '@castellan/contract/identities';
import { AppError } from '../../platform/errors.ts';
import { type Caller, sessionIdOf } from '../authz/caller.ts';
import { type ChangeDeps, change } from '../authz/change.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import { requireFreshCall } from '../authz/requirements/call.ts';
import { endPendingLinks } from '../users/changes/change-store.ts';
import { requireMayActOn } from '../users/protection.ts';
import { findUserById } from '../users/store.ts';
import { disconnect } from './disconnecting.ts';
import { type IdentityDeps, toIdentity } from './own.ts';
import { listIdentities } from './store.ts';

/** Throws `user_not_found` (404). */
export async function listIdentitiesOf(
  { db }: Pick<IdentityDeps, 'db'>,
  userId: string,
): Promise<Identity[]> {
  if (!(await findUserById(db, userId))) throw new AppError('user_not_found');
  return (await listIdentities(db, userId)).map(toIdentity);
}

/**
 * Disconnects an identity of a user, also the last way to sign in: the mail of a password reset is one, too. On the caller's own
 * account it asks for what their own operation asks for. Throws 404, 403 (standing, a proof that is too old), 409.
 */
export const disconnectOf = (
  deps: IdentityDeps & ChangeDeps,
  caller: Caller,
  { userId, identityId }: { userId: string; identityId: string },
): Promise<IdentityDisconnected> =>
  change(deps, caller, async (locking) => {
    const { tx } = locking;
    const { client, principal } = caller;
    const { entitled, user } = await requireMayActOn(locking, userId);
    const isOwn = principal.type === 'user' && principal.id === user.user_id;
    if (isOwn) await requireFreshCall(tx, deps, principal);
    const { sessionIds, entry } = await disconnect(tx, deps, client, {
      owner: { id: user.user_id, email: user.email },
      identityId,
      keepsAnotherWay: isOwn,
    });
    await endPendingLinks(entitled, [user.user_id]);
    const result = {
      sessions: entry.details.sessions,
      signed_out: isOwn && sessionIds.includes(sessionIdOf(principal) ?? ''),
    };
    return entitled.done(result, sameAccess, entry);
  });
