// Measures decisions for other services against an authenticated read and an empty route of the same process.
// `node bench/decisions.ts`, about two minutes. Runs on an embedded PostgreSQL, or on a new database of the server that
// DATABASE_URL names. Loopback only.
import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { Request } from 'autocannon';
import { createAccounts, createServiceKey, load, openSessions } from './load/accounts.ts';
import { format, markdown, median, summary } from './report/table.ts';
import { createPlace, databaseKind, type Place, query } from './service/place.ts';
import { cpuMicroseconds } from './service/processes.ts';
import { startService } from './service/service.ts';

const rounds = Number(process.env.BENCH_ROUNDS || 5);
const secondsEach = Number(process.env.BENCH_SECONDS || 2);
// Requests that arrive together share statements; a request alone pays for its own.
const loads = [64, 1];
const batch = 100;
/** The subjects of the decisions, each with 2 of the roles. */
const subjectCount = 100_000;
const roleCount = 100;
/** Different requests of a row, so that no row asks about one subject only. */
const requestCount = 200;

const me = '/api/v1/users/me';
const root = '/api/v1/access/v1';
const action = { name: 'act1' };
const resource = { type: 'bench', id: 'any' };

/** Creates roles of 20 permissions and the subjects. Returns the ids of the subjects. */
async function createSubjects(place: Place): Promise<string[]> {
  const connection = await place.connection();
  const run = (text: string, values?: unknown[]) => query(connection, text, values);
  await run("insert into permission_groups (id, name) values (gen_random_uuid(), 'bench')");
  await run(
    `insert into permissions (id, name, group_id) select gen_random_uuid(), 'bench.act' || n, g.id
     from generate_series(1, 200) n, permission_groups g where g.name = 'bench'`,
  );
  await run(
    `insert into roles (id, name) select gen_random_uuid(), 'bench-' || n from generate_series(1, $1::integer) n`,
    [roleCount],
  );
  await run(
    `insert into role_permissions (role_id, permission_id)
     select r.id, p.id from roles r, permissions p, generate_series(1, 20) n
     where r.name like 'bench-%' and p.name = 'bench.act' || 1 + (substr(r.name, 7)::integer * 7 + n) % 200`,
  );
  const ids = Array.from({ length: subjectCount }, () => randomUUID());
  await run(
    `insert into users (id, email, first_name, last_name, verified)
     select id, 'subject-' || n || '@example.com', 'Ada', 'Lovelace', true
     from unnest($1::uuid[]) with ordinality as made (id, n)`,
    [ids],
  );
  await run(
    `insert into user_roles (user_id, role_id) select made.id, r.id
     from unnest($1::uuid[]) with ordinality as made (id, n)
     join roles r on r.name in ('bench-' || 1 + n % $2::integer, 'bench-' || 1 + (n + 7) % $2::integer)`,
    [ids, roleCount],
  );
  return ids;
}

/** Gives the signed-in users and a new service account the role that may ask about others. Returns the API key. */
async function createCallers(place: Place): Promise<string> {
  const connection = await place.connection();
  await query(
    connection,
    `insert into user_roles (user_id, role_id) select u.id, r.id from users u, roles r
     where u.email like 'bench-%' and r.name = 'Service'`,
  );
  const key = await createServiceKey(place);
  await query(connection, 'analyze');
  return key;
}

type Row = {
  name: string;
  requests: Request[];
  /** Decisions of one request. */
  decisions: number;
  rates: number[];
  cpu: number[];
  p99: number[];
};

const row = (name: string, requests: Request[], decisions = 0): Row => ({
  name,
  requests,
  decisions,
  rates: [],
  cpu: [],
  p99: [],
});

/** Returns the rows: the same sessions, the same key, and subjects that differ from request to request. */
function rowsOf(sessions: readonly Request[], key: string, subjects: readonly string[]): Row[] {
  const subjectOf = (at: number) => ({ type: 'user', id: subjects[at % subjects.length] });
  const byKey = { authorization: `Bearer ${key}` };
  const post = (path: string, headers: Record<string, string>, body: unknown): Request => ({
    method: 'POST',
    path: `${root}/${path}`,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const numbers = Array.from({ length: requestCount }, (_, at) => at);
  return [
    row(
      'GET /health/live',
      sessions.map((one) => ({ ...one, path: '/health/live' })),
    ),
    row(`GET ${me}`, [...sessions]),
    row(
      'POST …/evaluation, access token',
      sessions.map(({ headers = {} }, at) =>
        post('evaluation', headers, { subject: subjectOf(at), action, resource }),
      ),
      1,
    ),
    row(
      'POST …/evaluation, API key',
      numbers.map((at) => post('evaluation', byKey, { subject: subjectOf(at), action, resource })),
      1,
    ),
    row(
      `POST …/evaluations, ${batch} subjects, API key`,
      numbers.map((at) => {
        const evaluations = Array.from({ length: batch }, (_, one) => ({
          subject: subjectOf(at * batch + one),
        }));
        return post('evaluations', byKey, { action, resource, evaluations });
      }),
      batch,
    ),
  ];
}

async function measure(): Promise<string> {
  const place = await createPlace();
  try {
    const service = await startService({ ...place.environment, RATE_LIMIT_USER: 'off' });
    const subjects = await createSubjects(place);
    await createAccounts(place);
    const key = await createCallers(place);
    const sessions = await openSessions(service.url, me);
    const tables: string[] = [];
    for (const connections of loads) {
      const rows = rowsOf(sessions, key, subjects);
      for (const one of rows) await load(service.url, one.requests, connections, 1);
      for (let round = 0; round < rounds; round += 1)
        for (const one of rows) {
          const before = cpuMicroseconds([service.pid]);
          const result = await load(service.url, one.requests, connections, secondsEach);
          one.rates.push(result['2xx'] / result.duration);
          one.cpu.push((cpuMicroseconds([service.pid]) - before) / result['2xx']);
          one.p99.push(result.latency.p99);
        }
      tables.push(tableOf(rows, connections));
    }
    await service.stop();
    return tables.join('\n\n');
  } finally {
    await place.remove();
  }
}

function tableOf(rows: readonly Row[], connections: number): string {
  const reads = median(rows.find(({ name }) => name === `GET ${me}`)?.rates ?? []);
  return markdown(
    [
      connections === 1 ? 'one connection' : `${connections} connections`,
      'requests/s',
      `of ${me}`,
      'decisions/s',
      'CPU of the service, µs each',
      'p99, ms',
    ],
    rows.map((one) => [
      one.name,
      summary(one.rates),
      format(median(one.rates) / reads),
      one.decisions === 0 ? '' : format(median(one.rates) * one.decisions),
      format(median(one.cpu)),
      format(median(one.p99)),
    ]),
  );
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.stdout.write(
  `Node ${process.versions.node}, ${availableParallelism()} cores, ${databaseKind}. Medians of ${rounds} rounds ` +
    `(lowest–highest); the rows take turns in each round.\n\n${await measure()}\n`,
);
