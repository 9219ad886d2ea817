// Lets an administrator act as a user for a while, to see what the user sees.
// It must not let anybody do more than they may do themselves: see requireMayActAs.
import { ACTING_MINUTES, type ActAsBody, type ActingToken } from '@castellan/contract/sessions';
import { AppError } from '../../../platform/errors.ts';
import { cleanName } from '../../../platform/security/record-text.ts';
import type { Tx } from '../../../schema/database.ts';
import type { UserCaller } from '../../authz/caller.ts';
import { change } from '../../authz/change.ts';
import { sameAccess } from '../../authz/impact/impact.ts';
import { requireFresh } from '../../factors/service.ts';
import { type ActingDeps, startActing } from '../../sessions/service.ts';
import type { UserAdminDeps } from '../changes/administration.ts';
import { requireMayActAs } from '../protection.ts';
import { readNow } from '../second-factors/store.ts';

/** `minutes`: for how long somebody acts as the owner of the account. */
type ActingMail = { email: string; at: string; network: ''; user_agent: null; minutes: number };

export type ActAsDeps = UserAdminDeps &
  ActingDeps & {
    settings: { actAsMail: boolean };
    accountMail: { enqueue(tx: Tx, kind: 'acted_as', payload: ActingMail): Promise<void> };
  };

const MIN_REASON_LENGTH = 5;
const MAX_REASON_LENGTH = 500;

/**
 * Starts a session in which the caller acts as the user. Throws 400 (oneself), 403 (standing, a proof that is too old), 404, and
 * `conflict` (409) for an account that cannot sign in.
 */
export async function actAs(
  deps: ActAsDeps,
  caller: UserCaller,
  id: string,
  { reason: given, minutes = ACTING_MINUTES }: ActAsBody,
): Promise<ActingToken> {
  const { client, principal } = caller;
  if (principal.id === id.toLowerCase()) throw new AppError('cannot_act_as_oneself');
  const reason = cleanName(given, MAX_REASON_LENGTH, 'reason', MIN_REASON_LENGTH);
  const { accessToken, expiresAt } = await change(deps, caller, async (locking) => {
    const { tx } = locking;
    const { entitled, user } = await requireMayActAs(locking, id);
    await requireFresh(tx, deps, principal);
    if (!user.is_active || user.invited_at !== null)
      throw new AppError('conflict', {
        detail: user.is_active
          ? 'This person has not accepted the invitation yet.'
          : 'The account is not active. Activate it first.',
      });
    const now = await readNow(tx);
    const started = await startActing(tx, deps, client, {
      userId: user.user_id,
      by: principal,
      minutes,
      now,
    });
    if (deps.settings.actAsMail)
      await deps.accountMail.enqueue(tx, 'acted_as', {
        email: user.email,
        at: now.toISOString(),
        network: '',
        user_agent: null,
        minutes,
      });
    return entitled.done(started, sameAccess, {
      action: 'act_as_started',
      resourceId: user.user_id,
      details: {
        email: user.email,
        reason,
        session_id: started.sessionId,
        expires_at: started.expiresAt.toISOString(),
      },
    });
  });
  deps.accountMail.wake();
  return { access_token: accessToken, token_type: 'bearer', expires_at: expiresAt.toISOString() };
}
