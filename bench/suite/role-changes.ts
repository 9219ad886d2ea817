// What a change of one role costs everybody else: `GET /api/v1/users/me` with 10,000 roles of 20 permissions, quiet and while
// roles change. A part of `npm run bench`.
import { setTimeout as pause } from 'node:timers/promises';
import { createAccounts, openSessions, signIn } from '../load/accounts.ts';
import { closedLoop } from '../load/raw-load.ts';
import type { Row } from '../report/rows.ts';
import { median } from '../report/table.ts';
import { createPlace, type Place, query } from '../service/place.ts';
import { cpuMicroseconds, pssMebibytes } from '../service/processes.ts';
import { startService } from '../service/service.ts';
import { pinApart, type Run } from './suite.ts';

const part = 'role changes';
const roleCount = 10_000;
const permissionsOfRole = 20;
const connections = 64;
const changesPerSecond = 5;
const singleChanges = 40;
const me = '/api/v1/users/me';

/** Creates the roles and makes the first account a superuser. Returns the ids of the roles. */
async function fill(place: Place): Promise<string[]> {
  const connection = await place.connection();
  await createAccounts(place);
  await query(connection, "update users set is_superuser = true where email = 'bench-0@example.com'");
  await query(
    connection,
    `with made as (
       insert into permissions (id, name, group_id)
       select gen_random_uuid(), 'bench.' || n, (select id from permission_groups where name = 'users')
       from generate_series(1, 1000) n returning id
     ), numbered as (select id, row_number() over () as n from made),
     roles as (
       insert into roles (id, name) select gen_random_uuid(), 'bench ' || n
       from generate_series(1, ${roleCount}) n returning id, name
     )
     insert into role_permissions (role_id, permission_id)
     select roles.id, numbered.id from roles cross join generate_series(1, ${permissionsOfRole}) k
     join numbered on numbered.n = 1 + (substr(roles.name, 7)::integer * 7 + k * 31) % 1000`,
  );
  await query(connection, 'analyze');
  return (await query(connection, "select id from roles where name like 'bench %'")).map(({ id }) =>
    String(id),
  );
}

export async function measureRoleChanges({ rounds, seconds }: Run): Promise<Row[]> {
  const place = await createPlace();
  try {
    const service = await startService({ ...place.environment, RATE_LIMIT_USER: 'off' });
    const ids = await fill(place);
    const admin = await signIn(service.url, 0);
    const callers = (await openSessions(service.url, me)).slice(1).map(({ headers }) => headers ?? {});
    const timed = async (path: string, init: RequestInit): Promise<number> => {
      const begin = performance.now();
      const answer = await fetch(`${service.url}${path}`, init);
      await answer.arrayBuffer();
      if (!answer.ok) throw new Error(`answered ${answer.status}: ${path}`);
      return performance.now() - begin;
    };
    pinApart([service.pid], await place.databasePids());
    let changes = 0;
    const put = (): Promise<number> => {
      changes += 1;
      return timed(`/api/v1/roles/${ids[changes % ids.length]}`, {
        method: 'PUT',
        headers: { ...admin.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ description: `change ${changes}` }),
      });
    };
    const get = (): Promise<number> => timed(me, { headers: callers[0] ?? {} });

    await closedLoop(service.url, me, callers, connections, 2);
    const single: Record<'put' | 'next' | 'later', number[]> = { put: [], next: [], later: [] };
    for (let count = 0; count < singleChanges; count += 1) {
      single.put.push(await put());
      single.next.push(await get());
      single.later.push(await get());
    }
    const rates: Record<'quiet' | 'changing', number[]> = { quiet: [], changing: [] };
    const cpu: Record<'quiet' | 'changing', number[]> = { quiet: [], changing: [] };
    const run = async (kind: 'quiet' | 'changing'): Promise<void> => {
      let isOver = false;
      const changing = (async () => {
        while (kind === 'changing' && !isOver) await Promise.all([put(), pause(1_000 / changesPerSecond)]);
      })();
      const before = cpuMicroseconds([service.pid]);
      const done = await closedLoop(service.url, me, callers, connections, seconds);
      cpu[kind].push((cpuMicroseconds([service.pid]) - before) / done.answers);
      isOver = true;
      await changing;
      rates[kind].push(done.answers / done.seconds);
    };
    for (let round = 0; round < rounds; round += 1)
      for (const kind of ['quiet', 'changing'] as const) await run(kind);
    const memory = pssMebibytes([service.pid]);
    await service.stop();
    const condition = `${roleCount} roles × ${permissionsOfRole} permissions`;
    const loaded = `${condition}, ${connections} connections`;
    return [
      { part, name: 'PUT of a role', condition, unit: 'ms', values: single.put },
      {
        part,
        name: 'the first request after it',
        condition,
        unit: 'ms',
        values: single.next,
        goals: [{ figure: 'median', most: 20 }],
      },
      { part, name: 'the request after that', condition, unit: 'ms', values: single.later },
      {
        part,
        name: 'GET /users/me, quiet',
        condition: loaded,
        unit: '/s',
        values: rates.quiet,
        cpu: median(cpu.quiet),
      },
      {
        part,
        name: `GET /users/me, ${changesPerSecond} changes/s`,
        condition: loaded,
        unit: '/s',
        values: rates.changing,
        of: {
          what: 'quiet',
          ratio: median(rates.changing.map((rate, round) => rate / (rates.quiet[round] ?? Number.NaN))),
        },
        cpu: median(cpu.changing),
        goals: [{ figure: 'ratio', least: 0.9 }],
      },
      {
        part,
        name: 'memory of the service',
        condition: `PSS, after ${changes} changes`,
        unit: 'MiB',
        values: [memory],
      },
    ];
  } finally {
    await place.remove();
  }
}
