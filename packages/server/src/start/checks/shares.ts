// Divides what an instance may use among its workers: database connections and cores.
// It must not start a process.
import { availableParallelism } from 'node:os';
import { SettingsError } from '../../platform/config/config.ts';

/** More than the cores of common machines. */
export const MAX_WORKERS = 64;
/** Without a setting, further cores are left to PostgreSQL and others. */
const MAX_DEFAULT_WORKERS = 8;
const DEFAULT_CONNECTIONS = 20;
/** One for token lookups and five for requests. Eight workers leave half of PostgreSQL's default of 100 to others. */
const DEFAULT_CONNECTIONS_PER_WORKER = 6;
/** One for token lookups and one for requests. */
const MIN_CONNECTIONS_PER_WORKER = 2;

/** Elsewhere, several processes cannot listen on one port so that the kernel distributes the connections. */
const canShare = process.platform === 'linux';

type Given = { workers?: number | undefined; databasePoolSize?: number | undefined; databaseUrl?: unknown };

/**
 * Returns the number of workers and of their connections together. Without a setting, there are no more workers than the
 * connections suffice for. Throws a SettingsError if there are fewer than two connections for each worker, or several workers on a system other than
 * Linux.
 */
export function sharesOf(
  { workers: givenWorkers, databasePoolSize: given, databaseUrl }: Given,
  cores = availableParallelism(),
): { workers: number; databasePoolSize: number } {
  const affordable =
    given === undefined ? MAX_DEFAULT_WORKERS : Math.floor(given / DEFAULT_CONNECTIONS_PER_WORKER);
  const byDefault = Math.max(1, Math.min(cores, MAX_DEFAULT_WORKERS, affordable));
  const workers = givenWorkers ?? (databaseUrl === undefined || !canShare ? 1 : byDefault);
  if (workers > 1 && !canShare)
    throw new SettingsError([`WORKERS is ${workers}; write 1, because several workers need Linux`]);
  const databasePoolSize = given ?? Math.max(DEFAULT_CONNECTIONS, workers * DEFAULT_CONNECTIONS_PER_WORKER);
  const needed = workers * MIN_CONNECTIONS_PER_WORKER;
  if (databasePoolSize < needed)
    throw new SettingsError([
      `DATABASE_POOL_SIZE is ${databasePoolSize}; write at least ${needed} for ${workers} workers, or lower WORKERS`,
    ]);
  return { workers, databasePoolSize };
}
