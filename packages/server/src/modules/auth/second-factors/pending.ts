// Opens the second step of a sign-in: what the client gets instead of a session.
// Nothing is signed in by it: the session, its tokens and its cookie are made after the last proof.
import type { SecondFactorRequest } from '@castellan/contract/authentication';
import type { Client } from '../../../platform/http/client.ts';
import { randomToken } from '../../../platform/ids.ts';
import { networkOf } from '../../../platform/security/client-address.ts';
import type { Tx } from '../../../schema/database.ts';
import { findFactorFacts, hashOf, methodsOf, openPending } from '../../factors/service.ts';
import { preferredMethods, type RequirementDeps } from './requirement.ts';

type Proved = {
  userId: string;
  client: Client;
  /** The id in the CSRF cookie: only this browser can go on. */
  browserId: string;
  session_epoch: number;
  password_epoch: number;
};

/** Call it with the lock of the user's row, after the right password. */
export async function openSecondStep(
  tx: Tx,
  { settings }: Pick<RequirementDeps, 'settings'>,
  proved: Proved,
): Promise<SecondFactorRequest> {
  const facts = await findFactorFacts(tx, proved.userId);
  if (!facts) throw new Error('the account of a sign-in is gone under its lock');
  const token = randomToken();
  const expiresAt = await openPending(tx, {
    token_hash: hashOf(token),
    user_id: proved.userId,
    browser_hash: hashOf(proved.browserId),
    device_id: null,
    network: networkOf(proved.client.address),
    session_epoch: proved.session_epoch,
    password_epoch: proved.password_epoch,
  });
  const methods = await preferredMethods(tx, settings, proved.userId, methodsOf(facts));
  return { token, expires_at: expiresAt.toISOString(), methods };
}
