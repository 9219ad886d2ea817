// Ends sessions when a provider says that they have ended there (OpenID Connect Back-Channel Logout 1.0, 2.6 to 2.8).
// It must not say whether it knows the person: every token that counts gets one answer.
import type { Clock } from '../../platform/clock.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import type { Tx } from '../../schema/database.ts';
import { type AuditEvent, type Audited, inRecordedTransaction } from '../audit/service.ts';
import { findActiveProvider } from '../identity-providers/store.ts';
import { UpstreamError } from '../identity-providers/upstream/assertion.ts';
import { type LogoutToken, readLogoutToken } from '../identity-providers/upstream/logout-token.ts';
import type { SendingDeps } from '../identity-providers/upstream/sending.ts';
import { revokeLiveSessions } from '../sessions/service.ts';
import { findNamedUsers, lockUsers, type Named, takeNamed, useLogoutToken } from './backchannel-store.ts';

export type BackchannelDeps = Audited & SendingDeps & { clock: Clock };

const refusal = (detail: string): AppError => new AppError('invalid_request', { detail });

/** Ends the sessions that the token names. Throws `invalid_request` (400) for one that does not count, and for the second use. */
export async function logoutByProvider(
  deps: BackchannelDeps,
  client: Client,
  { slug, logout_token: text }: { slug: string; logout_token: string },
): Promise<void> {
  const provider = await findActiveProvider(deps.db, slug);
  if (!provider) throw refusal('There is no such identity provider, or it is not active.');
  const token = await readLogoutToken(deps, provider, text).catch((error: unknown) => {
    throw error instanceof UpstreamError ? refusal(`The logout token does not count: ${error.code}.`) : error;
  });
  const isUnused = await inRecordedTransaction(deps, client, async (tx) => {
    const { jti, expiresAt } = token;
    if (!(await useLogoutToken(tx, { providerId: provider.id, jti, expiresAt })))
      return { result: false, events: [] };
    return { result: true, events: await endNamed(tx, provider, token) };
  });
  if (!isUnused) throw refusal('The logout token was used before.');
}

async function endNamed(
  tx: Tx,
  { id: providerId, slug }: { id: string; slug: string },
  { issuer, sub, sid }: LogoutToken,
): Promise<AuditEvent[]> {
  const named: Named = { providerId, issuer, sub, sid };
  const userIds = await findNamedUsers(tx, named);
  if (userIds.length === 0) return [];
  await lockUsers(tx, userIds);
  const ended = await revokeLiveSessions(tx, await takeNamed(tx, named, userIds), 'provider_logout', null);
  return ended.map(({ user_id, count, ids }) => ({
    action: 'session_revoked',
    actorId: null,
    resourceId: user_id,
    details: { reason: 'provider_logout', provider: slug, sessions_ended: count, session_ids: ids },
  }));
}
