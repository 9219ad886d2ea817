// Lists and ends what people gave applications, for administrators. What people see and take back themselves is in own.ts.
import type { AccessGrant, AccessGrantPage, AccessGrantQuery } from '@castellan/contract/application-grants';
import { AppError } from '../../platform/errors.ts';
import { shownEmail } from '../../platform/security/email.ts';
import type { Caller } from '../authz/caller.ts';
import { change, type Entry, lockSubjects } from '../authz/change.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import type { PreviewDeps } from '../authz/impact/preview.ts';
import { requireMayUse } from '../authz/requirements/call.ts';
import { tellApplications } from '../openid/told-applications.ts';
import { requireMayActOn } from '../users/protection.ts';
import {
  countGrants,
  endAllGrants,
  endGrant,
  endGrantsOf,
  findGrants,
  findName,
  type GrantRow,
  lockApplication,
} from './store.ts';

/** `previewGate` limits how many grants are counted at once in this process: of a million it takes a second. */
export type GrantDeps = PreviewDeps;

/**
 * Returns one page of the live grants of an application, newest first. Throws `permission_denied`, `step_up_required` (403),
 * `application_not_found`.
 */
export async function listGrants(
  { db }: GrantDeps,
  caller: Caller,
  applicationId: string,
  { user_id, size, cursor }: AccessGrantQuery,
): Promise<Omit<AccessGrantPage, 'message'>> {
  if ((await findName(db, applicationId)) === undefined) throw new AppError('application_not_found');
  requireMayUse(caller, 'users.read');
  // One grant more than requested shows whether there is a next page.
  const rows = await findGrants(db, applicationId, {
    userId: user_id ?? null,
    after: cursor ?? null,
    limit: size + 1,
  });
  const page = rows.slice(0, size);
  return {
    data: page.map(toGrant),
    next_cursor: rows.length > size ? (page.at(-1)?.id ?? null) : null,
  };
}

const toGrant = ({ user_id, name, email, ...row }: GrantRow): AccessGrant => ({
  id: row.id,
  user: { id: user_id, name, email: shownEmail(email) },
  session_id: row.session_id,
  scopes: row.scopes,
  resources: row.resources,
  offline: row.offline,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
  expires_at: row.expires_at.toISOString(),
});

/** Returns the audit entry of access to an application that ended. */
export const endedEntry = (
  { id, name }: { id: string; name: string },
  details: { reason: 'administrator' | 'withdrawn'; grants: number; user_id?: string; grant_id?: string },
): Entry => ({
  action: 'application_access_ended',
  resourceType: 'application',
  resourceId: id,
  resourceName: name,
  details,
});

/** Ends every grant of an application. Returns how many were live. Throws 404, 401, 403. */
export async function endGrantsOfApplication(
  deps: GrantDeps,
  caller: Caller,
  id: string,
): Promise<{ grants: number }> {
  const { grants } = await deps.previewGate.run('all', caller.client, () => countGrants(deps.db, id));
  return change(deps, caller, async (locking) => {
    await lockSubjects(locking, {});
    const name = await lockApplication(locking.tx, id);
    if (name === undefined) throw new AppError('application_not_found');
    const entitled = await locking.entitle();
    await endAllGrants(entitled, id);
    return entitled.done(
      { grants },
      sameAccess,
      endedEntry({ id, name }, { reason: 'administrator', grants }),
    );
  });
}

/** Ends one grant of an application. Throws 404 (no such application, or no such grant that has not ended), 401, 403. */
export const endGrantOfApplication = (
  deps: GrantDeps,
  caller: Caller,
  id: string,
  grantId: string,
): Promise<{ grants: number }> =>
  change(deps, caller, async (locking) => {
    await lockSubjects(locking, {});
    const name = await lockApplication(locking.tx, id);
    if (name === undefined) throw new AppError('application_not_found');
    const entitled = await locking.entitle();
    const ended = await endGrant(entitled, id, grantId);
    if (!ended) throw new AppError('access_grant_not_found');
    const { user_id, session_id: sessionId } = ended;
    await tellApplications(locking.tx, { userId: user_id, sessionId, applicationId: id }, 'access_ended');
    const details = { reason: 'administrator', grants: 1, user_id, grant_id: grantId } as const;
    return entitled.done({ grants: 1 }, sameAccess, endedEntry({ id, name }, details));
  });

/** Ends what a user gave an application. Returns how many grants were live. Throws 404 (user, application), 401, 403. */
export const endAccessOfUser = (
  deps: GrantDeps,
  caller: Caller,
  userId: string,
  id: string,
): Promise<{ grants: number }> =>
  change(deps, caller, async (locking) => {
    const { entitled } = await requireMayActOn(locking, userId);
    const name = await lockApplication(locking.tx, id);
    if (name === undefined) throw new AppError('application_not_found');
    const grants = await endGrantsOf(locking.tx, id, userId, 'access_ended');
    await tellApplications(locking.tx, { userId, applicationId: id }, 'access_ended');
    if (grants === 0) return entitled.unchanged({ grants });
    const details = { reason: 'administrator', grants, user_id: userId } as const;
    return entitled.done({ grants }, sameAccess, endedEntry({ id, name }, details));
  });
