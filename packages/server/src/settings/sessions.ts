// Settings: how long sessions and tokens last.
import { flag, flagOr, integer, number, orOff, setting } from '../platform/config/config.ts';

export const sessionsSettings = {
  accessTokenMinutes: setting(
    'ACCESS_TOKEN_EXPIRE_MINUTES',
    number(0.01, 1_440),
    'Lifetime of an access token, in minutes.',
    { default: '30' },
  ),
  refreshTokenDays: setting(
    'REFRESH_TOKEN_EXPIRE_DAYS',
    number(0.0001, 365),
    'Lifetime of a refresh token, in days.',
    { default: '7' },
  ),
  sessionMaxDays: setting(
    'SESSION_MAX_DAYS',
    number(0, 3_650),
    'How long after its sign-in a session ends, however often it is refreshed, in days. No token of it is valid for longer. 0: never.',
    { default: '90' },
  ),
  sessionIdleMinutes: setting(
    'SESSION_IDLE_MINUTES',
    orOff(integer(1, 525_600)),
    'How long after its last refresh a session ends, in minutes, or `off`. Access tokens then last at most half as long, so that clients in use refresh in time.',
    { default: 'off' },
  ),
  refreshReuseSeconds: setting(
    'REFRESH_REUSE_INTERVAL',
    integer(0, 600),
    'Time during which an exchanged refresh token still returns its successor, for retries and parallel tabs, in seconds.',
    { default: '30' },
  ),
  keyAnnounceMinutes: setting(
    'KEY_ANNOUNCE_MINUTES',
    integer(1, 10_080),
    'How long a new signing key is in the key set before it signs, and the former one at least that long after, in minutes. `castellan rotate-keys` reads it. Set it longer than your gateways and meshes keep a copy of the key set.',
    { default: '30' },
  ),
  concurrentSessionLimit: setting(
    'CONCURRENT_SESSION_LIMIT',
    integer(-1, 1_000),
    'Maximum number of live sessions of one user. A further sign-in ends the oldest. 0 or less: no limit.',
    { default: '5' },
  ),
  consentDays: setting(
    'CONSENT_DAYS',
    integer(0, 3_650),
    'After how many days people are asked again whether an application that is not `first_party` may have what it asks for. 0: never.',
    { default: '0' },
  ),
  logoutNoticeHours: setting(
    'LOGOUT_NOTICE_HOURS',
    integer(1, 168),
    'How long Castellan tries to tell an application that a session has ended, in hours.',
    { default: '24' },
  ),
  providerRequired: setting(
    'PROVIDER_REQUIRED',
    flag,
    'Whether `required_for_domains` of identity providers counts. `off` lets people with these email addresses sign in with their password while their provider cannot.',
    { default: 'on' },
  ),
  validateTokenIp: setting(
    'VALIDATE_TOKEN_IP',
    flagOr('by-family'),
    'Refuse a refresh from another network (IPv4 /24, IPv6 /64) than the sign-in. `by-family` suits clients with IPv4 and IPv6: the first refresh over the other family is taken from everywhere, and its network is remembered. See docs/operate/production.md.',
    { default: 'true' },
  ),
};
