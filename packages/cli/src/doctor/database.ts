// Looks at the database: what it is, whether it has what the service needs, and how much of it is in use. Only reads.
import { performance } from 'node:perf_hooks';
import { compareHistory, readMigrations } from '@castellan/server/platform/db/migrate';
import { requireOwnConnections } from '@castellan/server/start/database/pooler';
import { requireSchemaOfThisVersion } from '@castellan/server/start/database/prepare-database';
import type { Foundation } from '@castellan/server/start/foundation';
import { bad, ok, type Report, warn } from './finding.ts';

type Pool = Foundation['deps']['pool'];

type Facts = {
  version: string;
  version_num: number;
  encoding: string;
  collation: string;
  folds_ascii_only: boolean;
  recorded_collation: string | null;
  actual_collation: string | null;
  is_standby: boolean;
  is_read_only: boolean;
  unsafe: string[];
  max_connections: number;
  reserved_connections: number;
  used_connections: number;
  role_limit: number;
  may_create: boolean;
  has_trigrams: boolean;
  may_have_trigrams: boolean;
  is_prepared: boolean;
};

const facts = `
  select current_setting('server_version') as version,
         current_setting('server_version_num')::int as version_num,
         pg_encoding_to_char(d.encoding)::text as encoding, d.datcollate as collation,
         d.datlocprovider = 'c' and d.datctype in ('C', 'POSIX') as folds_ascii_only,
         d.datcollversion as recorded_collation,
         pg_database_collation_actual_version(d.oid) as actual_collation,
         pg_is_in_recovery() as is_standby,
         current_setting('default_transaction_read_only') = 'on' as is_read_only,
         array(select name::text from pg_settings
                where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off') as unsafe,
         current_setting('max_connections')::int as max_connections,
         current_setting('superuser_reserved_connections')::int as reserved_connections,
         (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used_connections,
         r.rolconnlimit as role_limit,
         has_schema_privilege(current_schema(), 'create') as may_create,
         exists (select from pg_extension where extname = 'pg_trgm') as has_trigrams,
         exists (select from pg_available_extensions where name = 'pg_trgm') as may_have_trigrams,
         to_regclass('schema_migrations') is not null as is_prepared
    from pg_database d, pg_roles r
   where d.datname = current_database() and r.rolname = current_user`;

/** PostgreSQL 15 is the oldest version that the service supports. */
const OLDEST = 150_000;

export async function lookAtServer(pool: Pool, poolSize: number): Promise<Report[]> {
  const { rows } = await pool.query<Facts>(facts);
  const [found] = rows;
  if (!found) return [bad('the database does not describe itself', 'Check the rights of the database user.')];
  return [
    found.version_num >= OLDEST
      ? ok(`PostgreSQL ${found.version}`)
      : bad(`PostgreSQL ${found.version}`, 'Use PostgreSQL 15 or later.'),
    ...writable(found),
    ...texts(found),
    connections(found, poolSize),
    found.may_create
      ? ok('the database user may create tables')
      : warn('the database user may not create tables', 'Migrate with a user who may: `castellan migrate`.'),
    trigrams(found),
  ];
}

function writable({ is_standby, is_read_only, unsafe }: Facts): Report[] {
  if (is_standby)
    return [bad('the server is a standby and takes no writes', 'Set DATABASE_URL to the primary.')];
  if (is_read_only)
    return [
      bad(
        'transactions are read-only by default',
        'Set default_transaction_read_only = off for the database user.',
      ),
    ];
  return unsafe.map((name) =>
    warn(
      `${name} is off: a crash can lose changes that were confirmed`,
      `Set ${name} = on, unless this is for tests.`,
    ),
  );
}

function texts(found: Facts): Report[] {
  const { encoding, collation, folds_ascii_only, recorded_collation, actual_collation } = found;
  const isChanged = recorded_collation !== null && recorded_collation !== actual_collation;
  return [
    encoding === 'UTF8'
      ? ok(`encoding UTF8, collation ${collation}`)
      : bad(
          `the encoding is ${encoding}`,
          'Create the database with encoding UTF8: names may use any script.',
        ),
    ...(folds_ascii_only
      ? [
          warn(
            'the database folds case for ASCII letters only: a search for "é" does not find "É"',
            'Restore a backup into a database with lc_ctype C.UTF-8: docs/operate/install.md.',
          ),
        ]
      : []),
    ...(isChanged
      ? [
          warn(
            `the collation was made by version ${recorded_collation}, and the system has ${actual_collation}: indexes of texts may be wrong`,
            'Run `reindex database`, then `alter database … refresh collation version`.',
          ),
        ]
      : []),
  ];
}

function connections(
  { max_connections, reserved_connections, used_connections, role_limit }: Facts,
  poolSize: number,
): Report {
  const free = max_connections - reserved_connections - used_connections;
  const text = `${used_connections} of ${max_connections} connections in use; an instance takes up to ${poolSize}`;
  if (role_limit >= 0 && role_limit < poolSize + 3)
    return warn(
      `the database user may open ${role_limit} connections`,
      `Raise its limit to ${poolSize + 3} for each instance, or lower DATABASE_POOL_SIZE.`,
    );
  return free >= poolSize ? ok(text) : warn(text, 'Raise max_connections, or lower DATABASE_POOL_SIZE.');
}

function trigrams({ has_trigrams, may_have_trigrams, is_prepared }: Facts): Report {
  if (has_trigrams) return ok('the extension pg_trgm is installed');
  if (may_have_trigrams && !is_prepared) return ok('the extension pg_trgm is available');
  return warn(
    may_have_trigrams
      ? 'the extension pg_trgm is not installed'
      : 'the server does not have the extension pg_trgm',
    'Searches read all users. Create the extension, and the index as the last statement of migration 0004 does.',
  );
}

/** Tokens, locks and links follow the clock of the database; only logs and CSRF tokens that of the process. */
const CLOCK_WARN_MS = 2_000;

export async function lookAtClock(pool: Pool): Promise<Report[]> {
  const start = performance.now();
  const { rows } = await pool.query<{ now: Date }>('select clock_timestamp() as now');
  const half = (performance.now() - start) / 2;
  const offset = Math.round((rows[0]?.now.getTime() ?? 0) - (Date.now() - half));
  const text = `the clocks of this machine and of the database differ by ${Math.abs(offset)} ms`;
  return [Math.abs(offset) < CLOCK_WARN_MS ? ok(text) : warn(text, 'Synchronise both with NTP.')];
}

export async function lookAtPooler({ deps }: Foundation): Promise<Report[]> {
  await requireOwnConnections(deps.pool, deps.reservedPool);
  return [ok('connections keep their settings and their session; no pooler is in the way')];
}

/** Rejects with what to do if another version made the schema. */
export async function lookAtSchema({ deps }: Foundation): Promise<Report[]> {
  await requireSchemaOfThisVersion(deps.db);
  const { missing } = await compareHistory(deps.db, await readMigrations());
  if (missing.length > 0)
    return [
      warn(
        `${missing.length} migrations of this version have not run`,
        'Run `castellan migrate`, or start the service, which does the same.',
      ),
    ];
  const { rows } = await deps.pool.query<{ name: string }>(
    `select c.relname::text as name from pg_class c
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
        and exists (select from unnest(array['select', 'insert', 'update', 'delete']) as right_name
                     where not has_table_privilege(c.oid, right_name))`,
  );
  const names = rows.map(({ name }) => name);
  return [
    ok('the schema is that of this version'),
    ...(names.length > 0
      ? [
          bad(
            `the database user has no rights on ${names.join(', ')}`,
            'Grant select, insert, update and delete on them.',
          ),
        ]
      : []),
  ];
}
