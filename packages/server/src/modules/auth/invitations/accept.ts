// Accepts invitations: the person with the mailed link chooses the password of the account, or makes a passkey for it.
// It must not start a session: the page signs in afterwards, as everybody does.
import type { AcceptedInvitation, AcceptInvitationBody } from '@castellan/contract/invitations';
import { AppError } from '../../../platform/errors.ts';
import { allHandled } from '../../../platform/fields.ts';
import type { Client } from '../../../platform/http/client.ts';
import type { Tx } from '../../../schema/database.ts';
import type { PasswordHolder } from '../../passwords/service.ts';
import { markAccepted, present, recordLanguage, type VersionedUser } from '../../users/service.ts';
import { languageOf } from '../mail-language.ts';
import { consumeOneTimeToken, endOneTimeTokens, findTokenOwner } from '../one-time-tokens.ts';
import { setPasswordByLink } from '../password-change.ts';
import { readRegistration } from '../second-factors/passkeys/registration.ts';
import { requireOne } from '../second-factors/proofs.ts';
import { type InvitationDeps, invitedBy, refusal } from './invited.ts';
import { acceptByPasskey, requirePasskeys } from './passkey.ts';

type Accepted = { record: VersionedUser; recoveryCodes?: string[] };

/**
 * Lets the person into an invited account and verifies its email. Throws `invitation_token_invalid`, `invalid_input` or
 * `password_rejected` (400), `validation_failed`, `provider_required` or `passkey_refused` (422), `passkeys_unavailable` or
 * `passkey_taken` (409), or `rate_limited` (429) after too many rejected passwords. The link stays usable after a refused password
 * or passkey.
 */
export async function acceptInvitation(
  deps: InvitationDeps,
  client: Client,
  { token, password, passkey, first_name, last_name, ...rest }: AcceptInvitationBody,
): Promise<AcceptedInvitation> {
  allHandled(rest);
  requireOne({ password, passkey }, ['password', 'passkey']);
  const response = passkey === undefined ? undefined : readRegistration(passkey);
  if (response) requirePasskeys(deps);
  const holder = await invitedBy(deps, client, token, { first_name, last_name });
  const consume = (tx: Tx): Promise<void> => useLink(tx, client, token, holder);
  // As for a reset: attempts on one account wait in the gate, without a connection.
  const { record, recoveryCodes } = await deps.attemptGate.run(
    `reset ${holder.user_id}`,
    client,
    async (): Promise<Accepted> => {
      if ((await findTokenOwner(deps.db, 'invitation', token)) === undefined)
        throw await refusal(deps, client);
      try {
        if (response) return await acceptByPasskey(deps, client, { holder, token, response, consume });
        const chosen = { newPassword: password ?? '', consume, action: 'invitation_accepted' } as const;
        return { record: await setPasswordByLink(deps, client, holder, chosen) };
      } catch (error) {
        // The invitation was accepted or withdrawn while something was hashed.
        const isLinkInvalid =
          error instanceof AppError && ['invitation_token_invalid', 'conflict'].includes(error.code);
        throw isLinkInvalid ? await refusal(deps, client) : error;
      }
    },
  );
  const user = (await present(deps, record)).record;
  return recoveryCodes ? { ...user, recovery_codes: recoveryCodes } : user;
}

/** Uses the link up and ends the invitation. Throws `invitation_token_invalid`. */
async function useLink(
  tx: Tx,
  client: Client,
  token: string,
  { first_name, last_name }: Pick<PasswordHolder, 'first_name' | 'last_name'>,
): Promise<void> {
  const consumed = await consumeOneTimeToken(tx, 'invitation', token);
  const names = { first_name, last_name };
  if (!consumed || !(await markAccepted(tx, consumed.user_id, { email: consumed.email, ...names })))
    throw new AppError('invitation_token_invalid');
  await endOneTimeTokens(tx, 'invitation', consumed.user_id);
  const language = languageOf(client);
  if (language !== null) await recordLanguage(tx, consumed.user_id, language);
}
