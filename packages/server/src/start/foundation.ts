// Opens what an instance and every command need: secret key, database, and the components made from the settings.
// It must not listen on a port or run jobs.
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { hasEmbeddedPostgres, startEmbeddedPostgres } from '@castellan/embedded-postgres';
import { makeFolder } from '@castellan/embedded-postgres/folders';
import { createDeps, type Deps } from '../deps.ts';
import { createTallies } from '../metrics/tallies.ts';
import { closeAuditLog } from '../modules/audit/service.ts';
import { loadMailTemplates } from '../modules/auth/mail-templates.ts';
import type { StrengthMeter } from '../modules/passwords/strength.ts';
import { createPool, type PoolSettings, reservedConnections } from '../platform/db/pool.ts';
import type { StatementWatch } from '../platform/db/watched-statements.ts';
import type { Logger } from '../platform/log.ts';
import { loadLogo } from '../platform/logo.ts';
import { createMailTransport } from '../platform/mail/transport.ts';
import { createPasswordHasher, type PasswordHasher } from '../platform/security/password-hasher.ts';
import { loadSecretKey } from '../platform/security/secret-key.ts';
import { mayHoldPassword } from '../platform/shown-url.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import type { Settings } from '../settings.ts';
import { requireOwnConnections } from './pooler.ts';
import { type Prepared, type PrepareOptions, prepareDatabase } from './prepare-database.ts';

export type Foundation = {
  deps: Deps;
  secretKey: Buffer;
  connection: PoolSettings['connection'];
  /** Which database, for people, without credentials. */
  database: string;
  /** Releases everything; an embedded PostgreSQL stops if no other process uses it. Call it once. */
  close(): Promise<void>;
};

export type FoundationOptions = {
  settings: Settings;
  log: Logger;
  print: (text: string) => void;
  /** Replaces the hasher of full cost, for tests. */
  hasher?: PasswordHasher;
  /** Shared by several instances of one process, for tests. The caller closes it. */
  strengthMeter?: StrengthMeter;
  /** Whether `print` writes to a terminal. Default: false. */
  isTerminal?: boolean;
  /** Number of processes that share the connections and the cores of this instance. Default: 1. */
  workers?: number;
  /** Create nothing: reject if the secret key or the embedded database does not exist. Default: false. */
  existing?: boolean;
  /** Create a missing secret key even with `existing`: for replacing the signing keys. Default: false. */
  anySecretKey?: boolean;
};

// All users of the database have been waited for already; statements that still run end with the process.
const POOL_GRACE_MS = 1_000;

/**
 * Creates what is missing: DATA_DIR, secret key, embedded PostgreSQL. Does not connect to a server named by
 * DATABASE_URL. Rejects with a message for the operator.
 */
export async function openFoundation(options: FoundationOptions): Promise<Foundation> {
  const { settings, log, print } = options;
  const mailTemplates = loadMailTemplates(settings.mailTemplatesDir, settings.language);
  const logo = loadLogo(settings.logoFile);
  if (options.existing && settings.databaseUrl === undefined && !hasEmbeddedPostgres(settings.dataDir))
    throw new Error(
      `There is no database in ${settings.dataDir} yet. Set DATA_DIR or DATABASE_URL to the values of the service, or start the service once.`,
    );
  for (const warning of settings.warnings) log.warn(warning);
  const secretKey = await loadKey(settings, log, (options.existing ?? false) && !options.anySecretKey);
  const transport = createMailTransport({
    ...(settings.smtpUrl === undefined ? {} : { smtpUrl: settings.smtpUrl }),
    from: settings.mailFrom,
    senderName: settings.serviceName,
    outboxDir: join(settings.dataDir, 'outbox'),
    print: options.isTerminal ? print : undefined,
    onKept: (file) => log.info({ file: resolve(file) }, 'mail kept as a file'),
  });
  const server =
    settings.databaseUrl === undefined ? await startEmbedded(settings, log) : serverAt(settings.databaseUrl);
  const { connection } = server;
  const { workers = 1 } = options;
  const connections = Math.floor(settings.databasePoolSize / workers);
  const reserved = reservedConnections(connections);
  const tallies = settings.metricsAddress === undefined ? null : createTallies();
  const tracing = await startTracing(settings, log);
  const shared = {
    connection,
    watch: both(tallies?.statements.watch, tracing?.watch),
    keepsContext: tracing !== null,
  };
  const pool = createPool({ ...shared, maxConnections: connections - reserved }, log);
  const reservedPool = createPool({ ...shared, maxConnections: reserved }, log);
  const deps = createDeps({
    settings,
    pool,
    reservedPool,
    log,
    secretKey,
    transport,
    mailTemplates,
    logo,
    hasher: options.hasher ?? createPasswordHasher({ processes: workers }),
    tallies,
    tracing,
    ...(options.strengthMeter === undefined ? {} : { strengthMeter: options.strengthMeter }),
  });
  return {
    deps,
    secretKey,
    connection,
    database: server.description,
    async close() {
      const meter = options.strengthMeter === undefined ? deps.strengthMeter : undefined;
      await Promise.all([deps.outbox.stop(), meter?.close(), closeAuditLog(deps.db)]);
      transport.close();
      const ended = Promise.all([pool.end(), reservedPool.end()]);
      await Promise.race([ended, wait(POOL_GRACE_MS, undefined, { ref: false })]);
      await server.stop();
      await tracing?.stop();
    },
  };
}

/**
 * Prepares schema, seed and signing key. Rejects at once if the database is unavailable; it can be repeated. `tell`
 * receives a sentence about what the preparation waits for.
 */
export async function prepare(
  { deps, connection, secretKey }: Foundation,
  tell: (text: string) => void,
  options: Pick<PrepareOptions, 'signal' | 'anySecretKey'> = {},
): Promise<Prepared> {
  const { hasher, settings, log } = deps;
  await requireOwnConnections(deps.pool, deps.reservedPool);
  const pool = createPool({ connection, maxConnections: 3, unbounded: true }, log);
  try {
    return await prepareDatabase(pool, {
      hasher,
      secretKey,
      settings,
      log,
      tell,
      ...options,
    });
  } finally {
    await pool.end();
  }
}

/** Loads OpenTelemetry only if there is a collector: that takes a fifth of a second. */
async function startTracing(settings: Settings, log: Logger): Promise<Tracing | null> {
  const { otelEndpoint: endpoint, otelDisabled } = settings;
  if (endpoint === undefined || otelDisabled) return null;
  const { createTracing } = await import('../platform/tracing/tracing.ts');
  return createTracing(
    {
      endpoint,
      headers: settings.otelHeaders,
      serviceName: settings.otelServiceName,
      sampler: settings.otelSampler,
      ratio: settings.otelSamplerArg,
    },
    log,
  );
}

function both(
  first: StatementWatch | undefined,
  second: StatementWatch | undefined,
): StatementWatch | undefined {
  if (!first || !second) return first ?? second;
  return (label) => {
    const ends = [first(label), second(label)];
    return (error) => {
      for (const end of ends) end(error);
    };
  };
}

async function loadKey(settings: Settings, log: Logger, existing: boolean): Promise<Buffer> {
  if (!existing && (settings.secretKey === undefined || settings.databaseUrl === undefined))
    makeFolder(settings.dataDir);
  const { key, warning } = await loadSecretKey({
    ...(settings.secretKey === undefined ? {} : { fromEnv: settings.secretKey }),
    dataDir: settings.dataDir,
    existing,
  });
  if (warning) log.warn(warning);
  return key;
}

type DatabaseServer = {
  connection: PoolSettings['connection'];
  /** Without credentials. */
  description: string;
  stop(): Promise<void>;
};

/** A server that is started and stopped by others. */
const serverAt = (databaseUrl: string): DatabaseServer => ({
  connection: databaseUrl,
  description: withoutCredentials(databaseUrl),
  stop: async () => {},
});

const startEmbedded = (settings: Settings, log: Logger): Promise<DatabaseServer> =>
  startEmbeddedPostgres({
    dataDir: settings.dataDir,
    log: (line) => log.debug({ source: 'postgres' }, line),
    onRestart: () => log.warn('the embedded PostgreSQL stopped and was restarted'),
  });

/** Describes a database by its URL, without credentials. */
function withoutCredentials(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  if (mayHoldPassword(url)) return 'PostgreSQL at DATABASE_URL (set, not shown)';
  return `PostgreSQL at ${url.hostname || 'a local socket'}${url.port ? `:${url.port}` : ''}${url.pathname}`;
}
