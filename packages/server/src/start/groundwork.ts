// Begins a start: reads the files that the settings name, and begins to start the embedded PostgreSQL or names the server
// of DATABASE_URL. It must not load the application: PostgreSQL starts while others do.
import { join, resolve } from 'node:path';
import { hasEmbeddedPostgres, startEmbeddedPostgres } from '@castellan/embedded-postgres';
import { makeFolder } from '@castellan/embedded-postgres/folders';
import { loadMailTemplates, type MailTemplates } from '../modules/auth/mail-templates.ts';
import { type Logo, loadLogo } from '../modules/console/logo.ts';
import { mayHoldPassword } from '../platform/config/shown-url.ts';
import type { Connection } from '../platform/db/pool.ts';
import type { Logger } from '../platform/logging/log.ts';
import { createMailTransport, type MailTransport } from '../platform/mail/transport.ts';
import { loadSecretKey } from '../platform/security/secret-key.ts';
import type { Settings } from '../settings.ts';

export type Groundwork = {
  mailTemplates: MailTemplates;
  logo: Logo | undefined;
  secretKey: Buffer;
  transport: MailTransport;
  /** Pending while the embedded PostgreSQL starts; rejects with a message for the operator. */
  server: Promise<DatabaseServer>;
};

export type GroundworkOptions = {
  settings: Settings;
  log: Logger;
  print: (text: string) => void;
  /** Whether `print` writes to a terminal. Default: false. */
  isTerminal?: boolean;
  /** Create nothing: reject if the secret key or the embedded database does not exist. Default: false. */
  existing?: boolean;
  /** Create a missing secret key even with `existing`: for replacing the signing keys. Default: false. */
  anySecretKey?: boolean;
  /**
   * Called when the slow part has begun: programs of PostgreSQL run, or nothing is to be started. Not called after an error.
   */
  onBegun?: () => void;
};

/**
 * Creates what is missing: DATA_DIR, secret key, embedded PostgreSQL. Does not connect to a server named by
 * DATABASE_URL. Rejects with a message for the operator; then no server was started.
 */
export async function layGroundwork(options: GroundworkOptions): Promise<Groundwork> {
  const { settings, log, print } = options;
  const mailTemplates = loadMailTemplates(settings.mailTemplatesDir, settings.language);
  const logo = loadLogo(settings.logoFile);
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
  const server = openDatabaseServer(settings, log, options.onBegun);
  // The caller may await it later; without this line, an earlier rejection would end the process.
  server.catch(() => {});
  return { mailTemplates, logo, secretKey, transport, server };
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

/** Throws an Error for the operator if the settings name the embedded database and it does not exist. */
export function requireDatabase({ databaseUrl, dataDir }: DatabaseSettings): void {
  if (databaseUrl === undefined && !hasEmbeddedPostgres(dataDir))
    throw new Error(
      `There is no database in ${dataDir} yet. Set DATA_DIR or DATABASE_URL to the values of the service, or start the service once.`,
    );
}

type DatabaseSettings = Pick<Settings, 'databaseUrl' | 'dataDir'>;

export type DatabaseServer = {
  connection: Connection;
  /** Without credentials. */
  description: string;
  stop(): Promise<void>;
};

/**
 * Starts or joins the embedded PostgreSQL, which is created if it is missing, or names the server of DATABASE_URL without
 * connecting to it.
 */
export async function openDatabaseServer(
  settings: DatabaseSettings,
  log: Logger,
  onBegun?: () => void,
): Promise<DatabaseServer> {
  if (settings.databaseUrl === undefined) return startEmbedded(settings, log, onBegun);
  onBegun?.();
  return serverAt(settings.databaseUrl);
}

/** A server that is started and stopped by others. */
const serverAt = (databaseUrl: string): DatabaseServer => ({
  connection: databaseUrl,
  description: withoutCredentials(databaseUrl),
  stop: async () => {},
});

const startEmbedded = (
  settings: DatabaseSettings,
  log: Logger,
  onBegun: (() => void) | undefined,
): Promise<DatabaseServer> =>
  startEmbeddedPostgres({
    dataDir: settings.dataDir,
    ...(onBegun === undefined ? {} : { onBegun }),
    log: (line) => log.debug({ source: 'postgres' }, line),
    onRestart: () => log.warn('the embedded PostgreSQL stopped and was restarted'),
  });

/** Describes a database by its URL, without credentials. */
function withoutCredentials(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  if (mayHoldPassword(url)) return 'PostgreSQL at DATABASE_URL (set, not shown)';
  return `PostgreSQL at ${url.hostname || 'a local socket'}${url.port ? `:${url.port}` : ''}${url.pathname}`;
}
