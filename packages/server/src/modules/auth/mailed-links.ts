// Further operations of a mailed link: check whether it still works, verify the email and set a new password, or
// decline a registration that somebody else made with the email.
import type { CheckLinkBody, LinkState } from '@castellan/contract/auth';
import type { User } from '@castellan/contract/users';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { shownEmail } from '../../platform/security/email.ts';
import type { Tx } from '../../schema/database.ts';
import { recordChange } from '../audit/service.ts';
import { findPasswordHolder } from '../passwords/service.ts';
import {
  deletePendingRegistration,
  isPendingRegistration,
  markVerified,
  readRecord,
} from '../users/service.ts';
import { findAddresses, isOfPresentEmail } from './email-change/store.ts';
import type { InvitationDeps } from './invitations/invited.ts';
import { canAcceptByPasskey } from './invitations/passkey.ts';
import {
  consumeOneTimeToken,
  findTokenOwner,
  hashOfToken,
  isOfVerifiedUser,
  turnKeyOf,
} from './one-time-tokens.ts';
import { setPasswordByLink } from './password-change.ts';
import { finishVerification, linkRefusal, type RegistrationDeps } from './registration.ts';

/** Returns whether a link works now, and for whom. Without a valid token, the result reveals nothing about the account. */
export async function checkLink(deps: InvitationDeps, { purpose, token }: CheckLinkBody): Promise<LinkState> {
  const isVerification = purpose === 'verify_email';
  const isOfAccount = isVerification || purpose === 'invitation';
  if (isOfAccount && (await isOfVerifiedUser(deps.db, token, purpose)))
    return { valid: false, already_verified: true, declinable: false };
  if (purpose === 'change_email' && (await isOfPresentEmail(deps.db, hashOfToken(token))))
    return { valid: false, already_verified: true, declinable: false };
  const owner = await findTokenOwner(deps.db, purpose, token);
  if (!owner) return { valid: false, already_verified: false, declinable: false };
  return {
    valid: true,
    already_verified: false,
    declinable: isVerification && (await isPendingRegistration(deps.db, owner.user_id)),
    email: shownEmail(await addressOf(deps, purpose, owner)),
    ...(purpose === 'invitation'
      ? { ...(await namesOf(deps, owner.user_id)), passkey: canAcceptByPasskey(deps) }
      : {}),
  };
}

/** Returns the address of the account; for a link that changes it, the one that it gets. */
async function addressOf(
  deps: RegistrationDeps,
  purpose: CheckLinkBody['purpose'],
  { email, email_change_id: id }: NonNullable<Awaited<ReturnType<typeof findTokenOwner>>>,
): Promise<string> {
  const change = id === null ? undefined : await findAddresses(deps.db, id);
  if (!change) return email;
  return purpose === 'revert_email' ? change.former_email : change.new_email;
}

/** Returns the names that the accept page shows; those of the invitation. */
async function namesOf(
  deps: RegistrationDeps,
  id: string,
): Promise<{ first_name: string; last_name: string }> {
  const { first_name, last_name } = await readRecord(deps.db, id);
  return { first_name, last_name };
}

/**
 * Verifies the email and replaces the password that was chosen at registration. Ends every session, every pending link
 * and the lock. Throws `verification_token_invalid`, `already_verified` or `password_rejected` (400), or `rate_limited`
 * (429) after too many rejected passwords. The link stays usable after a rejected password.
 */
export async function verifyEmailWithPassword(
  deps: RegistrationDeps,
  client: Client,
  token: string,
  newPassword: string,
): Promise<User> {
  const owner = await findTokenOwner(deps.db, 'verify_email', token);
  const holder = owner && (await findPasswordHolder(deps.db, owner.user_id));
  if (!holder) throw await linkRefusal(deps, client, token);
  const consume = async (tx: Tx): Promise<void> => {
    const consumed = await consumeOneTimeToken(tx, 'verify_email', token);
    if (!consumed || !(await markVerified(tx, consumed.user_id, consumed.email)))
      throw new AppError('verification_token_invalid');
  };
  // As for a reset: attempts on one account wait in the gate, without a connection.
  const record = await deps.attemptGate.run(`reset ${holder.user_id}`, client, async () => {
    if ((await findTokenOwner(deps.db, 'verify_email', token)) === undefined)
      throw await linkRefusal(deps, client, token);
    return setPasswordByLink(deps, client, holder, { newPassword, consume }).catch(async (error: unknown) => {
      // The link became invalid while the password was hashed.
      const isLinkInvalid = error instanceof AppError && error.code === 'verification_token_invalid';
      throw isLinkInvalid ? await linkRefusal(deps, client, token) : error;
    });
  });
  return finishVerification(deps, client, record);
}

/**
 * Removes the account that somebody else registered with the email of the link's holder; the email can be registered
 * again. Throws `verification_token_invalid`, `already_verified` or `registration_not_pending` (400), and
 * GateFullError. The link stays usable after the last two.
 */
export async function declineRegistration(
  deps: RegistrationDeps,
  client: Client,
  token: string,
): Promise<void> {
  const declined = await deps.attemptGate.run(turnKeyOf(token), client, () =>
    inTransaction(deps.db, async (tx) => {
      const consumed = await consumeOneTimeToken(tx, 'verify_email', token);
      if (!consumed) return null;
      const { user_id: id, email } = consumed;
      if ((await readRecord(tx, id)).verified) return null;
      if (!(await deletePendingRegistration(tx, id))) throw new AppError('registration_not_pending');
      await recordChange(tx, deps.auditLog, client, {
        action: 'registration_declined',
        actorId: null,
        resourceId: id,
        details: { email },
      });
      return id;
    }),
  );
  if (declined === null) throw await linkRefusal(deps, client, token);
}
