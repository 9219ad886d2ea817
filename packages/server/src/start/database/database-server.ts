// Starts the embedded PostgreSQL, or names the server of DATABASE_URL.
// It must not connect to the server of DATABASE_URL, which may be down.
import { hasEmbeddedPostgres, startEmbeddedPostgres } from '@castellan/embedded-postgres';
import { mayHoldPassword } from '../../platform/config/shown-url.ts';
import type { Connection } from '../../platform/db/pool.ts';
import type { Logger } from '../../platform/logging/log.ts';
import type { Settings } from '../../settings.ts';

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
export const openDatabaseServer = async (settings: DatabaseSettings, log: Logger): Promise<DatabaseServer> =>
  settings.databaseUrl === undefined ? startEmbedded(settings, log) : serverAt(settings.databaseUrl);

/** A server that is started and stopped by others. */
const serverAt = (databaseUrl: string): DatabaseServer => ({
  connection: databaseUrl,
  description: withoutCredentials(databaseUrl),
  stop: async () => {},
});

const startEmbedded = (settings: DatabaseSettings, log: Logger): Promise<DatabaseServer> =>
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
