// Settings: where its data and its secrets are.
import { integer, optional, setting, text, url } from '../platform/config/config.ts';

const secretKey = (value: string): string => {
  if (Buffer.byteLength(value) < 32)
    throw new Error('must have at least 32 bytes; generate one with: openssl rand -base64 48');
  return value;
};

export const databaseSettings = {
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
  databasePoolSize: setting(
    'DATABASE_POOL_SIZE',
    optional(integer(2, 500)),
    'Maximum number of PostgreSQL connections of one instance. Its workers share them equally. A fifth of them, 1 to 3 of each worker, is reserved for token lookups and probes.',
    { shown: '20, or 6 per worker if that is more' },
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
  secretKey: setting(
    'SECRET_KEY',
    optional(secretKey),
    'At least 32 bytes. Signs CSRF cookies and encrypts the signing keys. All instances on one database need the same value.',
    { shown: 'created at first start in `DATA_DIR`', secret: 'value', generated: true },
  ),
};
