// Undoes a change of an email address with the link that was mailed to the former one: the way back for the owner of a hijacked
// account. The person who made the change may know the password and have added ways to sign in, so nothing of that is left.
// It must not start a session.
import { afterCommit, inTransaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import type { Tx } from '../../../schema/database.ts';
import { recordChange } from '../../audit/service.ts';
import { clearCodeFailures, deleteRecoveryCodes, hasFactor } from '../../factors/service.ts';
import { clearAttempts } from '../../lockout/service.ts';
import { removePassword } from '../../passwords/service.ts';
import { endAllSessions } from '../../sessions/service.ts';
import { deletePendingRegistration, endOwnDeletion } from '../../users/service.ts';
import { consumeOneTimeToken, findTokenOwner, turnKeyOf } from '../one-time-tokens.ts';
import { changeEmail, linkRefusal } from './confirming.ts';
import type { EmailChangeDeps } from './requesting.ts';
import {
  type ConfirmedChange,
  endOtherLinks,
  findConfirmed,
  findHolderId,
  lockWithHolder,
  removeAddedSince,
} from './store.ts';

/**
 * Restores the former address, whatever it was changed to since, and keeps an account that was deleted since. Ends every session, the password, the links of this change and of
 * later ones, and what was added to sign in with since the change was requested; a mail that sets a password goes to the address.
 * Throws `email_undo_token_invalid` (400), and `email_taken` (409), after which the link stays usable.
 */
export async function undoEmailChange(deps: EmailChangeDeps, client: Client, token: string): Promise<void> {
  const isDone = await deps.attemptGate.run(turnKeyOf(token), client, () =>
    inTransaction(deps.db, async (tx) => {
      const change = await takeUp(tx, token);
      if (!change) return false;
      await undo(tx, deps, client, change);
      return true;
    }),
  );
  if (isDone) return;
  throw await linkRefusal(deps, client, 'email_undo_token_invalid');
}

/** Uses the link up, and locks the account with the one that has the former address, if there is one. */
async function takeUp(tx: Tx, token: string): Promise<ConfirmedChange | undefined> {
  const found = await findTokenOwner(tx, 'revert_email', token);
  const change = found?.email_change_id && (await findConfirmed(tx, found.email_change_id));
  if (!change) return undefined;
  await lockWithHolder(tx, change.user_id, change.former_email);
  const consumed = await consumeOneTimeToken(tx, 'revert_email', token);
  // Read again, under the locks.
  return consumed && (await findConfirmed(tx, change.id));
}

async function undo(tx: Tx, deps: EmailChangeDeps, client: Client, change: ConfirmedChange): Promise<void> {
  const { user_id: userId, former_email: email } = change;
  await takeFromRegistration(tx, deps, client, change);
  await changeEmail(tx, userId, email);
  // Nobody can change the address of an account that waits for its deletion: a person who planned it may be the one who changed the address.
  const isKept = await endOwnDeletion(tx, userId);
  await endOtherLinks(tx, userId, change);
  const removed = await removeAddedSince(tx, userId, change.requested_at);
  if (!(await hasFactor(tx, userId))) {
    await deleteRecoveryCodes(tx, userId);
    await clearCodeFailures(tx, userId);
  }
  await removePassword(tx, userId);
  const { count } = await endAllSessions(tx, userId, 'email_change_reverted');
  await clearAttempts(tx, email);
  // Where a provider is required, a password is no way to sign in.
  if (!deps.requiredProviders.find(email)) {
    await deps.accountMail.enqueue(tx, 'password_reset', { email });
    afterCommit(tx, () => deps.accountMail.wake());
  }
  await recordChange(tx, deps.auditLog, client, {
    action: 'email_change_reverted',
    actorId: userId,
    resourceType: 'user',
    resourceId: userId,
    before: { email: change.email },
    after: { email },
    details: { removed, sessions_ended: count },
  });
  if (isKept)
    await recordChange(tx, deps.auditLog, client, {
      action: 'self_deletion_undone',
      actorId: userId,
      resourceType: 'user',
      resourceId: userId,
      details: { email, reason: 'email_change_reverted' },
    });
}

/**
 * Removes a registration with the address that nobody has verified: the link proves the mailbox, and a hijacker
 * could keep the address by such a registration. Throws `email_taken` (409) for any other account.
 */
async function takeFromRegistration(
  tx: Tx,
  deps: EmailChangeDeps,
  client: Client,
  { user_id: userId, former_email: email }: ConfirmedChange,
): Promise<void> {
  const id = await findHolderId(tx, email);
  if (id === undefined || id === userId) return;
  if (!(await deletePendingRegistration(tx, id))) throw new AppError('email_taken');
  await recordChange(tx, deps.auditLog, client, {
    action: 'registration_declined',
    actorId: null,
    resourceId: id,
    details: { email },
  });
}
