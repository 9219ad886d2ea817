// Decides about recovery links in the second step of a sign-in, and mails them again.
// A link works only after the right password, for its own account, while that awaits recovery.

import { inTransaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import { networkOf } from '../../../platform/security/client-address.ts';
import type { Tx } from '../../../schema/database.ts';
import { type AuditEvent, recordBounded } from '../../audit/service.ts';
import { endRecovery, findPending, hashOf } from '../../factors/service.ts';
import { type AbuseDeps, mayMail } from '../abuse.ts';
import type { Visitor } from '../devices/cookie.ts';
import { consumeTokenOf } from '../one-time-tokens.ts';
import type { SecondFactorDeps } from './deps.ts';

export type PreparedLink = { method: 'recovery_link'; token: string };

/**
 * Uses up the link and ends the recovery. Returns false for a link that does not work. A wrong one is a try of the sign-in, and
 * no wrong code: nobody guesses 256 bits.
 */
export async function useRecoveryLink(
  tx: Tx,
  { userId, isPending }: { userId: string; isPending: boolean },
  token: string,
): Promise<boolean> {
  if (!isPending || !(await consumeTokenOf(tx, userId, { purpose: 'recover', token }))) return false;
  await endRecovery(tx, userId);
  return true;
}

/** Returns the event of a used recovery link. */
export const usedLinkEvent = ({ userId, email }: { userId: string; email: string }): AuditEvent => ({
  action: 'recovery_link_used',
  actorId: userId,
  resourceId: userId,
  details: { email },
});

/**
 * Mails the recovery link again, if the account awaits recovery, unless the administrator hands the link over: somebody who
 * has the mailbox and the password must not get around that. Throws `sign_in_expired` (422) unless the sign-in is open.
 */
export async function mailRecoveryLink(
  deps: SecondFactorDeps & AbuseDeps,
  { client, browserId }: Visitor,
  token: string,
): Promise<void> {
  const found = await findPending(deps.db, { tokenHash: hashOf(token), browserHash: hashOf(browserId) });
  if (!found) {
    const details = { method: 'recovery_link', reason: 'expired' };
    await recordBounded(deps, client, {
      action: 'second_factor_failed',
      actorId: null,
      resourceId: '',
      details,
    });
    throw new AppError('sign_in_expired');
  }
  if (!found.recovery_pending || found.recovery_handed_over) return;
  if (!(await mayMail(deps, 'recovery', found.email))) return;
  await inTransaction(deps.db, (tx) =>
    deps.accountMail.enqueue(tx, 'second_factor_reset', {
      email: found.email,
      at: found.now.toISOString(),
      network: networkOf(client.address),
      user_agent: client.userAgent,
      deliver: 'mail',
    }),
  );
  deps.accountMail.wake();
}
