// Opens the second step of a sign-in: what the client gets instead of a session.
// Nothing is signed in by it: the session, its tokens and its cookie are made after the last proof.
import type { SecondFactorRequest } from '@castellan/contract/authentication';
import type { Client } from '../../../platform/http/client.ts';
import { randomToken } from '../../../platform/ids.ts';
import { networkOf } from '../../../platform/security/client-address.ts';
import type { Db, Tx } from '../../../schema/database.ts';
import { policyOf } from '../../authz/requirements/account.ts';
import { findAccountLevel } from '../../authz/requirements/standing.ts';
import { type DeviceSettings, isOpenForCodes, mayTrustDevice } from '../../devices/service.ts';
import {
  askablePasskeys,
  type FactorFacts,
  findFactorFacts,
  hashOf,
  listPasskeys,
  methodsOf,
  openPending,
  type PasskeyDeps,
  passkeyRequest,
} from '../../factors/service.ts';
import type { SessionOrigin } from '../../sessions/service.ts';
import { preferring, type RequirementDeps } from './requirement.ts';

type Proved = {
  userId: string;
  client: Client;
  /** The id in the CSRF cookie: only this browser can go on. */
  browserId: string;
  /** The known device that it comes from; null if there is none. */
  deviceId: string | null;
  session_epoch: number;
  password_epoch: number;
  /** Of a sign-in that began with an identity. */
  origin?: SessionOrigin;
};

const noOrigin: SessionOrigin = { identity_id: null, provider_sid: null, provider_id_token_sealed: null };

type PendingDeps = PasskeyDeps &
  Pick<RequirementDeps, 'settings'> & { settings: DeviceSettings & { lockoutAttempts: number } };

/** Call it with the lock of the user's row, after the right password, or what a provider said. */
export async function openSecondStep(
  tx: Tx,
  deps: PendingDeps,
  proved: Proved,
): Promise<SecondFactorRequest> {
  const facts = await findFactorFacts(tx, proved.userId);
  if (!facts) throw new Error('the account of a sign-in is gone under its lock');
  const passkeys = askablePasskeys(deps.passkeySite, await listPasskeys(tx, proved.userId));
  const methods = methodsOf(await asSeenFrom(tx, deps.settings, proved, facts), passkeys);
  const token = randomToken();
  const tokenHash = hashOf(token);
  const expiresAt = await openPending(tx, {
    token_hash: tokenHash,
    user_id: proved.userId,
    browser_hash: hashOf(proved.browserId),
    device_id: proved.deviceId,
    network: networkOf(proved.client.address),
    session_epoch: proved.session_epoch,
    password_epoch: proved.password_epoch,
    ...(proved.origin ?? noOrigin),
  });
  const required = await findAccountLevel(tx, policyOf(deps.settings), proved.userId);
  return {
    token,
    expires_at: expiresAt.toISOString(),
    methods: preferring(methods, required),
    ...(passkeys && methods.includes('passkey')
      ? { passkey: passkeyRequest(deps, ceremonyOf(tokenHash), passkeys, 'preferred').options }
      : {}),
    may_trust_device: mayTrustDevice(deps.settings, required),
  };
}

/** An app that is closed to others is open to a known device. */
export async function asSeenFrom(
  db: Db,
  { lockoutAttempts }: PendingDeps['settings'],
  { userId, deviceId }: Pick<Proved, 'userId' | 'deviceId'>,
  facts: FactorFacts,
): Promise<FactorFacts> {
  if (facts.codes_locked_until === null || deviceId === null) return facts;
  const isOpen = await isOpenForCodes(db, { userId, deviceId }, lockoutAttempts);
  return isOpen ? { ...facts, codes_locked_until: null } : facts;
}

/** What the challenges of a second step are bound to. */
export const ceremonyOf = (tokenHash: Buffer) =>
  ({ purpose: 'second_factor', binding: tokenHash.toString('hex') }) as const;
