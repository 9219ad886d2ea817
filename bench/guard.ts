// Measures what the guard of @castellan/sdk adds to a route, against one decision's round trip from the same process.
// `node bench/guard.ts`, about a minute. Runs on an embedded PostgreSQL, or on a new database of the server that
// DATABASE_URL names. Loopback only.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { createApiKey } from '../packages/server/src/platform/security/api-key.ts';
import { createAccounts, openSessions } from './load/accounts.ts';
import { format, markdown, median, percentile } from './report/table.ts';
import { createPlace, databaseKind, type Place, query } from './service/place.ts';
import { startService } from './service/service.ts';

const rounds = Number(process.env.BENCH_ROUNDS || 5);
const secondsEach = Number(process.env.BENCH_SECONDS || 2);
const loads = [1, 8];
/** The paths of guarded-service.ts. */
const routes = {
  '/open': 'unguarded',
  '/asked': 'one evaluation with a plain `fetch`',
  '/guarded': '`guard.require`',
  '/stale': '`guard.require`, `maxStaleMs: 1000`',
};

/** Gives every user a permission, and a new service account the role Service. Returns its API key. */
async function createCallers(place: Place): Promise<string> {
  const connection = await place.connection();
  await query(
    connection,
    `with grp as (insert into permission_groups (id, name) values (gen_random_uuid(), 'orders') returning id),
     permission as (
       insert into permissions (id, name, group_id) select gen_random_uuid(), 'orders.read', id from grp returning id
     )
     insert into role_permissions (role_id, permission_id)
     select r.id, p.id from roles r, permission p where r.name = 'User'`,
  );
  const { text, prefix, hash } = createApiKey();
  await query(
    connection,
    `with account as (insert into service_accounts (id, name) values (gen_random_uuid(), 'bench') returning id),
     held as (
       insert into service_account_roles (service_account_id, role_id)
       select account.id, r.id from account, roles r where r.name = 'Service'
     )
     insert into api_keys (id, service_account_id, name, prefix, secret_hash)
     select gen_random_uuid(), id, 'bench', $1, $2 from account`,
    [prefix, hash],
  );
  return text;
}

/** Starts guarded-service.ts. Returns its address and the function that ends it. */
async function startGuarded(castellan: string, key: string): Promise<{ url: string; stop(): Promise<void> }> {
  const program = fileURLToPath(new URL('guarded-service.ts', import.meta.url));
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env.PATH, CASTELLAN_URL: castellan, CASTELLAN_API_KEY: key },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const [url] = await once(child.stdout, 'data');
  return {
    url: String(url).trim(),
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** Returns the times of GET requests, in ms. Each connection sends the next request when it has its response. */
async function timesOf(address: string, tokens: readonly string[], connections: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const times: number[] = [];
  const end = performance.now() + secondsEach * 1_000;
  const send = (authorization: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const begin = performance.now();
      request(address, { agent, headers: { authorization } }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`${address} answered ${response.statusCode}`));
        response.resume().on('end', () => {
          times.push(performance.now() - begin);
          resolve();
        });
      })
        .on('error', reject)
        .end();
    });
  await Promise.all(
    Array.from({ length: connections }, async (_, first) => {
      for (let at = first; performance.now() < end; at += connections)
        await send(tokens[at % tokens.length] ?? '');
    }),
  );
  agent.destroy();
  return times;
}

type Row = { p50: number[]; p99: number[] };

async function measure(): Promise<string> {
  const place = await createPlace();
  try {
    const service = await startService({ ...place.environment, RATE_LIMIT_USER: 'off' });
    await createAccounts(place);
    const key = await createCallers(place);
    const sessions = await openSessions(service.url, '/');
    const tokens = sessions.map(({ headers }) => String(headers?.authorization));
    const guarded = await startGuarded(service.url, key);
    const tables: string[] = [];
    for (const connections of loads) {
      const rows = new Map(Object.keys(routes).map((path): [string, Row] => [path, { p50: [], p99: [] }]));
      for (const path of rows.keys()) await timesOf(guarded.url + path, tokens, connections);
      for (let round = 0; round < rounds; round += 1)
        for (const [path, row] of rows) {
          const times = await timesOf(guarded.url + path, tokens, connections);
          row.p50.push(median(times));
          row.p99.push(percentile(times, 0.99));
        }
      tables.push(tableOf(rows, connections));
    }
    await guarded.stop();
    await service.stop();
    return tables.join('\n\n');
  } finally {
    await place.remove();
  }
}

function tableOf(rows: ReadonlyMap<string, Row>, connections: number): string {
  const open = rows.get('/open') ?? { p50: [], p99: [] };
  const added = (row: Row, part: keyof Row): string => format(median(row[part]) - median(open[part]));
  return markdown(
    [
      connections === 1 ? 'One connection' : `${connections} connections`,
      'p50, ms',
      'p99, ms',
      'added to p50, ms',
      'added to p99, ms',
    ],
    [...rows].map(([path, row]) => [
      Object.entries(routes).find(([one]) => one === path)?.[1] ?? path,
      format(median(row.p50)),
      format(median(row.p99)),
      ...(row === open ? ['', ''] : [added(row, 'p50'), added(row, 'p99')]),
    ]),
  );
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.stdout.write(
  `Node ${process.versions.node}, ${availableParallelism()} cores, ${databaseKind}. Medians of ${rounds} rounds of ` +
    `${secondsEach} s; the rows take turns in each round.\n\n${await measure()}\n`,
);
