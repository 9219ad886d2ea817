// Knows the browsers that people have signed in from, by the tokens in their cookie, and which of them are trusted.
// It starts no session and ends no lock: modules/auth and modules/lockout ask it.
import { createHash } from 'node:crypto';
import type { Acr } from '@castellan/contract/authentication';
import { newId, randomToken } from '../../platform/ids.ts';
import type { Tx } from '../../schema/database.ts';
import { type DeviceUse, findKnownDevice, insertDevice, renewDevice } from './store.ts';

export {
  countDeviceCodeFailure,
  isOpenForCodes,
  releaseDeviceSlot,
  settleDeviceFailure,
  settleDeviceSuccess,
  takeDeviceSlot,
} from './attempts-store.ts';
export { countTrustedDevices, deleteDevices, deleteIdleDevices, isTrusted, listDevices } from './store.ts';

export type DeviceSettings = {
  /** 0: no device is known. */
  knownDeviceDays: number;
  /** 0: no device is trusted. */
  trustedDeviceDays: number;
  lockExemptsKnownDevices: boolean;
  signInAlerts: 'second_factor' | 'everyone' | 'off';
};

/** Tokens in one cookie, so that some people can share a browser. */
export const MAX_TOKENS = 5;

/** The key of a token: its SHA-256. */
export const deviceHash = (token: string): Buffer => createHash('sha256').update(token).digest();

/**
 * Returns whether an account may trust a device now. `requiredAcr`: the level that a setting or a role requires of the
 * account; such an account proves its factor at every sign-in.
 */
export const mayTrustDevice = (
  { trustedDeviceDays }: Pick<DeviceSettings, 'trustedDeviceDays'>,
  requiredAcr: Acr | null = null,
): boolean => trustedDeviceDays > 0 && requiredAcr === null;

/** Returns whether sign-ins of an account are remembered as devices. */
export const isRemembered = (
  { knownDeviceDays, lockExemptsKnownDevices, signInAlerts }: DeviceSettings,
  hasFactor: boolean,
): boolean => knownDeviceDays > 0 && (hasFactor || lockExemptsKnownDevices || signInAlerts === 'everyone');

/** Returns whether sign-ins of an account from an unknown device are mailed. */
export const isAlerted = ({ signInAlerts }: DeviceSettings, hasFactor: boolean): boolean =>
  signInAlerts === 'everyone' || (signInAlerts === 'second_factor' && hasFactor);

/** Returns the account's known device that a browser with these tokens is; null if it is none. */
export async function findDeviceId(
  tx: Tx,
  { knownDeviceDays }: Pick<DeviceSettings, 'knownDeviceDays'>,
  userId: string,
  tokens: readonly string[],
): Promise<string | null> {
  if (tokens.length === 0 || knownDeviceDays === 0) return null;
  return (await findKnownDevice(tx, userId, tokens.map(deviceHash), knownDeviceDays)).id;
}

/** A sign-in that leaves a device. */
export type SignInFrom = {
  userId: string;
  /** Those of the cookie, newest first. */
  tokens: readonly string[];
  network: string;
  userAgent: string | null;
  /** The account's `session_epoch` if the device is to be trusted, else null. */
  trustedEpoch: number | null;
};

/** `tokens`: what the cookie must hold now. `isUnexpected`: the account knew devices, but not this one. */
export type SignedInFrom = { id: string; tokens: string[]; isUnexpected: boolean };

/**
 * Remembers the device of a sign-in. Call it with the lock of the user's row. A token is used again only for the account that
 * it was made for, and never for new trust: a cookie that somebody planted is worth nothing.
 */
export async function rememberDevice(
  tx: Tx,
  { knownDeviceDays, trustedDeviceDays }: DeviceSettings,
  { userId, tokens, network, userAgent, trustedEpoch }: SignInFrom,
): Promise<SignedInFrom> {
  const hashes = tokens.map(deviceHash);
  const { id: knownId, token_hash, has_known } = await findKnownDevice(tx, userId, hashes, knownDeviceDays);
  const known = token_hash && tokens.find((token) => deviceHash(token).equals(token_hash));
  const token = known && trustedEpoch === null ? known : randomToken();
  const use: DeviceUse = {
    token_hash: deviceHash(token),
    network,
    user_agent: userAgent,
    trust: trustedEpoch === null ? null : { epoch: trustedEpoch, days: trustedDeviceDays },
  };
  const id = knownId ?? newId();
  if (knownId === null) await insertDevice(tx, { id, user_id: userId }, use);
  else await renewDevice(tx, knownId, use);
  const others = tokens.filter((one) => one !== token && one !== known);
  return { id, tokens: [token, ...others].slice(0, MAX_TOKENS), isUnexpected: knownId === null && has_known };
}
