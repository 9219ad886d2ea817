// Presents a person's own factors, with what their account requires.
import type { Factors } from '@castellan/contract/factors';
import { AppError } from '../../../platform/errors.ts';
import type { UserRow } from '../../../schema/user-record.ts';
import { findShownFactors } from '../../factors/service.ts';
import type { Context } from '../../sessions/service.ts';
import type { SecondFactorDeps } from './deps.ts';
import { requirementOf } from './requirement.ts';

/** Throws `token_revoked` if the account is gone. `context`: of the token that will read it. */
export async function readFactors(
  deps: SecondFactorDeps,
  account: UserRow,
  context: Context,
): Promise<Factors> {
  const found = await findShownFactors(deps, account.user_id);
  if (!found) throw new AppError('token_revoked');
  return {
    ...found.shown,
    requirement: await requirementOf(deps, account),
    context: { acr: context.acr, auth_time: context.authTime.toISOString() },
  };
}
