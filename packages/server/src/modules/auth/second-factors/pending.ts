// Opens the second step of a sign-in: what the client gets instead of a session.
// Nothing is signed in by it: the session, its tokens and its cookie are made after the last proof.
import type { SecondFactorRequest } from '@castellan/contract/authentication';
import type { Client } from '../../../platform/http/client.ts';
import { randomToken } from '../../../platform/ids.ts';
import { networkOf } from '../../../platform/security/client-address.ts';
import type { Tx } from '../../../schema/database.ts';
import {
  askablePasskeys,
  findFactorFacts,
  hashOf,
  listPasskeys,
  methodsOf,
  openPending,
  type PasskeyDeps,
  passkeyRequest,
} from '../../factors/service.ts';
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
  deps: PasskeyDeps & Pick<RequirementDeps, 'settings'>,
  proved: Proved,
): Promise<SecondFactorRequest> {
  const facts = await findFactorFacts(tx, proved.userId);
  if (!facts) throw new Error('the account of a sign-in is gone under its lock');
  const passkeys = askablePasskeys(deps.passkeySite, await listPasskeys(tx, proved.userId));
  const methods = methodsOf(facts, passkeys);
  const token = randomToken();
  const tokenHash = hashOf(token);
  const expiresAt = await openPending(tx, {
    token_hash: tokenHash,
    user_id: proved.userId,
    browser_hash: hashOf(proved.browserId),
    device_id: null,
    network: networkOf(proved.client.address),
    session_epoch: proved.session_epoch,
    password_epoch: proved.password_epoch,
  });
  const preferred = await preferredMethods(tx, deps.settings, proved.userId, methods);
  return {
    token,
    expires_at: expiresAt.toISOString(),
    methods: preferred,
    ...(passkeys && methods.includes('passkey')
      ? { passkey: passkeyRequest(deps, ceremonyOf(tokenHash), passkeys, 'preferred').options }
      : {}),
  };
}

/** What the challenges of a second step are bound to. */
export const ceremonyOf = (tokenHash: Buffer) =>
  ({ purpose: 'second_factor', binding: tokenHash.toString('hex') }) as const;
