// Measures webhooks: events a second of one endpoint, reading what waits beside a million, what a dead endpoint costs another, a replay,
// and what the trigger costs the audit log. `node bench/webhooks.ts`, about three minutes. Loopback only.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { createKysely } from '../packages/server/src/platform/db/pool.ts';
import { readTargets, readWaiting } from '../packages/server/src/platform/delivery/targets-store.ts';
import { format, markdown, median } from './report/table.ts';
import { createPlace, databaseKind } from './service/place.ts';
import { pssMebibytes } from './service/processes.ts';
import { fetchCsrf, startService } from './service/service.ts';

const EVENTS = Number(process.env.BENCH_EVENTS || 5_000);
const WAITING = Number(process.env.BENCH_WAITING || 1_000_000);
const STUCK = Number(process.env.BENCH_STUCK || 5_000);
const REPLAYED = Number(process.env.BENCH_REPLAYED || 100_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS || 5);
const ANSWER_MS = 10;

/** `replays`: for each event, whether it was of a replay. */
type Endpoint = { url: string; times: number[]; replays: boolean[]; server: Server };

/** `afterMs`: when it answers; null: never. */
async function listen(afterMs: number | null): Promise<Endpoint> {
  const times: number[] = [];
  const replays: boolean[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      body += part;
    });
    request.on('end', () => {
      times.push(performance.now());
      replays.push(body.includes('"replay":true'));
      if (afterMs !== null) setTimeout(() => response.writeHead(204).end(), afterMs);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, times, replays, server };
}

const insertEntries = `
  insert into audit_logs (id, action, resource_type, resource_id, details)
  select gen_random_uuid(), $1, 'role', gen_random_uuid()::text, '{}' from generate_series(1, $2::integer)`;

const place = await createPlace();
const service = await startService({ ...place.environment, RATE_LIMIT_USER: 'off' });
const pool = new pg.Pool({ ...(await place.connection()), max: 1 });
const db = createKysely(pool);
const sql = async (text: string, values?: unknown[]) => (await pool.query(text, values)).rows;
const administrator = { email: 'admin@example.com', password: 'Vexing#Quartz82Lime' };
const csrf = await fetchCsrf(service.url);
const { data: session } = await send('POST', '/api/v1/auth/login', administrator);
const call = (method: string, path: string, body: object) =>
  send(method, path, body, { authorization: `Bearer ${session.access_token}` });
const endpoints: Endpoint[] = [];
const rows: string[][] = [];

/** Sends JSON. Throws for an answer that is no success. */
async function send(method: string, path: string, body: object, headers: Record<string, string> = {}) {
  const answer = await fetch(`${service.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...csrf, ...headers },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
  return JSON.parse(text);
}

async function add(
  name: string,
  afterMs: number | null,
  events: string[],
): Promise<Endpoint & { id: string; path: string }> {
  const endpoint = await listen(afterMs);
  endpoints.push(endpoint);
  const { data } = await call('POST', '/api/v1/webhooks', { name, url: endpoint.url, events });
  return { ...endpoint, id: data.id, path: `/api/v1/webhooks/${data.id}` };
}

/** Waits without a statement: what is measured has the processor to itself. */
async function arrived({ times }: Endpoint, count: number): Promise<void> {
  while (times.length < count) await pause(20);
}

/** Returns the events a second from the first to the last of so many. */
async function rate(endpoint: Endpoint & { id: string }, action: string): Promise<number> {
  const { times, id } = endpoint;
  times.length = 0;
  await sql(insertEntries, [action, EVENTS]);
  await arrived(endpoint, EVENTS);
  const persecond = ((EVENTS - 1) / ((times.at(-1) ?? 0) - (times[0] ?? 0))) * 1_000;
  // The outcomes of this round are recorded before the next one begins.
  const left = `select from deliveries where target_id = $1 and state = 'waiting' limit 1`;
  while ((await sql(left, [id])).length > 0) await pause(100);
  return persecond;
}

/** Returns the microseconds that one entry of a batch takes. */
async function entryCost(): Promise<number> {
  const measured: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const begun = performance.now();
    await sql(insertEntries, ['permission_created', 2_000]);
    measured.push(((performance.now() - begun) * 1_000) / 2_000);
  }
  return median(measured);
}

async function timeOf(what: () => Promise<unknown>): Promise<number> {
  const measured: number[] = [];
  for (let round = 0; round < 50; round += 1) {
    const begun = performance.now();
    await what();
    measured.push(performance.now() - begun);
  }
  return median(measured);
}

/** Fills the queues of paused webhooks that nothing else waits for, and measures how they are read. */
async function measureReads(): Promise<void> {
  const paused = async (name: string) => {
    const { id, path } = await add(name, ANSWER_MS, ['role_deleted']);
    await call('PUT', path, { status: 'paused' });
    return id;
  };
  const [long, stuck, short] = [await paused('long'), await paused('stuck'), await paused('short')];
  const insert = (target: string, count: number, key: string) =>
    sql(
      `insert into deliveries (target_id, source_id, type, key)
       select $1, gen_random_uuid(), 'role_deleted', ${key} from generate_series(1, $2::integer) i`,
      [target, count],
    );
  await insert(long, WAITING, `('x' || left(md5(i::text), 16))::bit(64)::bigint`);
  await insert(stuck, STUCK, '0');
  await insert(stuck, 1_000, 'i');
  await insert(short, 1_000, 'i');
  await sql('vacuum analyze deliveries');
  const first = await readWaiting(db, long, [], 200);
  const keys = first.map(({ key }) => key);
  const read = (target: string, excluded: string[]) => timeOf(() => readWaiting(db, target, excluded, 200));
  rows.push([
    `ms to read 200 of ${WAITING} that wait, ${keys.length} keys under way`,
    format(await read(long, keys)),
    '≤ 5',
  ]);
  rows.push([
    `ms to read 200 behind ${STUCK} of one key that waits`,
    format(await read(stuck, [...keys, '0'])),
    '≤ 5',
  ]);
  rows.push([
    'ms to read 200 of another endpoint, behind all these',
    format(await read(short, ['1'])),
    '≤ 5',
  ]);
  rows.push([
    'ms to look for endpoints with events',
    format(await timeOf(() => readTargets(db, 'webhook', short))),
    '≤ 5',
  ]);
}

/** Replays entries to an endpoint for which others wait. */
async function measureReplay(): Promise<void> {
  const endpoint = await add('replayed', 0, ['permission_renamed', 'permission_deleted']);
  await call('PUT', endpoint.path, { status: 'paused' });
  await sql(insertEntries, ['permission_deleted', 1_000]);
  const before = pssMebibytes([service.pid]);
  const begun = performance.now();
  const replay = { from: '2020-01-01T00:00:00Z', only: 'all', events: ['permission_renamed'] };
  const { data } = await call('POST', `${endpoint.path}/replay`, replay);
  rows.push([`ms until a replay of ${data.count} is answered`, format(performance.now() - begun), '']);
  await call('PUT', endpoint.path, { status: 'active' });
  let most = 0;
  const watched = setInterval(() => {
    most = Math.max(most, pssMebibytes([service.pid]));
  }, 100);
  while ((await sql('select from webhook_replays limit 1')).length > 0) await pause(100);
  rows.push(['s until it is queued', format((performance.now() - begun) / 1_000), '']);
  await arrived(endpoint, 1_000 + EVENTS);
  clearInterval(watched);
  rows.push(['MiB that the service grew by until then', format(Math.max(0, most - before)), '']);
  rows.push(['events of 1,000 waiting that came first', format(endpoint.replays.indexOf(true)), '≥ 993']);
  await call('DELETE', endpoint.path, {});
}

try {
  const none = await entryCost();
  await sql(insertEntries, ['permission_renamed', REPLAYED]);
  const live = await add('live', ANSWER_MS, ['role_created', 'role_updated']);
  const alone: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) alone.push(await rate(live, 'role_created'));
  rows.push([`events/s to an endpoint that answers in ${ANSWER_MS} ms`, format(median(alone)), '≥ 500']);
  const dead = await add('dead', null, ['role_updated']);
  const beside: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) beside.push(await rate(live, 'role_updated'));
  rows.push(['the same beside one that never answers', format(median(beside)), 'as above']);

  await call('PUT', dead.path, { status: 'paused' });
  rows.push(['µs of an audit entry in a batch, no webhook', format(none), '']);
  rows.push(['µs, two webhooks that do not want it', format(await entryCost()), '']);
  const wanting = await add('wanting', ANSWER_MS, ['permission_created']);
  await call('PUT', wanting.path, { status: 'paused' });
  rows.push(['µs, one that wants it', format(await entryCost()), '']);

  await measureReads();
  await measureReplay();
  process.stdout.write(`${databaseKind}; medians of ${ROUNDS} rounds; ${EVENTS} events a round\n\n`);
  process.stdout.write(`${markdown(['What', 'Measured', 'Budget'], rows)}\n`);
} finally {
  await pool.end();
  await service.stop();
  for (const { server } of endpoints) {
    server.closeAllConnections();
    server.close();
  }
  await place.remove();
}
