// Sorts settings into the sections of the configuration page, so that people find them. A setting that is new here is in the
// last group.

const members = {
  address: /^(HOST|PORT|PUBLIC_URL|TRUSTED_PROXIES|OUTBOUND_DENY|WORKERS|SHUTDOWN_\w+|TLS_\w+)$/,
  database: /^(DATA_DIR|DATABASE_\w+|SECRET_KEY)$/,
  pages:
    /^(SMTP_URL|MAIL_\w+|SERVICE_NAME|LANGUAGE|LOGO_FILE|ACCENT_COLOR|(APP|VERIFY|RESET|INVITE|CHANGE_EMAIL|UNDO_EMAIL|FORGOT)_URL)$/,
  accounts:
    /^(FIRST_SUPERUSER_|DEFAULT_ROLE$|PASSWORD_|ACCOUNT_LOCKOUT_|UNVERIFIED_|INVITATION_|SELF_DELETION_|PERSONAL_TOKEN|CLEANUP_)/,
  factors: /^(SECOND_FACTOR|PASSKEY_|STEP_UP_)/,
  devices: /^((KNOWN|TRUSTED)_DEVICE_|LOCK_EXEMPTS_|SIGN_IN_ALERTS$|ACT_AS_MAIL$)/,
  sessions:
    /^(ACCESS_TOKEN_|KEY_ANNOUNCE_|REFRESH_|SESSION_|CONCURRENT_|VALIDATE_TOKEN_|CONSENT_|LOGOUT_NOTICE_|PROVIDER_)/,
  feed: /^FEED/,
  limits: /^(RATE_LIMIT_|REGISTRATION_ABUSE_|ACCOUNT_EMAIL_)/,
  browsers: /^(COOKIE_|CORS_)/,
  audit: /^(AUDIT|WEBHOOK)_/,
  monitoring: /^(LOG_LEVEL$|METRICS_|OTEL_)/,
  other: /^/,
} as const;

export const groupNames = [
  'address',
  'database',
  'pages',
  'accounts',
  'factors',
  'devices',
  'sessions',
  'feed',
  'limits',
  'browsers',
  'audit',
  'monitoring',
  'other',
] as const;
export type GroupName = (typeof groupNames)[number];

export const groupOf = (name: string): GroupName =>
  groupNames.find((group) => members[group].test(name)) ?? 'other';
