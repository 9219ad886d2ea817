// The applications that a user uses, for administrators. What the user agreed to is for themselves: see own.ts.
import type { UserApplication } from '@castellan/contract/application-grants';
import { AppError } from '../../platform/errors.ts';
import type { Caller } from '../authz/caller.ts';
import { requireMayUse } from '../authz/requirements/call.ts';
import { accessIn } from './own.ts';
import type { GrantDeps } from './service.ts';
import { findOwnApplications, hasUser } from './store.ts';

/**
 * Returns the applications that have access now, by name. Throws, in order, `user_not_found`, `permission_denied` or
 * `step_up_required` (403).
 */
export async function listApplicationsOf(
  { db }: GrantDeps,
  caller: Caller,
  userId: string,
): Promise<UserApplication[]> {
  if (!(await hasUser(db, userId))) throw new AppError('user_not_found');
  requireMayUse(caller, 'application.read');
  return (await findOwnApplications(db, userId)).flatMap((row) => {
    const access = accessIn(row);
    return access ? [{ id: row.id, name: row.name, access }] : [];
  });
}
