// Checks that no recent migration keeps writers out while it reads or rewrites a large table: runs each on
// a database of many users, and compares what it costs under such a lock with the cost of reading the table.
//   node scripts/checks/migration-locks.ts [--users=100000] [--since=0024-live-sessions] [--server]
// Costs are processor time of PostgreSQL, which other programs on the machine change little. They grow with the rows, so a
// share of a million users suffices. It creates a separate database on the embedded PostgreSQL; --server: on that of
// TEST_DATABASE_URL (default: 127.0.0.1:5432), whose user must be a superuser.
import pg from 'pg';
import {
  type MigrationFile,
  migrate,
  readMigrations,
} from '../../packages/server/src/platform/db/migrate.ts';
import { createKysely } from '../../packages/server/src/platform/db/pool.ts';
import { onOwnDatabase } from './own-database.ts';

/** The last migration that is not checked: CHANGELOG.md says how long 0022 to 0024 keep writers out. */
const LAST_UNCHECKED = '0024-live-sessions';
/** A change of the catalogue takes less than one; validating a constraint or building an index takes several. */
const MOST_SCANS = 2;
/** Migrations that build several indexes of a new column, so none can be built before: CHANGELOG.md says for how long. */
const indexesOfNewColumns: Readonly<Record<string, number>> = { '0047-without-roles': 3 };
/** One second for a million users. Below that, a migration of many statements may cost more than a scan. */
const MS_PER_USER = 0.001;
/** Each migration is measured this often, and the least counts: others use the processor and its caches too. */
const ATTEMPTS = 3;
/** What CHANGELOG.md asks operators of large databases to run before a migration, there with `concurrently`. */
const preparations: Readonly<Record<string, string>> = {
  '0030-tokens-by-jti': 'create unique index session_tokens_jti_user_id_key on session_tokens (jti, user_id)',
  '0044-notable-audit-logs': `
    create index audit_logs_notable_timestamp_id_idx
      on audit_logs ("timestamp" desc nulls last, id desc nulls last)
      where action <> all ('{session_refreshed,client_token_issued}');
    create index audit_logs_notable_resource_id_timestamp_id_idx
      on audit_logs (resource_id, "timestamp" desc nulls last, id desc nulls last)
      where action <> all ('{session_refreshed,client_token_issued}')`,
  '0073-leaving': `
    create index audit_logs_email_idx on audit_logs ((details ->> 'email')) where details ->> 'email' is not null`,
  '0075-acting': `
    alter table audit_logs add column acted_by_id uuid;
    create index audit_logs_acted_by_id_timestamp_id_idx
      on audit_logs (acted_by_id, "timestamp" desc, id desc) where acted_by_id is not null`,
  '0084-sealed-audit-log': `
    alter table audit_logs add column position bigint, add column salt uuid;
    create index audit_logs_position_idx on audit_logs (position) where position is not null`,
};
/** Tables that grow with the users. The columns are those of LAST_UNCHECKED that have no default. */
const fillings: Readonly<Record<string, string>> = {
  users: `
    insert into users (id, email, first_name, last_name)
    select gen_random_uuid(), 'p' || n || '@example.com', 'First' || n, 'Last' || n
    from generate_series(1, $1::integer) n`,
  sessions: `
    insert into sessions (id, user_id, expires_at)
    select gen_random_uuid(), id, now() + interval '7 days' from users limit $1`,
  session_tokens: `
    insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at, rotated_at)
    select s.user_id, sha256(convert_to(s.id::text || t.kind || t.number, 'UTF8')), s.id, t.kind, gen_random_uuid(), 'key',
      now(), now() + t.lifetime, case when t.kind = 'refresh' and t.number = 1 then now() end
    from (select * from sessions limit $1) s, (values ('refresh', 1, interval '1 day'),
      ('refresh', 2, interval '7 days'), ('access', 1, interval '15 minutes')) t (kind, number, lifetime)`,
  user_roles: `
    with role as (insert into roles (id, name) values (gen_random_uuid(), 'Everybody') returning id)
    insert into user_roles (user_id, role_id) select u.id, role.id from users u, role limit $1`,
  last_logins: `
    insert into last_logins (user_id, logged_in_at) select id, now() from users limit $1`,
  audit_logs: `
    insert into audit_logs (id, action, resource_type, resource_id)
    select gen_random_uuid(), 'login', 'session', id::text from users limit $1`,
};

type Held = { table: string; mode: string };
export type Measured = { name: string; users: number; held: readonly Held[]; ms: number; scanMs: number };

/** Returns the sentence about a migration that holds up writers; undefined for one that does not. */
export function complaintOf({ name, users, held, ms, scanMs }: Measured): string | undefined {
  const most = Math.max((MOST_SCANS + (indexesOfNewColumns[name] ?? 0)) * scanMs, MS_PER_USER * users);
  if (held.length === 0 || ms <= most) return undefined;
  const locks = held.map(({ table, mode }) => `${table} (${mode})`).join(', ');
  return `${name} keeps writers out of ${locks} for ${(ms / scanMs).toFixed(1)} scans of the table (${ms.toFixed(0)} ms): see "A migration" in CONTRIBUTING.md.`;
}

/** Locks of this transaction on filled tables that conflict with ROW EXCLUSIVE, the lock of every writer. */
const heldLocks = `
  select distinct c.relname as table, l.mode from pg_locks l join pg_class c on c.oid = l.relation
  where l.pid = pg_backend_pid() and l.granted and c.relname = any($1)
    and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
  order by 1, 2`;

async function fill(client: pg.Client, users: number): Promise<void> {
  // Triggers keep counters, whose rows are not what is measured.
  await client.query('set session_replication_role = replica');
  for (const statement of Object.values(fillings)) await client.query(statement, [users]);
  await client.query('reset session_replication_role');
  await client.query('vacuum analyze');
}

/** Returns the least cost of `work`, in milliseconds. */
async function best(work: () => Promise<number>): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) shortest = Math.min(shortest, await work());
  return shortest;
}

/** What PostgreSQL reports for each query text with `log_statement_stats`. */
const usage = /^!\s+([\d.]+) s user, ([\d.]+) s system/m;

/** Returns the processor time that PostgreSQL needs for the statements, in milliseconds. */
async function costOf(client: pg.Client, statements: string): Promise<number> {
  let ms: number | undefined;
  const note = ({ detail }: { detail?: string | undefined }): void => {
    const [, user, system] = usage.exec(detail ?? '') ?? [];
    if (user !== undefined) ms = (Number(user) + Number(system)) * 1_000;
  };
  await client.query('set log_statement_stats = on');
  client.on('notice', note);
  await client.query(statements);
  client.off('notice', note);
  await client.query('set log_statement_stats = off');
  if (ms === undefined) throw new Error('PostgreSQL did not report the cost of a statement');
  return ms;
}

/** Measures a migration, after its preparation, in transactions that are rolled back, then runs it. */
async function measure(client: pg.Client, { name, text }: MigrationFile, users: number): Promise<Measured> {
  const preparation = preparations[name];
  if (preparation !== undefined) await client.query(preparation);
  let held: Held[] = [];
  const ms = await best(async () => {
    await client.query('begin');
    const took = await costOf(client, text);
    held = (await client.query<Held>(heldLocks, [Object.keys(fillings)])).rows;
    await client.query('rollback');
    return took;
  });
  const locked = new Set(held.map(({ table }) => table));
  const scans = [0];
  for (const table of locked) scans.push(await best(() => costOf(client, `select count(t) from ${table} t`)));
  await client.query(text);
  return { name, users, held, ms, scanMs: Math.max(...scans) };
}

/** Runs the migrations after `since` on an empty database, after filling it with so many users. */
async function measureAll(url: string, users: number, since: string): Promise<Measured[]> {
  const files = await readMigrations();
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const client = new pg.Client(url);
  try {
    const earlier = files.filter(({ name }) => name <= since);
    await createKysely<unknown>(pool)
      .transaction()
      .execute((tx) => migrate(tx, earlier, []));
    await client.connect();
    await client.query('set max_parallel_workers_per_gather = 0');
    await client.query('set max_parallel_maintenance_workers = 0');
    await client.query('set client_min_messages = log');
    await fill(client, users);
    const measured: Measured[] = [];
    for (const file of files.filter(({ name }) => name > since))
      measured.push(await measure(client, file, users));
    return measured;
  } finally {
    await Promise.all([pool.end(), client.end()]);
  }
}

if (import.meta.main) {
  const option = (name: string): string | undefined =>
    process.argv.find((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3);
  const users = Number(option('users') ?? 100_000);
  const since = option('since') ?? LAST_UNCHECKED;
  const measured = await onOwnDatabase(process.argv, 'castellan_locks', (url) =>
    measureAll(url, users, since),
  );
  for (const one of measured) {
    const locks =
      one.held.map(({ table, mode }) => `${table} ${mode}`).join(', ') || 'no lock against writers';
    process.stdout.write(
      `${one.name}: ${one.ms.toFixed(0)} ms, a scan ${one.scanMs.toFixed(0)} ms, ${locks}\n`,
    );
  }
  if (measured.length === 0) process.stdout.write(`no migration is newer than ${since}\n`);
  const complaints = measured.map(complaintOf).filter((one) => one !== undefined);
  for (const one of complaints) process.stderr.write(`${one}\n`);
  if (complaints.length > 0) process.exitCode = 1;
}
