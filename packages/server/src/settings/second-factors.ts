// Settings: second factors, and how recently somebody must have proved who they are.
import { choice, list, number, optional, setting, timestamp } from '../platform/config/config.ts';

export const secondFactorsSettings = {
  secondFactors: setting(
    'SECOND_FACTORS',
    list(choice('totp')),
    'What people can set up as a second factor: `totp` (authenticator apps). Empty for nothing. Factors that are set up are asked for whatever it says.',
    { default: 'totp', emptyCounts: true },
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
