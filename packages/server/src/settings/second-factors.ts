// Settings: second factors, where passkeys work, and how recently somebody must have proved who they are.
import { choice, flag, list, number, optional, setting, timestamp } from '../platform/config/config.ts';
import { readPasskeyOrigin, readRpId } from '../platform/security/factors/passkey-site.ts';

export const secondFactorsSettings = {
  secondFactors: setting(
    'SECOND_FACTORS',
    list(choice('totp', 'passkey')),
    'What people can set up as a second factor: `totp` (authenticator apps), `passkey` (passkeys and security keys). Empty for nothing. Factors that are set up are asked for whatever it says.',
    { default: 'totp,passkey', emptyCounts: true },
  ),
  passkeySignIn: setting(
    'PASSKEY_SIGN_IN',
    flag,
    'Whether a passkey signs in without the password. Security keys never do.',
    { default: 'true' },
  ),
  passkeyRpId: setting(
    'PASSKEY_RP_ID',
    optional(readRpId),
    'Domain that new passkeys are bound to: the host of `PUBLIC_URL`, or a domain above it that other services of yours share. Browsers do not use passkeys of another domain.',
    { shown: 'the host of `PUBLIC_URL`' },
  ),
  passkeyOrigins: setting(
    'PASSKEY_ORIGINS',
    list(readPasskeyOrigin),
    'Origins of further pages that may use the passkeys of this service, comma-separated, such as `https://app.example.com`. `/.well-known/webauthn` lists them.',
    { default: '', shown: 'none' },
  ),
  passkeyFormerRpIds: setting(
    'PASSKEY_FORMER_RP_IDS',
    list(readRpId),
    'Domains that `PASSKEY_RP_ID` named before, comma-separated. Their passkeys still work. Each domain must serve `/.well-known/webauthn` with the origin of `PUBLIC_URL`.',
    { default: '', shown: 'none' },
  ),
  secondFactorRequiredFor: setting(
    'SECOND_FACTOR_REQUIRED_FOR',
    choice('nobody', 'superusers', 'administrators', 'everyone'),
    'Who must sign in with a second factor: `nobody`, `superusers`, `administrators` (superusers and everybody with a built-in permission outside of the group `self`) or `everyone`. Roles can require it of their holders besides.',
    { default: 'nobody' },
  ),
  secondFactorEnforcedFrom: setting(
    'SECOND_FACTOR_ENFORCED_FROM',
    optional(timestamp),
    'When that begins, such as `2027-01-31T08:00:00Z`. Until then, sign-ins announce it. Default: at once.',
    { default: '', shown: 'at once' },
  ),
  stepUpMaxAgeMinutes: setting(
    'STEP_UP_MAX_AGE',
    number(1, 60),
    'How recent a proof must be for changes of second factors, in minutes.',
    { default: '10' },
  ),
};
