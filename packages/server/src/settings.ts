// Every setting: its environment variable, default, meaning and how its text is read.
// The table in docs/configuration.md is generated from here. Only main.ts and the CLI hand an environment in.

import {
  address,
  choice,
  flag,
  integer,
  list,
  number,
  optional,
  readSettings,
  setting,
  text,
  url,
} from './platform/config.ts';
import { parseRateLimit, type RateLimitRule } from './platform/limits/rate-limit.ts';
import { addressOfSender, parseSmtpUrl } from './platform/mail/transport.ts';
import { parseTrustedProxies, type TrustedProxies } from './platform/security/client-address.ts';
import { canonicalEmail } from './platform/security/email.ts';

const rateLimit = (value: string): RateLimitRule | null => parseRateLimit(value);
const email = (value: string): string => {
  const canonical = canonicalEmail(value);
  if (canonical === null) throw new Error('is no e-mail address; write one such as admin@example.com');
  return canonical;
};
const sender = (value: string): string => {
  addressOfSender(value);
  return value;
};
const secretKey = (value: string): string => {
  if (Buffer.byteLength(value) < 32)
    throw new Error('must have at least 32 bytes; make one with: openssl rand -base64 48');
  return value;
};
/** The other rules of passwords can be judged only with the account; this one keeps out what is no password at all. */
const firstPassword = (value: string): string => {
  if ([...value].length < 8) throw new Error('must have at least 8 characters; 12 or more are better');
  return text(value);
};
const origin = (value: string): string => {
  const parsed = URL.canParse(value) ? new URL(value) : null;
  if (
    !parsed ||
    !/^https?:$/.test(parsed.protocol) ||
    value.includes('*') ||
    parsed.origin !== value.replace(/\/$/, '')
  )
    throw new Error(
      `has "${value}", which is no origin; write scheme and host such as https://app.example.com`,
    );
  return parsed.origin;
};

export const settingDefinitions = {
  host: setting('HOST', '127.0.0.1', address, 'Address to listen on. `0.0.0.0` or `::` for every interface.'),
  port: setting('PORT', '8000', integer(0, 65_535), 'Port to listen on. 0 takes a free one.'),
  publicUrl: setting(
    'PUBLIC_URL',
    undefined,
    optional(url(['http:', 'https:'])),
    'Address under which people reach the service: base of the links in mails, and the issuer (`iss`) of the tokens.',
    { shown: 'http://localhost:PORT' },
  ),
  dataDir: setting(
    'DATA_DIR',
    './data',
    text,
    'Folder of the embedded PostgreSQL, the secret key and the outbox.',
  ),
  databaseUrl: setting(
    'DATABASE_URL',
    undefined,
    optional(url(['postgres:', 'postgresql:'])),
    'PostgreSQL 15 or later, `postgres://user:password@host:port/database`; TLS with `?sslmode=verify-full`. Without it the service runs a private PostgreSQL in `DATA_DIR`.',
    { shown: 'embedded', secret: true },
  ),
  databasePoolSize: setting(
    'DATABASE_POOL_SIZE',
    '20',
    integer(2, 500),
    'Connections to PostgreSQL that one instance holds at most.',
  ),
  secretKey: setting(
    'SECRET_KEY',
    undefined,
    optional(secretKey),
    'At least 32 bytes. Signs CSRF cookies and seals the signing keys. Several instances on one database need the same one.',
    { shown: 'made at first start in `DATA_DIR`', secret: true },
  ),
  smtpUrl: setting(
    'SMTP_URL',
    undefined,
    optional(parseSmtpUrl),
    '`smtp://user:password@host:port`. Without it mails are printed on the terminal and kept in `DATA_DIR/outbox`.',
    { shown: 'none', secret: true },
  ),
  mailFrom: setting('MAIL_FROM', 'no-reply@localhost', sender, 'Sender of the mails.'),
  firstSuperuserEmail: setting(
    'FIRST_SUPERUSER_EMAIL',
    'admin@example.com',
    email,
    'Account made at the first start, with every right.',
  ),
  firstSuperuserPassword: setting(
    'FIRST_SUPERUSER_PASSWORD',
    undefined,
    optional(firstPassword),
    'Its password, 8 characters or more. Without one a password is made and printed once on the terminal.',
    { shown: 'made', secret: true },
  ),
  defaultRole: setting(
    'DEFAULT_ROLE',
    'User',
    (value: string) => value,
    'Role of self-registered users. Empty for none.',
    { emptyCounts: true },
  ),
  accessTokenMinutes: setting(
    'ACCESS_TOKEN_EXPIRE_MINUTES',
    '30',
    number(0.01, 1_440),
    'Lifetime of an access token, minutes.',
  ),
  refreshTokenDays: setting(
    'REFRESH_TOKEN_EXPIRE_DAYS',
    '7',
    number(0.0001, 365),
    'Lifetime of a refresh token, days.',
  ),
  refreshReuseSeconds: setting(
    'REFRESH_REUSE_INTERVAL',
    '30',
    integer(0, 600),
    'Seconds during which an exchanged refresh token still answers with its successor, for retries and tabs.',
  ),
  concurrentSessionLimit: setting(
    'CONCURRENT_SESSION_LIMIT',
    '5',
    integer(-1, 1_000),
    'Live sessions of one user; the oldest goes. 0 or less: no cap.',
  ),
  validateTokenIp: setting(
    'VALIDATE_TOKEN_IP',
    'true',
    flag,
    'Refuse a refresh from another network (IPv4 /24, IPv6 /64) than the login came from.',
  ),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    '',
    (value: string): TrustedProxies => parseTrustedProxies(value),
    'Addresses or CIDRs, comma-separated, whose `X-Forwarded-For` and `X-Real-IP` are believed. `*` and `/0` are refused.',
    { shown: 'none' },
  ),
  lockoutAttempts: setting(
    'ACCOUNT_LOCKOUT_ATTEMPTS',
    '5',
    integer(1, 1_000),
    'Failed logins before an account locks.',
  ),
  lockoutMinutes: setting(
    'ACCOUNT_LOCKOUT_DURATION',
    '15',
    number(0.01, 525_600),
    'How long it stays locked, minutes.',
  ),
  passwordMinLength: setting(
    'PASSWORD_MIN_LENGTH',
    '12',
    integer(8, 128),
    'Shortest password, characters. The longest is 128.',
  ),
  passwordHistoryCount: setting(
    'PASSWORD_HISTORY_COUNT',
    '5',
    integer(0, 50),
    'Former passwords that cannot be used again.',
  ),
  passwordMinStrength: setting('PASSWORD_MIN_STRENGTH', '3', integer(0, 4), 'Lowest accepted zxcvbn score.'),
  unverifiedAccountHours: setting(
    'UNVERIFIED_ACCOUNT_CLEANUP_HOURS',
    '72',
    number(0, 100_000),
    'Age at which an unverified account is removed, hours.',
  ),
  cleanupIntervalMinutes: setting(
    'CLEANUP_INTERVAL_MINUTES',
    '60',
    number(0.01, 100_000),
    'How often the clean-up runs, minutes.',
  ),
  auditRetentionDays: setting(
    'AUDIT_RETENTION_DAYS',
    '0',
    number(0, 36_500),
    'Age at which audit entries are removed, days. 0 keeps them.',
  ),
  rateLimitLogin: setting(
    'RATE_LIMIT_LOGIN',
    '5/minute',
    rateLimit,
    'Logins per client address. `N/second`, `/minute`, `/hour`, `/day` or `off`, here and below.',
  ),
  rateLimitRegister: setting('RATE_LIMIT_REGISTER', '3/hour', rateLimit, 'Registrations per client address.'),
  rateLimitPasswordReset: setting(
    'RATE_LIMIT_PASSWORD_RESET',
    '3/hour',
    rateLimit,
    'Password reset requests per client address.',
  ),
  rateLimitNewAccessToken: setting(
    'RATE_LIMIT_NEW_ACCESS_TOKEN',
    '5/minute',
    rateLimit,
    'Calls of `new_access_token` per client address.',
  ),
  rateLimitResendVerification: setting(
    'RATE_LIMIT_RESEND_VERIFICATION',
    '3/hour',
    rateLimit,
    'Verification mails asked for per client address.',
  ),
  registrationAbuseLimit: setting(
    'REGISTRATION_ABUSE_LIMIT',
    '20/day',
    rateLimit,
    'Registrations per network (IPv4 /24, IPv6 /64).',
  ),
  accountEmailLimit: setting(
    'ACCOUNT_EMAIL_LIMIT',
    '5/hour',
    rateLimit,
    'Account mails (verification, resend, reset) and registrations per e-mail address.',
  ),
  cookieSecure: setting(
    'COOKIE_SECURE',
    'true',
    flag,
    'Send the refresh cookie over https only (browsers treat localhost as secure).',
  ),
  corsOrigins: setting(
    'CORS_ORIGINS',
    '',
    list(origin),
    'Origins, comma-separated, whose pages may call the API with cookies.',
    { shown: 'none' },
  ),
  logLevel: setting(
    'LOG_LEVEL',
    'info',
    choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'Least severe level that is logged.',
  ),
};

type Definitions = typeof settingDefinitions;
type Read = { [K in keyof Definitions]: ReturnType<Definitions[K]['read']> };
export type Settings = Omit<Read, 'publicUrl'> & {
  /** Without a trailing slash. */
  publicUrl: string;
};

/** Throws one SettingsError that lists every wrong setting with its fix. */
export function loadSettings(environment: Record<string, string | undefined>): Settings {
  const read = readSettings(settingDefinitions, environment);
  return { ...read, publicUrl: (read.publicUrl ?? `http://localhost:${read.port}`).replace(/\/+$/, '') };
}
