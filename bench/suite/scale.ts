// Lists, searches, the audit log and the dashboard with many users, roles, permissions and audit entries, each at a fixed
// rate of requests. A part of `npm run bench`, once for each size. The database is filled with `castellan demo`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAccounts, signIn } from '../load/accounts.ts';
import { openLoop } from '../load/open-loop.ts';
import type { Goal, Row } from '../report/rows.ts';
import { format, median } from '../report/table.ts';
import { createPlace, type Place, query } from '../service/place.ts';
import { cpuMicroseconds } from '../service/processes.ts';
import { fetchCsrf, type Service, startService } from '../service/service.ts';
import { pinApart, type Run, unpin } from './suite.ts';

const cli = fileURLToPath(new URL('../../packages/cli/castellan.mjs', import.meta.url));
const ENTRIES_PER_USER = 10;
const ENTRIES_OF_STATEMENT = 500_000;
const ROLES = 10_000;
const PERMISSIONS_OF_ROLE = 20;
const PERMISSIONS = 50_000;
const ROLE_GROUPS = 10_000;
const PERMISSIONS_OF_LARGE_ROLE = 1_000;
const SESSIONS_OF_ONE = 10_000;
/** The file that says that a kept database is complete. */
const FILLED = 'filled-for-benchmarks';
/** A generic plan replaces the planned ones after five executions on a connection. */
const REPEATS = 50;

/** How often a request is sent, and what holds for its latency at every size. */
type Kind = { everyMs: number; repeats: number; goals: Goal[] };
/** Ten times the users may cost half as much again. A scan of a table would cost ten times as much. */
const flat: Goal = { figure: 'growth', most: 1.5 };
const kinds = {
  list: { everyMs: 50, repeats: REPEATS, goals: [{ figure: 'p95', most: 50 }, flat] },
  /** They read every lock in force. */
  locks: { everyMs: 250, repeats: REPEATS, goals: [{ figure: 'p95', most: 200 }] },
  search: { everyMs: 100, repeats: REPEATS, goals: [{ figure: 'most', most: 300 }] },
  audit: { everyMs: 50, repeats: REPEATS, goals: [{ figure: 'p95', most: 50 }, flat] },
  dashboard: { everyMs: 50, repeats: REPEATS, goals: [{ figure: 'p95', most: 20 }, flat] },
  /** All roles with all their permissions: megabytes. */
  whole: { everyMs: 1_000, repeats: 5, goals: [flat] },
} satisfies Record<string, Kind>;

type Path = {
  part: string;
  name: string;
  path: string;
  kind: Kind;
  /** What the database has of it, such as the number of the page. */
  detail: string;
  /** Who asks. */
  as: 'admin' | 'holder';
};
type Answer = { data: { total?: number; pages?: number } };
type Get = (path: string) => Promise<Answer>;
type Callers = Record<Path['as'], Get> & { close(): void };

/** Returns a function that sends GET requests with the access token, on connections that are kept. */
function asGet(url: string, accessToken: string, agent: Agent): Get {
  const headers = { authorization: `Bearer ${accessToken}` };
  return async (path) => {
    const [response] = await once(get(`${url}/api/v1/${path}`, { agent, headers }), 'response');
    const text: string = (await response.setEncoding('utf8').toArray()).join('');
    if (response.statusCode !== 200) throw new Error(`${path} answered ${response.statusCode}: ${text}`);
    return JSON.parse(text);
  };
}

async function signInAdmin(url: string): Promise<string> {
  const csrf = await fetchCsrf(url);
  const answer = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...csrf },
    body: JSON.stringify({ email: 'admin@example.com', password: 'Vexing#Quartz82Lime' }),
  });
  if (!answer.ok) throw new Error(`login answered ${answer.status}: ${await answer.text()}`);
  const { data }: { data: { access_token: string } } = JSON.parse(await answer.text());
  return data.access_token;
}

/** Signs in as the administrator and as the holder of the large role, who also has many sessions. */
async function openCallers(url: string): Promise<Callers> {
  const agent = new Agent({ keepAlive: true });
  const holder = await signIn(url, 1);
  return {
    admin: asGet(url, await signInAdmin(url), agent),
    holder: asGet(url, holder.accessToken, agent),
    close: () => agent.destroy(),
  };
}

/** Returns what to ask for. Pages in the middle and at the end depend on the totals, roles on their holders. */
async function findPaths(admin: Get, place: Place): Promise<Path[]> {
  const found: Path[] = [];
  const add = (
    part: string,
    name: string,
    path: string,
    kind: Kind,
    { detail = '', as = 'admin' }: { detail?: string; as?: Path['as'] } = {},
  ): void => void found.push({ part, name, path, kind, detail, as });

  const lists = {
    all: 'users/list?',
    'by email': 'users/list?sort=email&',
    'by last name downwards': 'users/list?sort=-last_name&',
    active: 'users/list?is_active=true&',
    'not active': 'users/list?is_active=false&',
    verified: 'users/list?verified=true&',
    'not verified, by email': 'users/list?verified=false&sort=email&',
    'status active': 'users/list?status=active&',
    'status locked': 'users/list?status=locked&',
    'without roles': 'users/list?roles=none&',
    'without roles, by email': 'users/list?roles=none&sort=email&',
  };
  for (const [name, path] of Object.entries(lists)) {
    const kind = name.startsWith('status') ? kinds.locks : kinds.list;
    const pages = (await admin(`${path}page=1`)).data.pages ?? 1;
    const middle = Math.ceil(pages / 2);
    add('users', `${name}, page 1`, `${path}page=1`, kind);
    add('users', `${name}, middle page`, `${path}page=${middle}`, kind, {
      detail: `page ${format(middle)}`,
    });
    add('users', `${name}, last page`, `${path}page=${pages}`, kind, {
      detail: `page ${format(pages)}`,
    });
  }
  const roles = await query(
    await place.connection(),
    'select role_id, count(*)::integer as holders from user_roles group by role_id order by 2 desc',
  );
  for (const [name, row] of [
    ['with the role that most hold', roles[0]],
    ['with a role that few hold', roles.findLast(({ holders }) => Number(holders) > 1)],
  ] as const) {
    const path = `users/list?role_id=${row?.role_id}`;
    const detail = `${format(Number(row?.holders))} holders`;
    add('users', name, path, kinds.list, { detail });
    add('users', `${name}, not active, by email`, `${path}&is_active=false&sort=email`, kinds.list, {
      detail,
    });
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
  ]) {
    const path = `users/list?search=${encodeURIComponent(text)}`;
    const total = (await admin(path)).data.total ?? 0;
    add('search', `"${text}"`, path, kinds.search, { detail: `${format(total)} found` });
  }
  const last = (await admin('users/list?search=ann&sort=email')).data.pages ?? 1;
  add('search', '"ann", last page, by email', `users/list?search=ann&sort=email&page=${last}`, kinds.search);

  const from = new Date(Date.now() - 300 * 86_400_000).toISOString();
  for (const [name, filter] of Object.entries({
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
    add('audit log', name, `audit-logs?${filter}`, kinds.audit);

  for (const name of ['dashboard', 'dashboard/stats', 'dashboard/activity', 'dashboard/attention'])
    add('dashboard', `GET /${name}`, name, kinds.dashboard);

  const holder = await query(await place.connection(), 'select id from users where email = $1', [
    'bench-1@example.com',
  ]);
  add('access', 'GET /roles', 'roles', kinds.list);
  add('access', 'GET /roles/summaries', 'roles/summaries', kinds.list);
  add('access', 'GET /roles/list', 'roles/list', kinds.whole);
  add('access', 'GET /permissions', 'permissions', kinds.list);
  add('access', 'GET /role-groups', 'role-groups', kinds.list);
  add('access', 'GET /permission-groups', 'permission-groups', kinds.list);
  add('access', 'GET /users/me', 'users/me', kinds.list, {
    detail: `a role of ${format(PERMISSIONS_OF_LARGE_ROLE)} permissions`,
    as: 'holder',
  });
  add('sessions', 'GET /sessions', 'sessions', kinds.list);
  add('sessions', 'GET /users/{id}/sessions', `users/${holder[0]?.id}/sessions`, kinds.list, {
    detail: `of ${format(SESSIONS_OF_ONE)} sessions`,
  });
  return found;
}

const auditActions = `case when pick < 5500 then 'login_succeeded' when pick < 8000 then 'session_refreshed'
  when pick < 9000 then 'login_failed' when pick < 9500 then 'logout' when pick < 9700 then 'user_updated'
  when pick < 9800 then 'role_updated' when pick < 9985 then 'user_created' else 'user_roles_changed' end`;

/** Inserts audit entries of two years, oldest first: most are sign-ins, three in ten come from one address. */
async function fillAudit(place: Place, entries: number): Promise<void> {
  const connection = await place.connection();
  // In parts, because triggers keep the new rows of a statement until its end.
  for (let newest = entries; newest > 0; newest -= ENTRIES_OF_STATEMENT)
    await query(
      connection,
      `insert into audit_logs (id, actor_id, action, resource_type, resource_id, details, "timestamp")
       select gen_random_uuid(), actor, action,
         case when pick >= 9500 then split_part(action, '_', 1) else 'security_event' end, actor::text,
         jsonb_build_object('request_id', md5(n::text), 'address', case when n % 10 < 3 then '10.0.0.1'
           else '10.' || hash % 64 || '.' || hash / 64 % 250 || '.' || hash / 16000 % 8 end),
         now() - (n::float8 / $1) * interval '2 years'
       from (select n, hash, hash % 10000 as pick, md5((hash % 200000)::text)::uuid as actor
         from (select n, hashint4(n) & 2147483647 as hash
           from generate_series($2::integer, $3::integer, -1) n) numbered) picked
       cross join lateral (select ${auditActions} as action) named`,
      [entries, newest, Math.max(1, newest - ENTRIES_OF_STATEMENT + 1)],
    );
}

/** Inserts permissions in groups of 100, roles, a tree of role groups in tens, and a role of many permissions. */
async function fillAccess(place: Place): Promise<void> {
  const connection = await place.connection();
  const idOf = (kind: string, number: string): string => `md5('${kind} ' || ${number})::uuid`;
  const numbers = (count: number): string => `generate_series(1, ${count}) n`;
  for (const statement of [
    `insert into permission_groups (id, name)
     select ${idOf('permission group', 'n')}, 'bench ' || n from ${numbers(PERMISSIONS / 100)}`,
    `insert into permissions (id, name, group_id)
     select ${idOf('permission', 'n')}, 'bench.' || n, ${idOf('permission group', '(n - 1) / 100 + 1')}
     from ${numbers(PERMISSIONS)}`,
    `insert into roles (id, name) select ${idOf('role', 'n')}, 'bench ' || n from ${numbers(ROLES)}`,
    `insert into role_permissions (role_id, permission_id)
     select ${idOf('role', 'n')}, ${idOf('permission', `(n * 7 + k * 31) % ${PERMISSIONS} + 1`)}
     from ${numbers(ROLES)}, generate_series(1, ${PERMISSIONS_OF_ROLE}) k`,
    `insert into role_groups (id, name, parent_id)
     select ${idOf('role group', 'n')}, 'bench ' || n, case when n > 10 then ${idOf('role group', 'n / 10')} end
     from ${numbers(ROLE_GROUPS)}`,
    `insert into role_group_roles (role_group_id, role_id)
     select ${idOf('role group', `n % ${ROLE_GROUPS} + 1`)}, ${idOf('role', 'n')} from ${numbers(ROLES)}`,
    `insert into roles (id, name) values (${idOf('role', '0')}, 'bench, large')`,
    `insert into role_permissions (role_id, permission_id)
     select ${idOf('role', '0')}, ${idOf('permission', 'n')} from ${numbers(PERMISSIONS_OF_LARGE_ROLE)}`,
    `insert into user_roles (user_id, role_id)
     select id, ${idOf('role', '0')} from users where email = 'bench-1@example.com'`,
    `insert into sessions (id, user_id, expires_at)
     select gen_random_uuid(), id, now() + interval '7 days' from users, ${numbers(SESSIONS_OF_ONE)}
     where email = 'bench-1@example.com'`,
  ])
    await query(connection, statement);
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
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`castellan demo ended with ${code}`);
  await createAccounts(place);
  await fillAccess(place);
  await fillAudit(place, users * ENTRIES_PER_USER);
  await query(await place.connection(), 'vacuum analyze');
}

type Measured = Path & { times: number[]; cpu: number[]; failed: number };

/** Sends each path at its rate, a share of its repeats in each round. */
async function measurePaths(
  paths: readonly Path[],
  callers: Callers,
  rounds: number,
  pids: () => Promise<number[]>,
): Promise<Measured[]> {
  const measured = paths.map((path): Measured => ({ ...path, times: [], cpu: [], failed: 0 }));
  for (let round = 0; round < rounds; round += 1)
    for (const one of measured) {
      const count = Math.ceil(one.kind.repeats / rounds);
      const before = cpuMicroseconds(await pids());
      const failed = new Set<number>();
      let sent = 0;
      const ask = async (): Promise<void> => {
        const number = sent++;
        await callers[one.as](one.path).catch((error) => {
          process.stderr.write(`${error.message}\n`);
          failed.add(number);
        });
      };
      const times = await openLoop(ask, { everyMs: one.kind.everyMs, count });
      one.times.push(...times.filter((_, number) => !failed.has(number)));
      one.failed += failed.size;
      one.cpu.push((cpuMicroseconds(await pids()) - before) / count);
    }
  return measured;
}

/** Returns the rows of one size, and the path whose later repeats cost most, compared with its first. */
function rowsOf(measured: readonly Measured[], users: number): Row[] {
  const size = `${format(users)} users`;
  const worst = (figureOf: (one: Measured) => number): { value: number; name: string } =>
    measured
      .map((one) => ({ value: figureOf(one), name: `${one.part}: ${one.name}` }))
      .reduce((a, b) => (b.value > a.value ? b : a));
  const slowest = worst(({ times }) => Math.max(...times) / (times[0] ?? Number.NaN));
  const dearest = worst(({ cpu }) => (cpu.at(-1) ?? Number.NaN) / (cpu[0] ?? Number.NaN));
  const trap = { part: 'plans', unit: '×', users } as const;
  return [
    ...measured.map(
      ({ part, name, detail, kind, times, cpu, failed }): Row => ({
        part,
        name,
        condition: [size, ...(detail ? [detail] : [])].join(', '),
        unit: 'ms',
        values: times,
        cpu: median(cpu),
        users,
        goals: kind.goals,
        failed,
      }),
    ),
    {
      ...trap,
      name: `slowest of ${REPEATS} repeats against the first`,
      condition: `${size}, worst: ${slowest.name}`,
      values: [slowest.value],
      goals: [{ figure: 'median', most: 2 }],
    },
    {
      ...trap,
      name: 'CPU of the last round against the first',
      condition: `${size}, worst: ${dearest.name}`,
      values: [dearest.value],
      goals: [{ figure: 'median', most: 2 }],
    },
  ];
}

/** The locks of the demo end while a large database is filled, and in a kept one. */
async function lockAgain(place: Place): Promise<void> {
  await query(
    await place.connection(),
    "update login_attempts set locked_until = now() + interval '1 hour' where locked_until is not null",
  );
}

/** Measures one size. With `keep`, the filled database stays in that folder and is filled only once. */
export async function measureScale({ rounds, keep }: Run, users: number): Promise<Row[]> {
  // A database on the server of DATABASE_URL is dropped at the end.
  const folder = keep === undefined || process.env.DATABASE_URL ? undefined : join(keep, `${users}-users`);
  const isFilled = folder !== undefined && existsSync(join(folder, FILLED));
  // A database that was being filled cannot be continued.
  if (folder !== undefined && !isFilled) rmSync(folder, { recursive: true, force: true });
  const place = await createPlace(folder);
  let service: Service | undefined;
  let callers: Callers | undefined;
  try {
    service = await startService({
      ...place.environment,
      RATE_LIMIT_USER: 'off',
      CONCURRENT_SESSION_LIMIT: '0',
    });
    const { pid } = service;
    if (!isFilled) await fill(place, users);
    await lockAgain(place);
    if (folder !== undefined) writeFileSync(join(folder, FILLED), '');
    pinApart([pid], await place.databasePids());
    callers = await openCallers(service.url);
    const paths = await findPaths(callers.admin, place);
    return rowsOf(
      await measurePaths(paths, callers, rounds, async () => [pid, ...(await place.databasePids())]),
      users,
    );
  } finally {
    callers?.close();
    unpin();
    await service?.stop();
    await place.remove();
  }
}
