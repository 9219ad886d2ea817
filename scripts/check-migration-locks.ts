// Checks that no migration since the first release keeps writers out while it reads or rewrites a large table: runs each on
// a database of many users, and compares the time that it holds such a lock with the time of reading the table.
//   node scripts/check-migration-locks.ts [--users=100000] [--since=0024-live-sessions]
// It creates a database of its own on TEST_DATABASE_URL (default: 127.0.0.1:5432), whose user must be a superuser.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { type MigrationFile, migrate, readMigrations } from '../packages/server/src/platform/db/migrate.ts';
import { createKysely } from '../packages/server/src/platform/db/pool.ts';

/** The last migration of the first release. The earlier ones ran before anybody had many users. */
const FIRST_RELEASE = '0024-live-sessions';
/** A change of the catalogue takes less than one; validating a constraint or building an index takes several. */
const MOST_SCANS = 2;
/** One second for a million users. Below that, a migration of many statements may take longer than a scan. */
const MS_PER_USER = 0.001;
/** Each migration is timed this often, and the best counts: others use the machine too. */
const ATTEMPTS = 3;
/** Tables that grow with the users. The columns are those of the first release that have no default. */
const fillings: Readonly<Record<string, string>> = {
  users: `
    insert into users (id, email, first_name, last_name)
    select gen_random_uuid(), 'p' || n || '@example.com', 'First' || n, 'Last' || n
    from generate_series(1, $1::integer) n`,
  sessions: `
    insert into sessions (id, user_id, expires_at)
    select gen_random_uuid(), id, now() + interval '7 days' from users limit $1`,
  audit_logs: `
    insert into audit_logs (id, action, resource_type, resource_id)
    select gen_random_uuid(), 'login', 'session', id::text from users limit $1`,
};

type Held = { table: string; mode: string };
export type Measured = { name: string; users: number; held: readonly Held[]; ms: number; scanMs: number };

/** Returns the sentence about a migration that holds up writers; undefined for one that does not. */
export function complaintOf({ name, users, held, ms, scanMs }: Measured): string | undefined {
  const most = Math.max(MOST_SCANS * scanMs, MS_PER_USER * users);
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

/** Returns the shortest time of `work`, in milliseconds. */
async function best(work: () => Promise<number>): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) shortest = Math.min(shortest, await work());
  return shortest;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Measures a migration in transactions that are rolled back, then runs it. */
async function measure(client: pg.Client, { name, text }: MigrationFile, users: number): Promise<Measured> {
  let held: Held[] = [];
  const ms = await best(async () => {
    await client.query('begin');
    const took = await timed(() => client.query(text));
    held = (await client.query<Held>(heldLocks, [Object.keys(fillings)])).rows;
    await client.query('rollback');
    return took;
  });
  const locked = new Set(held.map(({ table }) => table));
  const scans = [0];
  for (const table of locked)
    scans.push(await best(() => timed(() => client.query(`select count(t) from ${table} t`))));
  await client.query(text);
  return { name, users, held, ms, scanMs: Math.max(...scans) };
}

/** Runs the migrations after `since` on a database with so many users. */
async function measureAll(url: string, users: number, since: string): Promise<Measured[]> {
  const files = await readMigrations();
  const later = files.filter(({ name }) => name > since);
  if (later.length === 0) return [];
  const admin = new pg.Client(url);
  await admin.connect();
  const database = `castellan_locks_${randomBytes(6).toString('hex')}`;
  await admin.query(`create database ${database}`);
  const own = new URL(url);
  own.pathname = `/${database}`;
  const pool = new pg.Pool({ connectionString: own.href, max: 1 });
  const client = new pg.Client(own.href);
  try {
    const earlier = files.filter(({ name }) => name <= since);
    await createKysely<unknown>(pool)
      .transaction()
      .execute((tx) => migrate(tx, earlier, []));
    await client.connect();
    await client.query('set max_parallel_workers_per_gather = 0');
    await fill(client, users);
    const measured: Measured[] = [];
    for (const file of later) measured.push(await measure(client, file, users));
    return measured;
  } finally {
    await Promise.all([pool.end(), client.end()]);
    await admin.query(`drop database ${database} with (force)`);
    await admin.end();
  }
}

if (import.meta.main) {
  const option = (name: string): string | undefined =>
    process.argv.find((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3);
  const users = Number(option('users') ?? 100_000);
  const since = option('since') ?? FIRST_RELEASE;
  const url = process.env.TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';
  const measured = await measureAll(url, users, since);
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
