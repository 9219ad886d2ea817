// Decides what a user must do first, before their sessions count for anything else.
// Everything that takes a session for a caller asks here, inside the service and for others (introspection).
import { type Acr, reaches } from '@castellan/contract/authentication';
import { AppError } from '../../platform/errors.ts';
import type { Db } from '../../schema/database.ts';
import { stepUpRequired, strongestFactor } from '../factors/service.ts';
import { isByToken, type PersonPrincipal, type Principal } from './caller.ts';
import { strongerOf } from './graph/needs.ts';
import { accountLevel, type Judging, type Policy } from './requirements/account.ts';

/**
 * By what it is decided. An account without a password cannot change it, so it never must. `required`: how the user must have
 * signed in; null for no matter how.
 */
export type Obliged = {
  readonly must_change_password: boolean;
  readonly has_password: boolean;
  readonly required: Acr | null;
};

export type Pending = { first: 'password_change' } | { first: 'second_factor'; required: Acr };

/** Returns what the principal must do first; null if nothing. Service accounts must do nothing. */
export const requirementOf = (principal: Principal, obliged: Obliged): Pending | null =>
  principal.type === 'user' ? pendingAt(signedInAt(principal), obligedNow(principal, obliged)) : null;

/** A personal access token counts as its owner had signed in when they made it. */
const signedInAt = (principal: PersonPrincipal): Acr =>
  isByToken(principal) ? principal.personalToken.madeAt : principal.session.context.acr;

/** The password of an account is the user's to change, not that of somebody who acts as the user. */
const obligedNow = ({ actor }: PersonPrincipal, obliged: Obliged): Obliged =>
  actor ? { ...obliged, must_change_password: false } : obliged;

/** Returns what a user who signed in at this level must do first; null if nothing. */
export function pendingAt(
  acr: Acr,
  { must_change_password, has_password, required }: Obliged,
): Pending | null {
  if (must_change_password && has_password) return { first: 'password_change' };
  if (required === null || reaches(acr, required)) return null;
  return { first: 'second_factor', required };
}

/** Returns what the principal must do first, by its row and the graph; null if nothing. */
export const pendingOf = (principal: Principal, judging: Judging): Pending | null =>
  principal.type === 'user' ? requirementOf(principal, obligedIn(principal, judging)) : null;

const obligedIn = ({ record, subject, actor }: PersonPrincipal, judging: Judging): Obliged => ({
  must_change_password: record.must_change_password,
  has_password: record.has_password,
  required: strongerOf(accountLevel(judging, subject), actor && accountLevel(judging, actor)),
});

/** Returns the refusal of everything else. Users with a factor that would do are told to use it, others to set one up. */
export async function refusalUntil(
  db: Db,
  { rpIds }: Pick<Policy, 'rpIds'>,
  principal: Principal,
  pending: Pending,
): Promise<AppError> {
  if (pending.first === 'password_change') return new AppError('password_change_required');
  if (isByToken(principal))
    return new AppError('user_session_required', {
      detail:
        'Your account must now sign in more strongly than when this personal access token was made. Sign in with a second factor, and make a new one.',
    });
  const { required } = pending;
  const strongest = await strongestFactor(db, principal.id, rpIds);
  return strongest !== null && reaches(strongest, required)
    ? stepUpRequired({ acr: required, maxAgeSeconds: null })
    : new AppError('second_factor_enrolment_required', { members: { required_acr: required } });
}
