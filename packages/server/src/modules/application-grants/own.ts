// The applications that people use or agreed to, for themselves.
// It must not decide whether they are asked to agree.
import type { AccessWithdrawn, OwnApplication } from '@castellan/contract/application-grants';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { recordChanges } from '../audit/service.ts';
import { actorOf, type PersonCaller, type UserCaller } from '../authz/caller.ts';
import type { Entry } from '../authz/change.ts';
import { tellApplications } from '../openid/told-applications.ts';
import { endedEntry, type GrantDeps } from './service.ts';
import { deleteConsent, endGrantsOf, findName, findOwnApplications, type OwnRow } from './store.ts';

/** Returns the applications that the caller uses or agreed to, by name. */
export async function listOwnApplications(
  { db }: GrantDeps,
  { principal }: PersonCaller,
): Promise<OwnApplication[]> {
  return (await findOwnApplications(db, principal.id)).map(toOwn);
}

/** Returns what an application has of the person; null if it has nothing now. */
export const accessIn = (row: OwnRow): OwnApplication['access'] =>
  row.since && row.until
    ? {
        grants: row.grants,
        scopes: row.granted_scopes,
        offline: row.is_offline === true,
        since: row.since.toISOString(),
        last_used_at: row.last_used_at?.toISOString() ?? null,
        until: row.until.toISOString(),
      }
    : null;

const toOwn = (row: OwnRow): OwnApplication => ({
  id: row.id,
  name: row.name,
  home_url: row.home_url,
  policy_url: row.policy_url,
  terms_url: row.terms_url,
  access: accessIn(row),
  consent:
    row.consented_scopes && row.agreed_at
      ? {
          scopes: row.consented_scopes,
          permissions: row.permissions,
          agreed_at: row.agreed_at.toISOString(),
        }
      : null,
});

/**
 * Ends what the caller gave an application, and forgets what they agreed to. Returns both. Throws `application_not_found` for one
 * that they neither use nor agreed to.
 */
export const withdrawOwnAccess = (
  deps: GrantDeps,
  caller: UserCaller,
  applicationId: string,
): Promise<AccessWithdrawn> =>
  inTransaction(deps.db, async (tx) => {
    const { id } = caller.principal;
    const name = await findName(tx, applicationId);
    if (name === undefined) throw new AppError('application_not_found');
    // First the consent, so that authorizations that begin in the meantime find none.
    const consent = await deleteConsent(tx, applicationId, id);
    const grants = await endGrantsOf(tx, applicationId, id, 'withdrawn');
    const entries: readonly Entry[] = [
      ...(consent ? [withdrawnEntry({ id: applicationId, name }, consent)] : []),
      ...(grants > 0
        ? [endedEntry({ id: applicationId, name }, { reason: 'withdrawn', grants, user_id: id })]
        : []),
    ];
    if (entries.length === 0) throw new AppError('application_not_found');
    await tellApplications(tx, { userId: id, applicationId }, 'withdrawn');
    const actor = actorOf(caller.principal);
    await recordChanges(
      tx,
      deps.auditLog,
      caller.client,
      entries.map((entry) => ({ ...entry, ...actor })),
    );
    return { grants, consent: consent !== undefined };
  });

const withdrawnEntry = (
  { id, name }: { id: string; name: string },
  { scopes, permission_ids }: { scopes: string[]; permission_ids: string[] },
): Entry => ({
  action: 'consent_withdrawn',
  resourceType: 'application',
  resourceId: id,
  resourceName: name,
  details: { scopes, permission_ids },
});
