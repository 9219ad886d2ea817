// Settings: second factors, and how recently somebody must have proved who they are.
import { choice, list, number, setting } from '../platform/config/config.ts';

export const secondFactorsSettings = {
  secondFactors: setting(
    'SECOND_FACTORS',
    list(choice('totp')),
    'What people can set up as a second factor: `totp` (authenticator apps). Empty for nothing. Factors that are set up are asked for whatever it says.',
    { default: 'totp', emptyCounts: true },
  ),
  stepUpMaxAgeMinutes: setting(
    'STEP_UP_MAX_AGE',
    number(1, 60),
    'How recent a proof must be for changes of second factors, in minutes.',
    { default: '10' },
  ),
};
