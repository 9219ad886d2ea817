// Accepts invitations: the person with the mailed link chooses the password of the account.
// It must not start a session: the page signs in afterwards, as everybody does.
import type { AcceptInvitationBody } from '@castellan/contract/invitations';
import type { User } from '@castellan/contract/users';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import type { Client } from '../../platform/http/client.ts';
import type { Tx } from '../../schema/database.ts';
import { recordBounded } from '../audit/service.ts';
import { findPasswordHolder, type PasswordHolder } from '../passwords/service.ts';
import { refuseWhereRequired } from '../required-providers/service.ts';
import { cleanNames, markAccepted, present, recordLanguage } from '../users/service.ts';
import { languageOf } from './mail-language.ts';
import { consumeOneTimeToken, endOneTimeTokens, findTokenOwner } from './one-time-tokens.ts';
import { setPasswordByLink } from './password-change.ts';
import type { RegistrationDeps } from './registration.ts';

type Names = Pick<PasswordHolder, 'first_name' | 'last_name'>;

/**
 * Sets the first password of an invited account and verifies its email. Throws `invitation_token_invalid`, `invalid_input` or
 * `password_rejected` (400), `validation_failed` or `provider_required` (422), or `rate_limited` (429) after too many rejected passwords. The link stays
 * usable after a rejected password.
 */
export async function acceptInvitation(
  deps: RegistrationDeps,
  client: Client,
  { token, password, first_name, last_name, ...rest }: AcceptInvitationBody,
): Promise<User> {
  allHandled(rest);
  const given = cleanNames({ first_name, last_name });
  const owner = await findTokenOwner(deps.db, 'invitation', token);
  const holder = owner && (await findPasswordHolder(deps.db, owner.user_id));
  if (!holder) throw await refusal(deps, client);
  refuseWhereRequired(deps, holder.email);
  const names = namesOf(holder, given);
  const consume = async (tx: Tx): Promise<void> => {
    const consumed = await consumeOneTimeToken(tx, 'invitation', token);
    if (!consumed || !(await markAccepted(tx, consumed.user_id, { email: consumed.email, ...names })))
      throw new AppError('invitation_token_invalid');
    await endOneTimeTokens(tx, 'invitation', consumed.user_id);
    const language = languageOf(client);
    if (language !== null) await recordLanguage(tx, consumed.user_id, language);
  };
  // As for a reset: attempts on one account wait in the gate, without a connection.
  const record = await deps.attemptGate.run(`reset ${holder.user_id}`, client, async () => {
    if ((await findTokenOwner(deps.db, 'invitation', token)) === undefined) throw await refusal(deps, client);
    return setPasswordByLink(
      deps,
      client,
      { ...holder, ...names },
      { newPassword: password, consume, action: 'invitation_accepted' },
    ).catch(async (error: unknown) => {
      // The invitation was accepted or withdrawn while the password was hashed.
      const isLinkInvalid =
        error instanceof AppError && ['invitation_token_invalid', 'conflict'].includes(error.code);
      throw isLinkInvalid ? await refusal(deps, client) : error;
    });
  });
  return (await present(deps, record)).record;
}

/** Returns the names of the account. Throws `validation_failed` (422) for one that the invitation lacks and nobody sent. */
function namesOf(invited: Names, given: Partial<Names>): Names {
  const missing = (['first_name', 'last_name'] as const).filter(
    (field) => given[field] === undefined && invited[field] === '',
  );
  if (missing.length > 0)
    throw new AppError('validation_failed', {
      detail: `${missing.join(' and ')} must be sent, because the invitation has none.`,
      errors: missing.map((field) => ({ field, code: 'required', message: 'is required' })),
    });
  return {
    first_name: given.first_name ?? invited.first_name,
    last_name: given.last_name ?? invited.last_name,
  };
}

/** Records the refusal of a link in the audit log. Returns the error to throw. */
async function refusal(deps: RegistrationDeps, client: Client): Promise<AppError> {
  const reason = 'invitation_token_invalid';
  await recordBounded(deps, client, {
    action: 'password_refused',
    actorId: null,
    details: { attempted: 'invitation_accepted', reason },
  });
  return new AppError(reason);
}
