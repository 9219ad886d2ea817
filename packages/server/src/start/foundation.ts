// Opens what an instance and every command need: secret key, database, and the components made from the settings.
// It must not listen on a port or run jobs.
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { makeFolder } from '@castellan/embedded-postgres/folders';
import { createDeps, type Deps, type Parts } from '../deps.ts';
import { createTallies } from '../metrics/tallies.ts';
import { closeAuditLog } from '../modules/audit/service.ts';
import { loadMailTemplates } from '../modules/auth/mail-templates.ts';
import { loadLogo } from '../modules/console/logo.ts';
import type { ProviderAddresses } from '../modules/identity-providers/upstream/asking.ts';
import { createBreachFile } from '../modules/passwords/breach-file.ts';
import type { StrengthMeter } from '../modules/passwords/strength.ts';
import { SettingsError } from '../platform/config/config.ts';
import { type Connection, createPool, reservedConnections } from '../platform/db/pool.ts';
import type { StatementWatch } from '../platform/db/watched-statements.ts';
import { openTls, type Tls } from '../platform/http/server/tls.ts';
import type { Logger } from '../platform/logging/log.ts';
import { createMailTransport } from '../platform/mail/transport.ts';
import { createPasswordHasher, type PasswordHasher } from '../platform/security/password-hasher.ts';
import { loadSecretKey } from '../platform/security/secret-key.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import { errorMessage } from '../platform/unknown-values.ts';
import type { Settings } from '../settings.ts';
import { type DatabaseServer, openDatabaseServer, requireDatabase } from './database/database-server.ts';
import { requireOwnConnections } from './database/pooler.ts';
import { type Prepared, type PrepareOptions, prepareDatabase } from './database/prepare-database.ts';

export type Foundation = {
  deps: Deps;
  secretKey: Buffer;
  connection: Connection;
  /** Which database, for people, without credentials. */
  database: string;
  /** Releases everything; an embedded PostgreSQL stops if no other process uses it. Call it once. */
  close(): Promise<void>;
};

export type FoundationOptions = {
  settings: Settings;
  log: Logger;
  print: (text: string) => void;
  /** Whether `print` writes to a terminal. Default: false. */
  isTerminal?: boolean;
  /** Create nothing: reject if the secret key or the embedded database does not exist. Default: false. */
  existing?: boolean;
  /** Create a missing secret key even with `existing`: for replacing the signing keys. Default: false. */
  anySecretKey?: boolean;
  /** Replaces the hasher of full cost, for tests. */
  hasher?: PasswordHasher;
  /** Shared by several instances of one process, for tests. The caller closes it. */
  strengthMeter?: StrengthMeter;
  /** Where identity providers with fixed addresses are, for tests. */
  providerAddresses?: ProviderAddresses;
  /** Number of processes that share the connections and the cores of this instance. Default: 1. */
  workers?: number;
};

// Each worker's, to the standby: four exports and one for lists (deps.ts).
const REPLICA_CONNECTIONS = 5;

// All users of the database have been waited for already; statements that still run end with the process.
const POOL_GRACE_MS = 1_000;

/**
 * Creates what is missing: DATA_DIR, secret key, embedded PostgreSQL. Does not connect to a server named by
 * DATABASE_URL. Rejects with a message for the operator.
 */
export async function openFoundation(options: FoundationOptions): Promise<Foundation> {
  const given = await readGiven(options);
  const server = await openDatabaseServer(options.settings, options.log);
  try {
    return await buildOn(server, given, options);
  } catch (error) {
    await server.stop();
    throw error;
  }
}

type Given = Pick<Parts, 'mailTemplates' | 'logo' | 'breachFile' | 'tls' | 'secretKey' | 'transport'>;

/** Reads the files that the settings name, before anything is started. */
async function readGiven(options: FoundationOptions): Promise<Given> {
  const { settings, log, print } = options;
  const mailTemplates = loadMailTemplates(settings.mailTemplatesDir, settings.language);
  const logo = loadLogo(settings.logoFile);
  const { passwordBreachFile } = settings;
  const breachFile = passwordBreachFile === undefined ? null : createBreachFile(passwordBreachFile, log);
  // Commands on an existing database open it when they set a password.
  if (!options.existing) await breachFile?.open();
  // Commands on an existing database do not listen.
  const tls = options.existing ? null : openGivenTls(settings, log);
  if (options.existing) requireDatabase(settings);
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
  return { mailTemplates, logo, breachFile, tls, secretKey, transport };
}

function openGivenTls({ tls }: Settings, log: Logger): Tls | null {
  if (tls === null) return null;
  try {
    return openTls(tls, log);
  } catch (error) {
    throw new SettingsError([errorMessage(error)]);
  }
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

async function buildOn(
  { connection, description, stop }: DatabaseServer,
  given: Given,
  options: FoundationOptions,
): Promise<Foundation> {
  const { settings, log } = options;
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
  const { databaseReplicaUrl } = settings;
  const replicaPool =
    databaseReplicaUrl === undefined
      ? undefined
      : createPool({ ...shared, connection: databaseReplicaUrl, maxConnections: REPLICA_CONNECTIONS }, log);
  const deps = createDeps({
    settings,
    pool,
    reservedPool,
    ...(replicaPool === undefined ? {} : { replicaPool }),
    log,
    ...given,
    hasher: options.hasher ?? createPasswordHasher({ processes: workers }),
    tallies,
    tracing,
    ...(options.strengthMeter === undefined ? {} : { strengthMeter: options.strengthMeter }),
    ...(options.providerAddresses === undefined ? {} : { providerAddresses: options.providerAddresses }),
  });
  return {
    deps,
    secretKey: given.secretKey,
    connection,
    database: description,
    async close() {
      const meter = options.strengthMeter === undefined ? deps.strengthMeter : undefined;
      await Promise.all([
        deps.outbox.stop(),
        meter?.close(),
        deps.breachFile?.close(),
        closeAuditLog(deps.auditLog),
      ]);
      given.transport.close();
      given.tls?.stop();
      const ended = Promise.all([pool.end(), reservedPool.end(), replicaPool?.end()]);
      await Promise.race([ended, wait(POOL_GRACE_MS, undefined, { ref: false })]);
      await stop();
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
      isBreached: async (password) => (await deps.breachFile?.has(password)) ?? false,
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
