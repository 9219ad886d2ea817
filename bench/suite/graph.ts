// What it costs an instance to read the graph of roles and permissions, entirely and after a change, compared with reading
// everything at each change by one subquery per role. A part of `npm run bench`.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@castellan/embedded-postgres';
import type pg from 'pg';
import { createGraphSource } from '../../packages/server/src/modules/authz/graph/graph.ts';
import { migrate, readMigrations } from '../../packages/server/src/platform/db/migrate.ts';
import { createKysely, createPool, type PoolSettings } from '../../packages/server/src/platform/db/pool.ts';
import { inTransaction } from '../../packages/server/src/platform/db/transaction.ts';
import { createLog } from '../../packages/server/src/platform/logging/log.ts';
import type { Tables } from '../../packages/server/src/schema/tables.ts';
import type { Row } from '../report/rows.ts';
import { format, median } from '../report/table.ts';
import { query } from '../service/place.ts';
import { cpuMicroseconds } from '../service/processes.ts';
import type { Run } from './suite.ts';

const sizes = [
  { roles: 1_000, each: 200, permissions: 1_000 },
  { roles: 10_000, each: 20, permissions: 1_000 },
  { roles: 10_000, each: 20, permissions: 10_000 },
];

type Cost = { wall: number[]; cpu: number[]; database: number[] };
type Step = { name: string; run: () => Promise<unknown>; cost: Cost };

/** Reads everything in one statement with a subquery per role, then sorts and indexes it. */
async function readWhole(pool: pg.Pool): Promise<unknown> {
  const { rows } = await pool.query<{
    roles: { id: string; permissions: string[] }[];
    permissions: string[];
  }>(`
    select (select version::text from authz_version) as version,
           coalesce((select json_agg(json_build_object(
             'id', r.id, 'name', r.name, 'description', r.description, 'is_system', r.is_system,
             'permissions', coalesce((
               select json_agg(p.name) from role_permissions rp join permissions p on p.id = rp.permission_id
               where rp.role_id = r.id), '[]'::json))) from roles r), '[]'::json) as roles,
           coalesce((select json_agg(name) from permissions), '[]'::json) as permissions`);
  const { roles, permissions } = rows[0] ?? { roles: [], permissions: [] };
  const byId = new Map(roles.map((role) => [role.id, { ...role, permissions: role.permissions.toSorted() }]));
  return { byId, permissions: permissions.toSorted() };
}

async function fill(pool: pg.Pool, size: (typeof sizes)[number]): Promise<void> {
  await pool.query('truncate role_permissions, roles, permissions cascade');
  await pool.query(
    `insert into permission_groups (id, name) values (gen_random_uuid(), 'bench') on conflict do nothing`,
  );
  await pool.query(
    `insert into permissions (id, name, group_id)
     select gen_random_uuid(), 'bench.' || n, (select id from permission_groups where name = 'bench')
     from generate_series(1, $1::int) n`,
    [size.permissions],
  );
  await pool.query(
    `insert into roles (id, name) select gen_random_uuid(), 'Role ' || n from generate_series(1, $1::int) n`,
    [size.roles],
  );
  // Spread by a step that is coprime to the number of permissions.
  await pool.query(
    `with r as (select id, row_number() over () as n from roles),
          p as (select id, row_number() over () - 1 as n from permissions)
     insert into role_permissions (role_id, permission_id)
     select r.id, p.id from r cross join generate_series(1, $1::int) k join p on p.n = (r.n * 17 + k * 7) % $2::int`,
    [size.each, size.permissions],
  );
  await pool.query('analyze roles, permissions, role_permissions');
}

async function measureSize(pool: pg.Pool, size: (typeof sizes)[number], rounds: number): Promise<Row[]> {
  await fill(pool, size);
  const db = createKysely<Tables>(pool);
  const pid: number = (await pool.query('select pg_backend_pid() as pid')).rows[0].pid;
  const stampNow = async (): Promise<string> =>
    (await pool.query('select stamp from authz_version')).rows[0].stamp;
  const warm = createGraphSource(db);
  await warm.at(await stampNow());
  let stamp = '';
  const steps: (Omit<Step, 'cost'> & { before?: () => Promise<unknown> })[] = [
    { name: 'whole, a subquery per role (before)', run: () => readWhole(pool) },
    {
      name: 'whole, one join',
      run: async () => createGraphSource(db).at(stamp),
    },
    {
      name: 'after one role changed',
      before: () =>
        pool.query(
          `with one as (select role_id, permission_id from role_permissions limit 1)
           delete from role_permissions using one
           where role_permissions.role_id = one.role_id and role_permissions.permission_id = one.permission_id`,
        ),
      run: async () => warm.at(stamp),
    },
    {
      name: 'after every permission was renamed',
      before: () => pool.query(`update permissions set name = name || '.'`),
      run: async () => warm.at(stamp),
    },
  ];
  const measured = steps.map((step) => {
    const cost: Cost = { wall: [], cpu: [], database: [] };
    return { ...step, cost };
  });
  for (let round = -1; round < rounds; round += 1)
    for (const { before, run, cost } of measured) {
      await before?.();
      stamp = await stampNow();
      const database = cpuMicroseconds([pid]);
      const cpu = process.cpuUsage();
      const begin = performance.now();
      await run();
      const wall = performance.now() - begin;
      const { user, system } = process.cpuUsage(cpu);
      // The first round warms up.
      if (round < 0) continue;
      cost.wall.push(wall);
      cost.cpu.push((user + system) / 1_000);
      cost.database.push((cpuMicroseconds([pid]) - database) / 1_000);
    }
  const [whole] = measured;
  const condition = `${format(size.roles)} roles × ${size.each} of ${format(size.permissions)} permissions`;
  return measured.map(({ name, cost }) => ({
    part: 'graph',
    name,
    condition,
    unit: 'ms',
    values: cost.wall,
    of: { what: 'a subquery per role', ratio: median(cost.wall) / median(whole?.cost.wall ?? []) },
    cpu: (median(cost.cpu) + median(cost.database)) * 1_000,
  }));
}

async function openDatabase(): Promise<{ connection: PoolSettings['connection']; close(): Promise<void> }> {
  const server = process.env.DATABASE_URL;
  if (server) {
    const name = `castellan_bench_graph_${process.pid}`;
    await query({ connectionString: server }, `create database ${name}`);
    const url = new URL(server);
    url.pathname = `/${name}`;
    return {
      connection: url.href,
      close: async () => {
        await query({ connectionString: server }, `drop database if exists ${name} with (force)`);
      },
    };
  }
  const folder = await mkdtemp(join(tmpdir(), 'castellan-bench-graph-'));
  const embedded = await startEmbeddedPostgres({ dataDir: folder });
  return {
    connection: { ...embedded.connection },
    close: async () => {
      await embedded.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function measureGraph({ rounds }: Run): Promise<Row[]> {
  const { connection, close } = await openDatabase();
  try {
    // One connection, so that the processor time of its backend is all that the database spends.
    const pool = createPool({ connection, maxConnections: 1, unbounded: true }, createLog('warn'));
    try {
      const files = await readMigrations();
      await inTransaction(createKysely<unknown>(pool), (tx) => migrate(tx, files, []));
      const rows: Row[] = [];
      for (const size of sizes) rows.push(...(await measureSize(pool, size, rounds)));
      return rows;
    } finally {
      await pool.end();
    }
  } finally {
    await close();
  }
}
