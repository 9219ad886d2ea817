// Ends what began by a provider: sessions, sign-ins under way and, with the provider or its issuer, the identities.
// It must not lock users: the locked provider holds up what would add to them, and a session that ends twice counts once.
import type { Entitled } from '../authz/change.ts';
import { revokeLiveSessions } from '../sessions/service.ts';
import { deleteIdentities, deleteUnfinished, findSessionsOf, nextIdentities } from './ends-store.ts';

/** Identities whose sessions one statement ends. A million take 200 rounds. */
const BATCH = 5_000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Ends the live sessions that began by the provider, and the sign-ins under way. With `disconnect`, also deletes its
 * identities. Call it after locking the provider: a sign-in that kept it has committed by then, and others wait. Returns
 * how many ended.
 */
export async function endSignIns(
  entitled: Entitled,
  providerId: string,
  { disconnect }: { disconnect: boolean },
): Promise<{ identities: number; sessions: number }> {
  await deleteUnfinished(entitled, providerId);
  const ended = { identities: 0, sessions: 0 };
  for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
    const ids: string[] = await nextIdentities(entitled.tx, providerId, { after, limit: BATCH });
    ended.sessions += await endSessionsOf(entitled, ids);
    if (disconnect) {
      ended.identities += ids.length;
      await deleteIdentities(entitled, ids);
    }
    after = ids.length < BATCH ? undefined : ids.at(-1);
  }
  return ended;
}

async function endSessionsOf({ tx }: Entitled, identityIds: readonly string[]): Promise<number> {
  const sessionIds = identityIds.length === 0 ? [] : await findSessionsOf(tx, identityIds);
  if (sessionIds.length === 0) return 0;
  const ended = await revokeLiveSessions(tx, sessionIds, 'provider_ended', null);
  return ended.reduce((sum, { count }) => sum + count, 0);
}
