// Resets second factors for the command line: the way back for the only superuser. No request can reach this code.
import { inTransaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Audited, recordChange } from '../../audit/service.ts';
import { lockUserByEmail } from '../superuser-store.ts';
import { carryOutReset, detailsOf, type ResetDeps } from './reset.ts';

/**
 * Resets the factors of the account of this canonical email and returns the recovery link. Returns null if there is no
 * account. Throws `no_factor` (409), and `conflict` (409) for an account that is not active.
 */
export const resetByCommand = (
  deps: Audited & Pick<ResetDeps, 'recoveryLinks' | 'accountMail'>,
  email: string,
): Promise<{ url: string; expiresAt: Date } | null> =>
  inTransaction(deps.db, async (tx) => {
    const user = await lockUserByEmail(tx, email);
    if (!user) return null;
    const done = await carryOutReset(tx, deps, { user, deliver: 'show' });
    const { at, recoveryUrl, expiresAt } = done;
    if (recoveryUrl === null)
      throw new AppError('conflict', { detail: 'The account is not active: activate it first.' });
    await deps.accountMail.enqueue(tx, 'second_factor_reset', {
      email,
      at: at.toISOString(),
      network: '',
      user_agent: null,
      deliver: 'show',
    });
    await recordChange(tx, deps.auditLog, null, {
      action: 'second_factor_reset',
      actorId: null,
      resourceId: user.user_id,
      details: { ...detailsOf(email, 'show', done), via: 'command_line' },
    });
    return { url: recoveryUrl, expiresAt };
  });
