// Settings: how often something may be asked.
import { setting } from '../platform/config/config.ts';
import { parseRateLimit, type RateLimitRule } from '../platform/limits/rate-limit.ts';

const rateLimit = (value: string): RateLimitRule | null => parseRateLimit(value);

export const limitsSettings = {
  rateLimitLogin: setting(
    'RATE_LIMIT_LOGIN',
    rateLimit,
    'Sign-ins per client address. Write `N/second`, `N/minute`, `N/hour`, `N/day` or `off`, here and in the limits below.',
    { default: '5/minute' },
  ),
  rateLimitSecondFactor: setting(
    'RATE_LIMIT_SECOND_FACTOR',
    rateLimit,
    'Second steps of sign-ins, and sign-ins with a passkey, each per client address.',
    { default: '10/minute' },
  ),
  rateLimitPasskeyOptions: setting(
    'RATE_LIMIT_PASSKEY_OPTIONS',
    rateLimit,
    'Challenges for sign-ins with a passkey, per client address. A page asks for one when it opens.',
    { default: '60/minute' },
  ),
  rateLimitRegister: setting('RATE_LIMIT_REGISTER', rateLimit, 'Registrations per client address.', {
    default: '3/hour',
  }),
  rateLimitPasswordReset: setting(
    'RATE_LIMIT_PASSWORD_RESET',
    rateLimit,
    'Password reset requests per client address. Requests to mail a recovery link again are counted apart.',
    { default: '3/hour' },
  ),
  rateLimitNewAccessToken: setting(
    'RATE_LIMIT_NEW_ACCESS_TOKEN',
    rateLimit,
    'Calls of `new_access_token` per client address.',
    { default: '5/minute' },
  ),
  rateLimitRefresh: setting(
    'RATE_LIMIT_REFRESH',
    rateLimit,
    'Exchanges of refresh tokens (`refresh` and `new_access_token` together) per session. Those of applications are counted per sign-in to one, by each worker of each instance separately.',
    { default: '60/minute' },
  ),
  rateLimitResendVerification: setting(
    'RATE_LIMIT_RESEND_VERIFICATION',
    rateLimit,
    'Requests for a verification mail per client address.',
    { default: '3/hour' },
  ),
  rateLimitProviderStart: setting(
    'RATE_LIMIT_PROVIDER_START',
    rateLimit,
    'Sign-ins by identity providers that are begun, and returns from them, together per client address. Requests for a code by mail are counted apart.',
    { default: '20/minute' },
  ),
  rateLimitAuthorize: setting(
    'RATE_LIMIT_AUTHORIZE',
    rateLimit,
    'Authorization requests of applications and calls of their pages, per browser session, otherwise per client address, where one counts once for every 4 KiB. Sign-outs, and requests that applications without a secret push, count per client address. Each worker of each instance counts separately.',
    { default: '120/minute' },
  ),
  rateLimitApplication: setting(
    'RATE_LIMIT_APPLICATION',
    rateLimit,
    'Requests of one application at the token services and at userinfo; of one without a secret, those of each network at the token services. Each worker of each instance counts separately.',
    { default: '6000/minute' },
  ),
  rateLimitUser: setting(
    'RATE_LIMIT_USER',
    rateLimit,
    'All requests of one signed-in user, except those that list or end what has access to their account, such as sessions and personal access tokens, or change their password (60/minute per session). Each worker of each instance counts separately.',
    { default: '1200/minute' },
  ),
  rateLimitAccess: setting(
    'RATE_LIMIT_ACCESS',
    rateLimit,
    'Decisions, searches, explanations and introspections per caller, a user or a service account. A request with many evaluations counts once, an introspection only if the token is active. Each worker of each instance counts separately.',
    { default: 'off' },
  ),
  rateLimitLinkCheck: setting(
    'RATE_LIMIT_LINK_CHECK',
    rateLimit,
    'Checks whether a mailed link still works, per client address.',
    { default: '60/minute' },
  ),
  rateLimitRevoke: setting(
    'RATE_LIMIT_REVOKE',
    rateLimit,
    'Calls of `oauth/revoke` per client address. Raise it for a server that revokes the tokens of many people.',
    { default: '60/minute' },
  ),
  registrationAbuseLimit: setting(
    'REGISTRATION_ABUSE_LIMIT',
    rateLimit,
    'Registrations per network (IPv4 /24, IPv6 /64).',
    { default: '20/day' },
  ),
  accountEmailLimit: setting(
    'ACCOUNT_EMAIL_LIMIT',
    rateLimit,
    'Account mails (verification, resend, reset) and created accounts per email address.',
    { default: '5/hour' },
  ),
};
