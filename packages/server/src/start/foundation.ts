// Opens what an instance and every command need: secret key, database, and the components made from the settings.
// It must not listen on a port or run jobs.
import { setTimeout as wait } from 'node:timers/promises';
import { createDeps, type Deps } from '../deps.ts';
import { createTallies } from '../metrics/tallies.ts';
import { closeAuditLog } from '../modules/audit/service.ts';
import type { StrengthMeter } from '../modules/passwords/strength.ts';
import { type Connection, createPool, reservedConnections } from '../platform/db/pool.ts';
import type { StatementWatch } from '../platform/db/watched-statements.ts';
import type { Logger } from '../platform/logging/log.ts';
import { createPasswordHasher, type PasswordHasher } from '../platform/security/password-hasher.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import type { Settings } from '../settings.ts';
import { requireOwnConnections } from './database/pooler.ts';
import { type Prepared, type PrepareOptions, prepareDatabase } from './database/prepare-database.ts';
import { type DatabaseServer, type Groundwork, type GroundworkOptions, layGroundwork } from './groundwork.ts';

export type Foundation = BegunFoundation & {
  connection: Connection;
  /** Which database, for people, without credentials. */
  database: string;
};

export type BegunFoundation = {
  deps: Deps;
  secretKey: Buffer;
  /** Until it resolves, every statement fails as if the database were unavailable. Rejects if it cannot be started. */
  server: Promise<DatabaseServer>;
  /** Releases everything; an embedded PostgreSQL stops if no other process uses it. Call it once. */
  close(): Promise<void>;
};

export type FoundationOptions = GroundworkOptions & {
  /** The groundwork of these settings, if the caller has begun it. Closing the foundation stops its server. */
  groundwork?: Promise<Groundwork> | undefined;
  /** Replaces the hasher of full cost, for tests. */
  hasher?: PasswordHasher;
  /** Shared by several instances of one process, for tests. The caller closes it. */
  strengthMeter?: StrengthMeter;
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
  const begun = await beginFoundation(options);
  try {
    return await completeFoundation(begun);
  } catch (error) {
    await begun.close();
    throw error;
  }
}

/** Waits for the database server. Rejects with a message for the operator if it cannot be started. */
export async function completeFoundation(begun: BegunFoundation): Promise<Foundation> {
  const { connection, description } = await begun.server;
  return { ...begun, connection, database: description };
}

/** As `openFoundation`, but does not wait for the embedded PostgreSQL. */
export async function beginFoundation(options: FoundationOptions): Promise<BegunFoundation> {
  const ground = await (options.groundwork ?? layGroundwork(options));
  try {
    return await buildOn(ground, options);
  } catch (error) {
    await stopServer(ground.server);
    throw error;
  }
}

async function buildOn(ground: Groundwork, options: FoundationOptions): Promise<BegunFoundation> {
  const { settings, log } = options;
  const { mailTemplates, logo, secretKey, transport, server } = ground;
  const connection = connectionOf(server);
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
    server,
    async close() {
      const meter = options.strengthMeter === undefined ? deps.strengthMeter : undefined;
      await Promise.all([deps.outbox.stop(), meter?.close(), closeAuditLog(deps.auditLog)]);
      transport.close();
      const ended = Promise.all([pool.end(), reservedPool.end(), replicaPool?.end()]);
      await Promise.race([ended, wait(POOL_GRACE_MS, undefined, { ref: false })]);
      await stopServer(server);
      await tracing?.stop();
    },
  };
}

/** Stops a server that may still be starting. */
async function stopServer(server: Promise<DatabaseServer>): Promise<void> {
  await server.then((started) => started.stop()).catch(() => undefined);
}

/** Returns the connection to a server that may still be starting. */
function connectionOf(server: Promise<DatabaseServer>): () => Connection | undefined {
  let known: Connection | undefined;
  server.then(({ connection }) => (known = connection)).catch(() => {});
  return () => known;
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
