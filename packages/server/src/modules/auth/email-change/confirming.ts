// Confirms a new email address with the link that was mailed to it. The former address gets a link that undoes the change.
// It must not start a session.
import { brokenConstraint } from '../../../platform/db/failures.ts';
import { afterCommit, inTransaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import type { Tx } from '../../../schema/database.ts';
import { recordBounded, recordChange } from '../../audit/service.ts';
import { refuseWhereRequired } from '../../required-providers/service.ts';
import { endOtherSessions } from '../../sessions/service.ts';
import { lockEmails } from '../../users/service.ts';
import { consumeOneTimeToken, turnKeyOf } from '../one-time-tokens.ts';
import { seenFrom } from '../warn.ts';
import type { EmailChangeDeps } from './requesting.ts';
import { confirmRequest, endOtherLinks, setEmail } from './store.ts';

/**
 * Changes the address, and ends every session but the one that asked, and the account's other links; links that undo earlier changes
 * go on. Throws `email_change_token_invalid` (400), `email_taken` (409) and `provider_required` (422); the link stays usable after
 * the last two.
 */
export async function confirmEmailChange(
  deps: EmailChangeDeps,
  client: Client,
  token: string,
): Promise<void> {
  const isDone = await deps.attemptGate.run(turnKeyOf(token), client, () =>
    inTransaction(deps.db, (tx) => confirm(tx, deps, client, token)),
  );
  if (isDone) return;
  throw await linkRefusal(deps, client, 'email_change_token_invalid');
}

/** Records the refusal of a link in the audit log. Returns the error to throw. */
export async function linkRefusal(
  deps: EmailChangeDeps,
  client: Client,
  reason: 'email_change_token_invalid' | 'email_undo_token_invalid',
): Promise<AppError> {
  await recordBounded(deps, client, { action: 'verification_refused', actorId: null, details: { reason } });
  return new AppError(reason);
}

async function confirm(tx: Tx, deps: EmailChangeDeps, client: Client, token: string): Promise<boolean> {
  const consumed = await consumeOneTimeToken(tx, 'change_email', token);
  const change = consumed?.email_change_id && (await confirmRequest(tx, consumed.email_change_id));
  if (!change) return false;
  const { id, user_id: userId, former_email: former, new_email: email, now } = change;
  for (const one of [former, email]) refuseWhereRequired(deps, one);
  await changeEmail(tx, userId, email);
  await endOtherLinks(tx, userId);
  const ended = await endOtherSessions(tx, userId, change.session_id, 'email_changed');
  await deps.accountMail.enqueue(tx, 'email_changed', { ...seenFrom(client, email, now), change: id });
  afterCommit(tx, () => deps.accountMail.wake());
  await recordChange(tx, deps.auditLog, client, {
    action: 'email_changed',
    actorId: userId,
    resourceType: 'user',
    resourceId: userId,
    before: { email: former },
    after: { email },
    details: { sessions_ended: ended },
  });
  return true;
}

/** Throws `email_taken` (409). */
export async function changeEmail(tx: Tx, userId: string, email: string): Promise<void> {
  await lockEmails(tx);
  try {
    await setEmail(tx, userId, email);
  } catch (error) {
    if (brokenConstraint(error) !== 'users_email_key') throw error;
    throw new AppError('email_taken');
  }
}
