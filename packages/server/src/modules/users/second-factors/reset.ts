// Resets the second factors of a user. Until the recovery link is used, the password alone does not sign in.
// An administrator gets no session of the user by it: the link needs the password as well.
import type { FactorsReset, ResetFactorsBody } from '@castellan/contract/user-factors';
import { AppError } from '../../../platform/errors.ts';
import { networkOf } from '../../../platform/security/client-address.ts';
import { cleanDescription } from '../../../platform/security/record-text.ts';
import type { Tx } from '../../../schema/database.ts';
import type { Caller } from '../../authz/caller.ts';
import { change } from '../../authz/change.ts';
import { sameAccess } from '../../authz/impact/impact.ts';
import { requireFreshCall } from '../../authz/requirements/call.ts';
import {
  beginRecovery,
  deleteAllFactors,
  type FreshnessDeps,
  hasFactor,
  isRecoveryPending,
  type Removed,
} from '../../factors/service.ts';
import { endAllSessions } from '../../sessions/service.ts';
import type { UserAdminDeps } from '../changes/administration.ts';
import { requireMayActOn } from '../protection.ts';
import { type ReadFactorsDeps, readUserFactors } from './reading.ts';
import { endLinksOf, readNow } from './store.ts';

/** When, and from where; `network` and `user_agent` are empty for the command line. */
type ResetMail = {
  email: string;
  at: string;
  network: string;
  user_agent: string | null;
  deliver: 'mail' | 'show';
};

export type ResetDeps = UserAdminDeps &
  ReadFactorsDeps &
  FreshnessDeps & {
    accountMail: { enqueue(tx: Tx, kind: 'second_factor_reset', payload: ResetMail): Promise<void> };
    recoveryLinks: {
      /** Issues a link, and ends an earlier one. Returns its URL; null if the account is not active. */
      issue(tx: Tx, userId: string): Promise<string | null>;
      lifetimeMinutes: number;
    };
  };

export type Reset = {
  at: Date;
  removed: Removed;
  /** How many sessions ended. */
  ended: number;
  /** Null if the link is mailed. */
  recoveryUrl: string | null;
  expiresAt: Date;
};

/**
 * Resets the factors. Throws `use_own_factors` (400), 404, 403 (standing, a proof that is too old), `no_factor` (409), and
 * `conflict` (409) for an account that is not active, because its link would not work.
 */
export async function resetFactors(
  deps: ResetDeps,
  caller: Caller,
  id: string,
  body: ResetFactorsBody,
): Promise<FactorsReset> {
  const { client, principal } = caller;
  if (principal.type === 'user' && principal.id === id.toLowerCase()) throw new AppError('use_own_factors');
  const deliver = body?.deliver ?? 'mail';
  const reason = cleanDescription(body?.reason ?? '', 'reason');
  const reset = await change(deps, caller, async (locking) => {
    const { tx } = locking;
    const { entitled, user } = await requireMayActOn(locking, id);
    if (principal.type === 'user') await requireFreshCall(tx, deps, principal);
    requireActive(user);
    const done = await carryOutReset(tx, deps, { user, deliver });
    await deps.accountMail.enqueue(tx, 'second_factor_reset', {
      email: user.email,
      at: done.at.toISOString(),
      network: networkOf(client.address),
      user_agent: client.userAgent,
      deliver,
    });
    return entitled.done(done, sameAccess, {
      action: 'second_factor_reset',
      resourceId: id,
      details: { ...detailsOf(user.email, deliver, done), ...(reason === '' ? {} : { reason }) },
    });
  });
  deps.accountMail.wake();
  const { recoveryUrl, expiresAt } = reset;
  return {
    ...(await readUserFactors(deps, id)),
    ...(recoveryUrl === null ? {} : { recovery_url: recoveryUrl }),
    expires_at: expiresAt.toISOString(),
  };
}

function requireActive({ is_active }: { is_active: boolean }): void {
  if (is_active) return;
  throw new AppError('conflict', {
    detail: 'The account is not active, so its recovery link would not work. Activate it first.',
  });
}

/** What the audit entry of a reset says. It must not have the link. */
export const detailsOf = (email: string, deliver: 'mail' | 'show', { removed, ended }: Reset) => ({
  email,
  deliver,
  removed,
  sessions_ended: ended,
});

/**
 * Removes the factors, and ends sessions, trust, sign-ins that wait, and mailed links. Call it under the lock of the user's
 * row. Throws `no_factor` (409) if the account has no factor and awaits no recovery.
 */
export async function carryOutReset(
  tx: Tx,
  { recoveryLinks }: Pick<ResetDeps, 'recoveryLinks'>,
  { user, deliver }: { user: { user_id: string }; deliver: 'mail' | 'show' },
): Promise<Reset> {
  const { user_id: id } = user;
  if (!(await hasFactor(tx, id)) && !(await isRecoveryPending(tx, id))) throw new AppError('no_factor');
  const removed = await deleteAllFactors(tx, id);
  await endLinksOf(tx, id);
  // Raises the epoch of sessions, on which trust in devices and sign-ins that wait depend.
  const { count } = await endAllSessions(tx, id, 'revoked');
  await beginRecovery(tx, id, { isHandedOver: deliver === 'show' });
  const recoveryUrl = deliver === 'show' ? await recoveryLinks.issue(tx, id) : null;
  const at = await readNow(tx);
  const expiresAt = new Date(at.getTime() + recoveryLinks.lifetimeMinutes * 60_000);
  return { at, removed, ended: count, recoveryUrl, expiresAt };
}
