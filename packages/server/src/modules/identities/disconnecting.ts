// Disconnects an identity from its account, with the sessions that began with it, and tells its owner.
// It must not decide who may: own.ts and of-user.ts do.
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import type { Tx } from '../../schema/database.ts';
import type { AccountMail } from '../auth/mails.ts';
import { seenFrom, warn } from '../auth/warn.ts';
import { revokeLiveSessions } from '../sessions/service.ts';
import { requireWayToSignIn, type SignInWaysDeps } from '../sign-in-ways/service.ts';
import { deleteIdentity, findSessionsOf, keepIdentity } from './store.ts';

export type DisconnectDeps = SignInWaysDeps & { accountMail: AccountMail };

type Owner = { id: string; email: string };

type Disconnected = {
  /** Ids of the sessions that ended. */
  sessionIds: readonly string[];
  entry: {
    action: 'identity_disconnected';
    resourceId: string;
    details: { email: string; provider: string; subject: string; sessions: number };
  };
};

type How = {
  /** Whether the account must keep another way to sign in. */
  keepsAnotherWay: boolean;
};

/**
 * Call it with the lock of the owner's row. Throws `identity_not_found` (404), and `last_sign_in_method` (409) if another way to
 * sign in must stay and there is none.
 */
export async function disconnect(
  tx: Tx,
  deps: DisconnectDeps,
  client: Client,
  { owner, identityId, keepsAnotherWay }: How & { owner: Owner; identityId: string },
): Promise<Disconnected> {
  const found = await keepIdentity(tx, owner.id, identityId);
  if (!found) throw new AppError('identity_not_found');
  const sessionIds = await findSessionsOf(tx, { userId: owner.id, identityId: found.id });
  const [ended] = await revokeLiveSessions(tx, sessionIds, 'identity_disconnected', null);
  await deleteIdentity(tx, found.id);
  if (keepsAnotherWay) await requireWayToSignIn(tx, deps, owner);
  await warn(tx, deps, 'identity_disconnected', {
    ...seenFrom(client, owner.email, found.now),
    provider: found.name,
  });
  return {
    sessionIds,
    entry: {
      action: 'identity_disconnected',
      resourceId: owner.id,
      details: {
        email: owner.email,
        provider: found.slug,
        subject: found.subject,
        sessions: ended?.count ?? 0,
      },
    },
  };
}
