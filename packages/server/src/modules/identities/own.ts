// The identities of the caller's own account: which there are, and how one is taken away.
import type { Identity, IdentityDisconnected, OwnIdentities } from '@castellan/contract/identities';
import { AppError } from '../../platform/errors.ts';
import { inRecordedTransaction } from '../audit/service.ts';
import type { PersonCaller, UserCaller } from '../authz/caller.ts';
import { type FreshnessDeps, requireFresh } from '../factors/service.ts';
import { lockEpoch } from '../passwords/service.ts';
import { lockLiveSession, type SessionDeps } from '../sessions/service.ts';
import { type DisconnectDeps, disconnect } from './disconnecting.ts';
import { type IdentityRow, listConnectable, listIdentities } from './store.ts';

export type IdentityDeps = DisconnectDeps & SessionDeps & FreshnessDeps;

export const toIdentity = ({ slug, name, ...row }: IdentityRow): Identity => ({
  id: row.id,
  provider: { slug, name },
  subject: row.subject,
  email: row.email,
  display_name: row.display_name,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
});

/** Returns what the caller can sign in by, and what they can still connect. */
export async function listOwnIdentities(
  { db }: Pick<IdentityDeps, 'db'>,
  { principal: { id, record } }: PersonCaller,
): Promise<OwnIdentities> {
  const [rows, providers] = await Promise.all([listIdentities(db, id), listConnectable(db, id)]);
  return { identities: rows.map(toIdentity), has_password: record.has_password, providers };
}

/**
 * Disconnects an identity, which ends the sessions that began with it, also the caller's. Throws `step_up_required` (403),
 * `identity_not_found` (404) and `last_sign_in_method` (409).
 */
export const disconnectOwn = (
  deps: IdentityDeps,
  { client, principal }: UserCaller,
  identityId: string,
): Promise<IdentityDisconnected> =>
  inRecordedTransaction(deps, client, async (tx) => {
    const locked = await lockEpoch(tx, principal.id);
    if (!locked || !(await lockLiveSession(tx, principal.id, principal.session.id)))
      throw new AppError('token_revoked');
    await requireFresh(tx, deps, principal);
    const { sessionIds, entry } = await disconnect(tx, deps, client, {
      owner: { id: principal.id, email: locked.email },
      identityId,
      keepsAnotherWay: true,
    });
    return {
      result: {
        sessions: entry.details.sessions,
        signed_out: sessionIds.includes(principal.session.id),
      },
      events: [{ ...entry, actorId: principal.id }],
    };
  });
