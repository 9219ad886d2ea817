// Finds out whom the link of an invitation is for, and under which names they accept it. It must not use the link up.
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import { recordBounded } from '../../audit/service.ts';
import { findPasswordHolder, type PasswordHolder } from '../../passwords/service.ts';
import { refuseWhereRequired } from '../../required-providers/service.ts';
import { cleanNames } from '../../users/service.ts';
import { findTokenOwner } from '../one-time-tokens.ts';
import type { RegistrationDeps } from '../registration.ts';
import type { SecondFactorDeps } from '../second-factors/deps.ts';

export type InvitationDeps = RegistrationDeps & SecondFactorDeps;

type Names = Pick<PasswordHolder, 'first_name' | 'last_name'>;
type GivenNames = { [Name in keyof Names]: Names[Name] | undefined };

/**
 * Returns the account of the link, with the names that it will have. Throws `invitation_token_invalid` or `invalid_input` (400), and
 * `validation_failed` or `provider_required` (422).
 */
export async function invitedBy(
  deps: RegistrationDeps,
  client: Client,
  token: string,
  names: GivenNames,
): Promise<PasswordHolder> {
  const given = cleanNames(names);
  const owner = await findTokenOwner(deps.db, 'invitation', token);
  const holder = owner && (await findPasswordHolder(deps.db, owner.user_id));
  if (!holder) throw await refusal(deps, client);
  refuseWhereRequired(deps, holder.email);
  return { ...holder, ...namesOf(holder, given) };
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
export async function refusal(deps: RegistrationDeps, client: Client): Promise<AppError> {
  const reason = 'invitation_token_invalid';
  await recordBounded(deps, client, {
    action: 'password_refused',
    actorId: null,
    details: { attempted: 'invitation_accepted', reason },
  });
  return new AppError(reason);
}
