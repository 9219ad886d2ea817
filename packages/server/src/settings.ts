// Declares every setting: environment variable, parser, description and default. docs/configuration.md is generated
// from it.
// It must not read the environment: main.ts and the CLI pass it in.

import { parseSinkAddress, parseSinkSecret } from './modules/audit/sinks/address.ts';
import { parseColor } from './modules/console/accent-color.ts';
import {
  address,
  choice,
  flag,
  flagOr,
  integer,
  list,
  number,
  optional,
  readSettings,
  type SettingInForce,
  SettingsError,
  setting,
  settingsInForce,
  text,
  url,
} from './platform/config/config.ts';
import { fileVariable, readSecretFiles } from './platform/config/secret-files.ts';
import { needsSecure } from './platform/http/plugins/cookies.ts';
import { languages } from './platform/languages.ts';
import { parseRateLimit, type RateLimitRule } from './platform/limits/rate-limit.ts';
import { parseLink, parseLinkTemplate } from './platform/mail/link-template.ts';
import { addressOfSender, parseSmtpUrl } from './platform/mail/transport.ts';
import { parseMetricsAddress } from './platform/metrics/address.ts';
import { parseMetricsHost } from './platform/metrics/hosts.ts';
import { parseTrustedProxies, type TrustedProxies } from './platform/security/client-address.ts';
import { canonicalEmail } from './platform/security/email.ts';
import { cleanText } from './platform/security/text.ts';
import { parseHeaders, samplers } from './platform/tracing/settings.ts';
import { basePathOf, readPublicUrl } from './start/checks/public-url.ts';
import { settingWarnings } from './start/checks/setting-warnings.ts';
import { MAX_WORKERS, sharesOf } from './start/checks/shares.ts';

const rateLimit = (value: string): RateLimitRule | null => parseRateLimit(value);
const email = (value: string): string => {
  const canonical = canonicalEmail(value);
  if (canonical === null) throw new Error('is not an email address; write one such as admin@example.com');
  return canonical;
};
const sender = (value: string): string => {
  addressOfSender(value);
  return value;
};
/** The name appears in subjects, in the sender of mails and at the top of each page. */
const MAX_SERVICE_NAME_LENGTH = 60;
const serviceName = (value: string): string => {
  const result = cleanText(value, { min: 1, max: MAX_SERVICE_NAME_LENGTH });
  if (!result.ok) throw new Error(result.message);
  return result.value;
};
const secretKey = (value: string): string => {
  if (Buffer.byteLength(value) < 32)
    throw new Error('must have at least 32 bytes; generate one with: openssl rand -base64 48');
  return value;
};
/** The other password rules need the account, so only the length is checked here. */
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
      `has "${value}", which is not an origin; write scheme and host, such as https://app.example.com`,
    );
  return parsed.origin;
};
/** A token (RFC 9110, 5.6.2). `*` is one, but stands for no other name where credentials are sent. */
const headerName = (value: string): string => {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(value) || value === '*')
    throw new Error(
      `has "${value}", which is not the name of a header; write names such as x-datadog-trace-id`,
    );
  return value;
};

/** A token (RFC 9110, 5.6.2), as the name of a cookie is one (RFC 6265, 4.1.1). */
const cookiePrefix = (value: string): string => {
  if (!/^[\w!#$%&'*+.^`|~-]{0,64}$/.test(value))
    throw new Error(
      `is "${value}", which cannot begin the name of a cookie; write at most 64 letters, digits, - or _, such as __Host-castellan_`,
    );
  return value;
};

export const settingDefinitions = {
  host: setting('HOST', address, 'IP address to listen on. `0.0.0.0` or `::` for every interface.', {
    default: '127.0.0.1',
  }),
  port: setting('PORT', integer(0, 65_535), 'Port to listen on. 0 selects a free port.', { default: '8000' }),
  publicUrl: setting(
    'PUBLIC_URL',
    optional(readPublicUrl),
    'URL at which people reach the service, with the path that it is mounted below, if any. It is the base of mailed links and the issuer (`iss`) of tokens.',
    { shown: 'http://localhost:PORT' },
  ),
  dataDir: setting(
    'DATA_DIR',
    text,
    "Folder for the embedded PostgreSQL, the secret key, the outbox and the first superuser's password.",
    { default: './data' },
  ),
  databaseUrl: setting(
    'DATABASE_URL',
    optional(url(['postgres:', 'postgresql:'])),
    'PostgreSQL 15 or later, `postgres://user:password@host:port/database`; TLS with `?sslmode=verify-full`. If it is not set, the service runs a private PostgreSQL in `DATA_DIR`.',
    { shown: 'embedded', secret: 'login' },
  ),
  workers: setting(
    'WORKERS',
    optional(integer(1, MAX_WORKERS)),
    'Number of processes that serve requests. They share the port, the connections and the log of the instance. Several need Linux.',
    { shown: 'with `DATABASE_URL` the number of cores, at most 8; otherwise 1' },
  ),
  databaseReplicaUrl: setting(
    'DATABASE_REPLICA_URL',
    optional(url(['postgres:', 'postgresql:'])),
    'A standby of that database, for reads that may be some seconds old: the audit log and the dashboard. See docs/operate/high-availability.md.',
    { shown: 'none', secret: 'login' },
  ),
  databaseReplicaMaxAgeSeconds: setting(
    'DATABASE_REPLICA_MAX_AGE',
    integer(2, 3_600),
    'How far behind the standby may be, in seconds. While it is further behind or away, everything is read from the primary.',
    { default: '10' },
  ),
  databasePoolSize: setting(
    'DATABASE_POOL_SIZE',
    optional(integer(2, 500)),
    'Maximum number of PostgreSQL connections of one instance. Its workers share them equally. A fifth of them, 1 to 3 of each worker, is reserved for token lookups and probes.',
    { shown: '20, or 6 per worker if that is more' },
  ),
  secretKey: setting(
    'SECRET_KEY',
    optional(secretKey),
    'At least 32 bytes. Signs CSRF cookies and encrypts the signing keys. All instances on one database need the same value.',
    { shown: 'created at first start in `DATA_DIR`', secret: 'value', generated: true },
  ),
  smtpUrl: setting(
    'SMTP_URL',
    optional(parseSmtpUrl),
    '`smtp://user:password@host:port`. If it is not set, mails are kept as files in `DATA_DIR/outbox`, and printed if standard output is a terminal.',
    { shown: 'none', secret: 'login' },
  ),
  mailFrom: setting(
    'MAIL_FROM',
    sender,
    'Sender of mails: `no-reply@example.com`, or `Name <no-reply@example.com>`. The name defaults to `SERVICE_NAME`.',
    { default: 'no-reply@localhost' },
  ),
  serviceName: setting(
    'SERVICE_NAME',
    serviceName,
    'Name of the service in mails and on pages. At most 60 characters.',
    { default: 'Castellan' },
  ),
  language: setting(
    'LANGUAGE',
    choice(...languages),
    'Language of mails to people whose language is unknown: `en` or `de`. See docs/integrate/mails.md.',
    { default: 'en' },
  ),
  logoFile: setting(
    'LOGO_FILE',
    optional(text),
    'Logo on pages: path of an SVG, PNG or WebP file of at most 256 KiB. An SVG must contain no script and no reference to another file.',
    { shown: 'none' },
  ),
  accentColor: setting(
    'ACCENT_COLOR',
    parseColor,
    'Colour of buttons and links on pages, `#rrggbb`. It is moved towards black or white where text would have less contrast than 4.5:1.',
    { default: '#4263eb' },
  ),
  appUrl: setting(
    'APP_URL',
    optional(parseLink),
    'Target of "Continue" on pages and of the link at the foot of mails.',
    { shown: 'none' },
  ),
  verifyUrl: setting(
    'VERIFY_URL',
    optional(parseLinkTemplate),
    "Link in the verification mail, with `{token}` in its path, query or fragment: `https://…`, or an app's own scheme (`com.example.app:/…`). A token in the path or query reaches server logs; one in the fragment does not.",
    { shown: '`PUBLIC_URL/verify-email#token={token}`' },
  ),
  resetUrl: setting(
    'RESET_URL',
    optional(parseLinkTemplate),
    'Link in the password reset mail, in the same form.',
    { shown: '`PUBLIC_URL/reset#token={token}`' },
  ),
  forgotUrl: setting(
    'FORGOT_URL',
    optional(parseLink),
    'Page where users request a password reset mail. Linked from the mail about a locked account and from pages reached by an invalid link. No token.',
    { shown: '`PUBLIC_URL/forgot`' },
  ),
  mailTemplatesDir: setting(
    'MAIL_TEMPLATES_DIR',
    optional(text),
    'Folder with mail templates that replace the built-in ones. See docs/integrate/mails.md.',
    { shown: 'none' },
  ),
  firstSuperuserEmail: setting(
    'FIRST_SUPERUSER_EMAIL',
    email,
    'Email of the superuser that is created at the first start.',
    { default: 'admin@example.com' },
  ),
  firstSuperuserPassword: setting(
    'FIRST_SUPERUSER_PASSWORD',
    optional(firstPassword),
    'Password of the first superuser, at least 8 characters. If it is not set, one is generated: shown once at a terminal, otherwise kept in `DATA_DIR/first-superuser-password`.',
    { shown: 'generated', secret: 'value', generated: true },
  ),
  defaultRole: setting(
    'DEFAULT_ROLE',
    (value: string) => value,
    'Role of users who register themselves. Empty for none.',
    { default: 'User', emptyCounts: true },
  ),
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
  keyAnnounceMinutes: setting(
    'KEY_ANNOUNCE_MINUTES',
    integer(1, 10_080),
    'How long a new signing key stands in the key set before it signs, and the former one at least that long after, in minutes. `castellan rotate-keys` reads it. Set it longer than your gateways and meshes keep a copy of the key set.',
    { default: '30' },
  ),
  refreshReuseSeconds: setting(
    'REFRESH_REUSE_INTERVAL',
    integer(0, 600),
    'Time during which an exchanged refresh token still returns its successor, for retries and parallel tabs, in seconds.',
    { default: '30' },
  ),
  concurrentSessionLimit: setting(
    'CONCURRENT_SESSION_LIMIT',
    integer(-1, 1_000),
    'Maximum number of live sessions of one user. A further sign-in ends the oldest. 0 or less: no limit.',
    { default: '5' },
  ),
  validateTokenIp: setting(
    'VALIDATE_TOKEN_IP',
    flagOr('by-family'),
    'Refuse a refresh from another network (IPv4 /24, IPv6 /64) than the sign-in. `by-family` suits clients with IPv4 and IPv6: the first refresh over the other family is taken from everywhere, and its network is remembered. See docs/operate/production.md.',
    { default: 'true' },
  ),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    (value: string): TrustedProxies => parseTrustedProxies(value),
    'IP addresses or CIDR ranges of proxies, comma-separated. `X-Forwarded-For` and `X-Real-IP` are believed only from these. `*` and `/0` are refused.',
    { default: '', shown: 'none' },
  ),
  lockoutAttempts: setting(
    'ACCOUNT_LOCKOUT_ATTEMPTS',
    integer(1, 1_000),
    'Number of failed sign-ins that locks an account.',
    { default: '5' },
  ),
  lockoutMinutes: setting(
    'ACCOUNT_LOCKOUT_DURATION',
    number(0.01, 525_600),
    'How long an account stays locked, in minutes.',
    { default: '15' },
  ),
  passwordMinLength: setting(
    'PASSWORD_MIN_LENGTH',
    integer(8, 128),
    'Minimum length of a password, in characters. The maximum is 128.',
    { default: '12' },
  ),
  passwordHistoryCount: setting(
    'PASSWORD_HISTORY_COUNT',
    integer(0, 50),
    'Number of former passwords that cannot be used again.',
    { default: '5' },
  ),
  passwordMinStrength: setting(
    'PASSWORD_MIN_STRENGTH',
    integer(0, 4),
    'Minimum zxcvbn score of a password, 0 to 4.',
    { default: '3' },
  ),
  unverifiedAccountHours: setting(
    'UNVERIFIED_ACCOUNT_CLEANUP_HOURS',
    number(0, 100_000),
    'Age at which an account that registered itself and was never verified is removed, in hours.',
    { default: '72' },
  ),
  cleanupIntervalMinutes: setting(
    'CLEANUP_INTERVAL_MINUTES',
    number(0.01, 100_000),
    'Time between two runs of the clean-up, in minutes.',
    { default: '60' },
  ),
  auditRetentionDays: setting(
    'AUDIT_RETENTION_DAYS',
    number(0, 36_500),
    'Age at which audit entries are removed, in days. 0 keeps them.',
    { default: '0' },
  ),
  auditSink: setting(
    'AUDIT_SINK',
    optional(parseSinkAddress),
    'Where audit entries are also sent: `stdout`, `syslog+tls://host:6514` or `https://…`. See docs/administer/audit-sinks.md.',
    { shown: 'none', secret: 'path' },
  ),
  auditSinkSecret: setting(
    'AUDIT_SINK_SECRET',
    list(parseSinkSecret),
    'Signs what an `https` sink gets: `whsec_` and 32 bytes or more in base64. Two of them, comma-separated, while the receiver changes to the first.',
    { default: '', shown: 'none', secret: 'value' },
  ),
  rateLimitLogin: setting(
    'RATE_LIMIT_LOGIN',
    rateLimit,
    'Sign-ins per client address. Write `N/second`, `N/minute`, `N/hour`, `N/day` or `off`, here and in the limits below.',
    { default: '5/minute' },
  ),
  rateLimitRegister: setting('RATE_LIMIT_REGISTER', rateLimit, 'Registrations per client address.', {
    default: '3/hour',
  }),
  rateLimitPasswordReset: setting(
    'RATE_LIMIT_PASSWORD_RESET',
    rateLimit,
    'Password reset requests per client address.',
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
    'Exchanges of refresh tokens (`refresh` and `new_access_token` together) per session.',
    { default: '60/minute' },
  ),
  rateLimitResendVerification: setting(
    'RATE_LIMIT_RESEND_VERIFICATION',
    rateLimit,
    'Requests for a verification mail per client address.',
    { default: '3/hour' },
  ),
  rateLimitUser: setting(
    'RATE_LIMIT_USER',
    rateLimit,
    'All requests of one signed-in user, except those that list or end their sessions or change their password (60/minute per session). Each worker of each instance counts separately.',
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
  cookieSecure: setting(
    'COOKIE_SECURE',
    flag,
    'Send the refresh cookie over https only. Browsers treat localhost as secure.',
    { default: 'true' },
  ),
  cookiePrefix: setting(
    'COOKIE_PREFIX',
    cookiePrefix,
    'Goes before the name of every cookie, such as `__Host-castellan_`. With `__Host-`, browsers take the cookies from no other host and no http; their path is `/` then.',
    { default: '', shown: 'none' },
  ),
  corsOrigins: setting(
    'CORS_ORIGINS',
    list(origin),
    'Origins whose pages may call the API with cookies, comma-separated.',
    { default: '', shown: 'none' },
  ),
  corsHeaders: setting(
    'CORS_HEADERS',
    list(headerName),
    'Further request headers that pages of `CORS_ORIGINS` may send, comma-separated, such as those of a tracing library. Those of the API and of trace context are always allowed.',
    { default: '', shown: 'none' },
  ),
  shutdownGraceSeconds: setting(
    'SHUTDOWN_GRACE_SECONDS',
    optional(integer(0, 600)),
    'How long an instance that shuts down keeps answering requests after `/health/ready` starts to fail, in seconds. Set it longer than the load balancer takes to notice.',
    { shown: '0 at a terminal, otherwise 5' },
  ),
  metricsAddress: setting(
    'METRICS_ADDRESS',
    optional(parseMetricsAddress),
    'Where `GET /metrics` is served for Prometheus: `127.0.0.1:9464`, `:9464` for every interface, or `unix:/path/of/socket`. It asks for no credentials: only the scraper should reach it. See docs/operate/monitor.md.',
    { shown: 'off' },
  ),
  metricsHosts: setting(
    'METRICS_HOSTS',
    list(parseMetricsHost),
    'Further host names, comma-separated, by which a scraper may ask for metrics. An IP address, `localhost`, a name without a dot and the host of `PUBLIC_URL` always count; any other name is refused.',
    { default: '', shown: 'none' },
  ),
  otelEndpoint: setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    optional(url(['http:', 'https:'])),
    'Collector of OpenTelemetry for traces, by OTLP over HTTP: `http://127.0.0.1:4318`. `/v1/traces` is added. See docs/operate/tracing.md.',
    { shown: 'off', secret: 'path' },
  ),
  otelHeaders: setting(
    'OTEL_EXPORTER_OTLP_HEADERS',
    parseHeaders,
    'Headers for the collector, such as its key: `name=value`, comma-separated, values percent-encoded.',
    { default: '', shown: 'none', secret: 'value' },
  ),
  otelServiceName: setting('OTEL_SERVICE_NAME', text, 'Name of the service in traces.', {
    default: 'castellan',
  }),
  otelSampler: setting(
    'OTEL_TRACES_SAMPLER',
    choice(...samplers),
    'Which traces are kept: `always_on`, `always_off` or `traceidratio`; with `parentbased_` before it, a proxy of `TRUSTED_PROXIES` decides by its `traceparent`.',
    { default: 'parentbased_always_on' },
  ),
  otelSamplerArg: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    number(0, 1),
    'Share of the traces that `traceidratio` keeps, 0 to 1.',
    { default: '1' },
  ),
  otelDisabled: setting('OTEL_SDK_DISABLED', flag, 'Turns traces off, whatever the other settings say.', {
    default: 'false',
  }),
  logLevel: setting(
    'LOG_LEVEL',
    choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'Lowest level that is logged.',
    { default: 'info' },
  ),
};

type Definitions = typeof settingDefinitions;
type Read = { [K in keyof Definitions]: ReturnType<Definitions[K]['read']> };
export type Settings = Omit<Read, 'publicUrl' | 'workers' | 'databasePoolSize'> & {
  /** Without a trailing slash. */
  publicUrl: string;
  /** The path of `publicUrl`, such as `/accounts`; often empty. */
  basePath: string;
  workers: number;
  /** Of all workers together: at least two for each. */
  databasePoolSize: number;
  /** Every setting as people may see it, without secrets. */
  inForce: readonly SettingInForce[];
  /** Setting → path of the file that its value comes from. */
  secretFiles: ReadonlyMap<string, string>;
  /** Warnings about settings that are probably a mistake: sentences for the operator. */
  warnings: string[];
};

/**
 * Reads the settings from the environment, and secret ones from the files that it names. Throws one SettingsError that
 * lists every wrong setting with its fix.
 */
export function loadSettings(given: Readonly<Record<string, string | undefined>>): Settings {
  const definitions = Object.values(settingDefinitions);
  const secrets = readSecretFiles(definitions, given);
  const { environment } = secrets;
  const read = readSettings(settingDefinitions, environment, secrets);
  if (read.auditSink?.kind === 'webhook' && read.auditSinkSecret.length === 0)
    throw new SettingsError([
      'AUDIT_SINK_SECRET is not set, so an https sink could not recognize its entries; generate one with: echo "whsec_$(openssl rand -base64 32)"',
    ]);
  if (needsSecure(read.cookiePrefix) && !read.cookieSecure)
    throw new SettingsError([
      `COOKIE_PREFIX is "${read.cookiePrefix}", and browsers take such cookies only over https; remove COOKIE_SECURE=false, or choose a prefix that does not begin with __Host-, __Secure- or __Http-`,
    ]);
  const publicUrl = read.publicUrl ?? `http://localhost:${read.port}`;
  const settings = { ...read, ...sharesOf(read), publicUrl, basePath: basePathOf(publicUrl) };
  const names = definitions.flatMap(({ name, secret }) => (secret ? [name, fileVariable(name)] : [name]));
  const chosen: Readonly<Record<string, number>> = {
    [settingDefinitions.workers.name]: settings.workers,
    [settingDefinitions.databasePoolSize.name]: settings.databasePoolSize,
  };
  const resolve = ({ name, shown }: { name: string; shown: string }): string =>
    String(chosen[name] ?? shown)
      .replace(settingDefinitions.publicUrl.defaultShown, settings.publicUrl)
      .replace(/^PUBLIC_URL\b/, settings.publicUrl);
  return {
    ...settings,
    secretFiles: secrets.files,
    inForce: settingsInForce(definitions, environment, resolve, secrets),
    warnings: [...secrets.warnings, ...settingWarnings(settings, given, names)],
  };
}
