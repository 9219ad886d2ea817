// Disconnects an identity from its account, with the sessions that began with it, and tells its owner.
// It must not decide who may: own.ts and of-user.ts do.
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { type PasskeySite, usableRpIds } from '../../platform/security/factors/passkey-site.ts';
import type { Tx } from '../../schema/database.ts';
import type { AccountMail } from '../auth/mails.ts';
import { seenFrom, warn } from '../auth/warn.ts';
import type { RequiredProviders } from '../required-providers/service.ts';
import { revokeLiveSessions } from '../sessions/service.ts';
import { deleteIdentity, findSessionsOf, keepIdentity, readOtherWays } from './store.ts';

export type DisconnectDeps = {
  accountMail: AccountMail;
  passkeySite: PasskeySite;
  requiredProviders: RequiredProviders;
  settings: { passkeySignIn: boolean };
};

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
  if (keepsAnotherWay && !(await hasAnotherWay(tx, deps, owner, found.id)))
    throw new AppError('last_sign_in_method');
  const sessionIds = await findSessionsOf(tx, { userId: owner.id, identityId: found.id });
  const [ended] = await revokeLiveSessions(tx, sessionIds, 'identity_disconnected', null);
  await deleteIdentity(tx, found.id);
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

/** A password is no way to sign in where the domain of the address requires a provider. */
async function hasAnotherWay(
  tx: Tx,
  { passkeySite, requiredProviders, settings }: DisconnectDeps,
  { id: userId, email }: Owner,
  identityId: string,
): Promise<boolean> {
  const rpIds = settings.passkeySignIn ? usableRpIds(passkeySite) : [];
  const ways = await readOtherWays(tx, { userId, identityId, rpIds });
  const isPasswordOpen = requiredProviders.find(email) === undefined;
  return (ways.has_password && isPasswordOpen) || ways.has_passkey || ways.has_identity;
}
