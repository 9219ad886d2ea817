// What an instance and each command stand on: the secret key, the database, the parts made from the settings.
// It answers nothing by itself: no port, no jobs.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { clearLines } from './clear-lines.ts';
import { type Prepared, prepareDatabase } from './database-start.ts';
import { createDeps, type Deps } from './deps.ts';
import { type EmbeddedPostgres, hasEmbeddedPostgres, startEmbeddedPostgres } from './platform/db/embedded.ts';
import { createPool, type PoolSettings } from './platform/db/pool.ts';
import type { Logger } from './platform/log.ts';
import { createMailTransport } from './platform/mail/transport.ts';
import { loadSecretKey } from './platform/security/secret-key.ts';
import type { Settings } from './settings.ts';

export type Foundation = {
  deps: Deps;
  secretKey: Buffer;
  connection: PoolSettings['connection'];
  /** For people: which database, without credentials. */
  database: string;
  /** Lets go of everything; an embedded PostgreSQL stops when nobody else uses it. To be called once. */
  close(): Promise<void>;
};

export type FoundationOptions = {
  settings: Settings;
  log: Logger;
  print: (text: string) => void;
  /** Make nothing: reject when the secret key or the embedded database is not there yet. */
  existing?: boolean;
};

// Whoever works with the database has been waited for already; what still runs ends with the process.
const POOL_GRACE_MS = 1_000;

/**
 * Makes what is missing of DATA_DIR, secret key and embedded PostgreSQL. A server named by DATABASE_URL is not asked
 * yet. Rejects with a message for the operator.
 */
export async function openFoundation(options: FoundationOptions): Promise<Foundation> {
  const { settings, log, print } = options;
  if (options.existing && settings.databaseUrl === undefined && !hasEmbeddedPostgres(settings.dataDir))
    throw new Error(
      `There is no database in ${settings.dataDir} yet. Set DATA_DIR or DATABASE_URL as the service has it, or start the service once.`,
    );
  for (const warning of clearLines(settings)) log.warn(warning);
  const secretKey = await loadKey(settings, log, options.existing ?? false);
  const transport = createMailTransport({
    ...(settings.smtpUrl === undefined ? {} : { smtpUrl: settings.smtpUrl }),
    from: settings.mailFrom,
    outboxDir: join(settings.dataDir, 'outbox'),
    print,
  });
  const embedded = settings.databaseUrl === undefined ? await startEmbedded(settings, log) : null;
  const connection: PoolSettings['connection'] = embedded?.connection ?? (settings.databaseUrl as string);
  const pool = createPool({ connection, maxConnections: settings.databasePoolSize }, log);
  const deps = createDeps({ settings, pool, log, secretKey, transport });
  return {
    deps,
    secretKey,
    connection,
    database: embedded?.description ?? withoutCredentials(settings.databaseUrl as string),
    async close() {
      await Promise.all([deps.outbox.stop(), deps.strengthMeter.close()]);
      transport.close();
      await Promise.race([pool.end(), wait(POOL_GRACE_MS, undefined, { ref: false })]);
      await embedded?.stop();
    },
  };
}

/** Schema, seed and signing key, once, without waiting for a server that is not there. Safe to repeat. */
export async function prepare({ deps, connection, secretKey }: Foundation): Promise<Prepared> {
  const pool = createPool({ connection, maxConnections: 3, unbounded: true }, deps.log);
  try {
    return await prepareDatabase(pool, deps.hasher, secretKey, deps.settings);
  } finally {
    await pool.end();
  }
}

async function loadKey(settings: Settings, log: Logger, existing: boolean): Promise<Buffer> {
  if (!existing && (settings.secretKey === undefined || settings.databaseUrl === undefined))
    await mkdir(settings.dataDir, { recursive: true });
  const { key, warning } = await loadSecretKey({
    ...(settings.secretKey === undefined ? {} : { fromEnv: settings.secretKey }),
    dataDir: settings.dataDir,
    existing,
  });
  if (warning) log.warn(warning);
  return key;
}

const startEmbedded = (settings: Settings, log: Logger): Promise<EmbeddedPostgres> =>
  startEmbeddedPostgres({
    dataDir: settings.dataDir,
    log: (line) => log.debug({ source: 'postgres' }, line),
    onRestart: () => log.warn('the embedded PostgreSQL was lost and is back'),
  });

/** A database URL as it may be shown. */
function withoutCredentials(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  return `PostgreSQL at ${url.hostname || 'a local socket'}${url.port ? `:${url.port}` : ''}${url.pathname}`;
}
