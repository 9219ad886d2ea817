// Lists, searches, the audit log and the dashboard with many users: `node bench/scale.ts [<users>…]`, by default 1,000.
// Fills a database with `castellan demo` and ten audit entries per user. --server=<start.mjs of another checkout> measures
// that version; --only=<part of a name> asks less; --at=<url of a filled database> --password=<of admin@example.com> keeps it.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createPlace, databaseKind, type Place, query } from './place.ts';
import { fetchCsrf, type Service, startService } from './service.ts';
import { format, markdown, median, percentile } from './table.ts';

const repeats = Number(process.env.BENCH_REPEATS || 50);
const optionOf = (name: string): string | undefined =>
  process.argv.find((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3);
const only = optionOf('only') ?? '';
const program = optionOf('server');
const password = optionOf('password') ?? 'Vexing#Quartz82Lime';
const sizes = process.argv.slice(2).filter((one) => /^\d+$/.test(one));
const cli = fileURLToPath(new URL('../packages/cli/castellan.mjs', import.meta.url));

type Answer = {
  status: number;
  bytes: number;
  body: { data: { total?: number; pages?: number }; next_cursor?: string };
};
type Get = (path: string) => Promise<Answer>;

/** Signs in and returns a function that sends GET requests. */
async function openSession(url: string): Promise<Get> {
  const csrf = await fetchCsrf(url);
  const answer = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...csrf },
    body: JSON.stringify({ email: 'admin@example.com', password }),
  });
  if (!answer.ok) throw new Error(`login answered ${answer.status}: ${await answer.text()}`);
  const { data }: { data: { access_token: string } } = JSON.parse(await answer.text());
  return async (path) => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      headers: { authorization: `Bearer ${data.access_token}` },
    });
    const text = await response.text();
    if (!response.ok) process.stderr.write(`${path}: ${text}\n`);
    return { status: response.status, bytes: text.length, body: JSON.parse(text) };
  };
}

/** Returns the paths to measure, by what they show. Pages in the middle and at the end depend on the totals. */
async function findPaths(get: Get, place: Place): Promise<[what: string, path: string][]> {
  const found: [string, string][] = [];
  const lists = {
    users: 'users/list?',
    'users, by email': 'users/list?sort=email&',
    'users, by last name downwards': 'users/list?sort=-last_name&',
    'users, active': 'users/list?is_active=true&',
    'users, not active': 'users/list?is_active=false&',
    'users, not verified, by email': 'users/list?verified=false&sort=email&',
    'users, status active': 'users/list?status=active&',
    'users, status locked': 'users/list?status=locked&',
  };
  for (const [what, path] of Object.entries(lists)) {
    const pages = (await get(`${path}page=1`)).body.data.pages ?? 1;
    found.push([`${what}: page 1`, `${path}page=1`]);
    if (pages > 2) found.push([`${what}: page ${format(pages / 2)}`, `${path}page=${Math.ceil(pages / 2)}`]);
    if (pages > 1) found.push([`${what}: last page`, `${path}page=${pages}`]);
  }
  const connection = await place.connection();
  const roles = await query(
    connection,
    'select role_id, count(*)::integer as holders from user_roles group by role_id order by 2 desc',
  );
  for (const [size, row] of [
    ['most', roles[0]],
    ['few', roles.at(-2)],
  ] as const) {
    found.push([
      `users with a role that ${size} have (${row?.holders})`,
      `users/list?role_id=${row?.role_id}`,
    ]);
    found.push([
      `users with that role, not active, by email`,
      `users/list?role_id=${row?.role_id}&is_active=false&sort=email`,
    ]);
  }
  for (const text of [
    'a',
    'an',
    'qz',
    '王',
    'example',
    'ann',
    'anna',
    'weiss',
    'anna.weiss',
    'nobody at all',
  ])
    found.push([`search "${text}"`, `users/list?search=${encodeURIComponent(text)}`]);
  found.push(['search "ann": page 100, by email', 'users/list?search=ann&sort=email&page=100']);
  const from = new Date(Date.now() - 300 * 86_400_000).toISOString();
  for (const [what, filter] of Object.entries({
    'no filter': '',
    'resource_type that is absent': 'resource_type=nothing',
    'resource_type, rare': 'resource_type=role_group',
    'resource_type, most': 'resource_type=security_event',
    'action, most': 'action=login_succeeded',
    'action, rare': 'action=user_roles_changed',
    'actions, three': 'action=user_updated&action=logout&action=role_updated',
    'address, most': 'address=10.0.0.1',
    'address, rare': 'address=10.1.1.1',
    'address that is absent': 'address=192.0.2.1',
    'action and address, rarely together': 'action=user_roles_changed&address=10.0.0.1',
    'action and address, never together': 'action=account_locked&address=10.0.0.1',
    failures: 'result=failure',
    successes: 'result=success',
    'failures of an address': 'result=failure&address=10.0.0.1',
    'type and address': 'resource_type=user&address=10.0.0.1',
    'type and action, never together': 'resource_type=role_group&action=login_failed',
    'action and a time': `action=user_created&to=${from}`,
  }))
    found.push([`audit log: ${what}`, `audit-logs?${filter}`]);
  found.push(['dashboard', 'dashboard'], ['dashboard: attention', 'dashboard/attention']);
  found.push(['sessions of all', 'sessions'], ['roles, all', 'roles/list']);
  return found.filter(([what]) => what.includes(only));
}

async function measure(get: Get, path: string): Promise<string[]> {
  const times: number[] = [];
  let last: Answer | undefined;
  for (let asked = 0; asked < repeats; asked += 1) {
    const begin = performance.now();
    last = await get(path);
    times.push(performance.now() - begin);
    if (last.status !== 200) return [`answered ${last.status} at repeat ${asked + 1}`];
  }
  return [
    ...[times[0] ?? 0, median(times), percentile(times, 0.95), Math.max(...times)].map(format),
    format(last?.bytes ?? 0),
  ];
}

const auditActions = `case when pick < 5500 then 'login_succeeded' when pick < 8000 then 'session_refreshed'
  when pick < 9000 then 'login_failed' when pick < 9500 then 'logout' when pick < 9700 then 'user_updated'
  when pick < 9800 then 'role_updated' when pick < 9985 then 'user_created' else 'user_roles_changed' end`;

/** Inserts audit entries of two years: most are sign-ins, three in ten come from one address. */
async function fillAudit(place: Place, entries: number): Promise<void> {
  await query(
    await place.connection(),
    `insert into audit_logs (id, actor_id, action, resource_type, resource_id, details, "timestamp")
     select gen_random_uuid(), actor, action, case when pick >= 9500 then split_part(action, '_', 1) else 'security_event' end,
       actor::text, jsonb_build_object('request_id', md5(n::text), 'address',
         case when n % 10 < 3 then '10.0.0.1' else '10.' || hash % 64 || '.' || hash / 64 % 250 || '.' || hash / 16000 % 8 end),
       now() - (n::float8 / $1) * interval '2 years'
     from (select n, hash, hash % 10000 as pick, md5((hash % 200000)::text)::uuid as actor
       from (select n, hashint4(n) & 2147483647 as hash from generate_series($1::integer, 1, -1) n) numbered) picked
     cross join lateral (select ${auditActions} as action) named`,
    [entries],
  );
  await query(await place.connection(), 'vacuum analyze audit_logs');
}

async function fill(place: Place, users: number): Promise<void> {
  const child = spawn(process.execPath, [cli, 'demo', '--users', String(users), '--yes'], {
    env: {
      PATH: process.env.PATH,
      SECRET_KEY: 'a secret key for benchmarks, 32 bytes or more',
      ...place.environment,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`castellan demo ended with ${code}`);
  await fillAudit(place, users * 10);
  await query(await place.connection(), 'vacuum analyze');
}

async function measureAll(place: Place, service: Service, title: string): Promise<void> {
  const get = await openSession(service.url);
  const rows: string[][] = [];
  for (const [what, path] of await findPaths(get, place)) {
    rows.push([what, ...(await measure(get, path))]);
    process.stderr.write(`${rows.at(-1)?.join(' | ')}\n`);
  }
  process.stdout.write(
    `${markdown([`${title}, ${repeats} repeats, ms`, 'first', 'median', 'p95', 'slowest', 'bytes'], rows)}\n\n`,
  );
}

const quiet = { RATE_LIMIT_USER: 'off' };
const filled = optionOf('at');
if (filled !== undefined) {
  const place = {
    environment: {
      DATABASE_URL: filled,
      DATA_DIR: optionOf('data') ?? '.',
      SECRET_KEY: process.env.SECRET_KEY ?? '',
    },
    connection: async () => ({ connectionString: filled }),
    databasePids: async () => [],
    remove: async () => {},
  };
  const service = await startService({ ...place.environment, ...quiet }, program);
  await measureAll(place, service, 'filled database').finally(() => service.stop());
} else
  for (const users of sizes.length > 0 ? sizes.map(Number) : [1_000]) {
    const place = await createPlace();
    try {
      const service = await startService({ ...place.environment, ...quiet }, program);
      await fill(place, users);
      await measureAll(place, service, `${format(users)} users, ${databaseKind}`).finally(() =>
        service.stop(),
      );
    } finally {
      await place.remove();
    }
  }
