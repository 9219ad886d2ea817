// Settings: the devices that people sign in from, what these spare their owners, and when a new one is mailed.
import { choice, flag, integer, SettingsError, setting } from '../platform/config/config.ts';

// Browsers keep no cookie longer (RFC 6265bis, 5.5).
const MAX_COOKIE_DAYS = 400;

export const devicesSettings = {
  knownDeviceDays: setting(
    'KNOWN_DEVICE_DAYS',
    integer(0, MAX_COOKIE_DAYS),
    'How long a device stays known after the last sign-in from it, in days. Known are the devices of accounts with a second factor; with `LOCK_EXEMPTS_KNOWN_DEVICES` or `SIGN_IN_ALERTS=everyone`, of all accounts. 0: no device is known, which takes `TRUSTED_DEVICE_DAYS=0` too.',
    { default: '180' },
  ),
  trustedDeviceDays: setting(
    'TRUSTED_DEVICE_DAYS',
    integer(0, MAX_COOKIE_DAYS),
    'How long the password alone signs in on a device that its user chose to trust at a second step, in days. At most `KNOWN_DEVICE_DAYS`. 0: no device is trusted.',
    { default: '30' },
  ),
  lockExemptsKnownDevices: setting(
    'LOCK_EXEMPTS_KNOWN_DEVICES',
    flag,
    'Whether a device that the account knows can sign in while failures of others lock its email address. Its own failures are counted apart.',
    { default: 'false' },
  ),
  signInAlerts: setting(
    'SIGN_IN_ALERTS',
    choice('second_factor', 'everyone', 'off'),
    'Who gets a mail about a sign-in from a new device: accounts with a second factor, everyone, or nobody (`off`).',
    { default: 'second_factor' },
  ),
  actAsMail: setting(
    'ACT_AS_MAIL',
    flag,
    'Whether users get a mail when an administrator begins to act as them.',
    { default: 'true' },
  ),
};

/** Throws if a device would be trusted longer than it is known. */
export function requireKnownWhileTrusted(days: { knownDeviceDays: number; trustedDeviceDays: number }): void {
  if (days.trustedDeviceDays <= days.knownDeviceDays) return;
  throw new SettingsError([
    `TRUSTED_DEVICE_DAYS is ${days.trustedDeviceDays}, and a device is known for ${days.knownDeviceDays} days only; raise KNOWN_DEVICE_DAYS, or lower TRUSTED_DEVICE_DAYS`,
  ]);
}
