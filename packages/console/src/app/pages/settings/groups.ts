// Sorts settings into groups, so that people find them. A setting that is new here is in the last group.

const members = {
  service: /^(HOST|PORT|PUBLIC_URL|TRUSTED_PROXIES|CORS_\w+|COOKIE_\w+|SHUTDOWN_\w+|WORKERS)$/,
  storage: /^(DATA_DIR|DATABASE_\w+|SECRET_KEY)$/,
  pages: /^(SERVICE_NAME|LOGO_FILE|ACCENT_COLOR|LANGUAGE|(APP|VERIFY|RESET|FORGOT)_URL)$/,
  mail: /^(SMTP_|MAIL_)/,
  accounts: /^(FIRST_SUPERUSER_|DEFAULT_ROLE|UNVERIFIED_|REGISTRATION_|ACCOUNT_EMAIL_)/,
  sessions: /^(ACCESS_TOKEN_|KEY_ANNOUNCE_|REFRESH_|CONCURRENT_|VALIDATE_TOKEN_)/,
  security: /^(ACCOUNT_LOCKOUT_|PASSWORD_)/,
  limits: /^RATE_LIMIT_/,
  observation: /^(LOG_LEVEL|METRICS_|OTEL_|AUDIT_SINK)/,
  upkeep: /^(CLEANUP_|AUDIT_)/,
  other: /^/,
} as const;

export const groupNames = [
  'service',
  'storage',
  'pages',
  'mail',
  'accounts',
  'sessions',
  'security',
  'limits',
  'observation',
  'upkeep',
  'other',
] as const;
export type GroupName = (typeof groupNames)[number];

export const groupOf = (name: string): GroupName =>
  groupNames.find((group) => members[group].test(name)) ?? 'other';
