// `GET /api/v1/users/me` against a bare Fastify route and an empty route of the service: as many requests as the server
// answers, each server on the same core, then the latency at a fixed rate. A part of `npm run bench`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { fileURLToPath } from 'node:url';
import { startBetterAuth } from '../comparison/better-auth.ts';
import { createAccounts, openSessions } from '../load/accounts.ts';
import { openLoop } from '../load/open-loop.ts';
import { closedLoop } from '../load/raw-load.ts';
import type { Goal, Row } from '../report/rows.ts';
import { median, percentile } from '../report/table.ts';
import { createPlace } from '../service/place.ts';
import { cpuMicroseconds } from '../service/processes.ts';
import { startService } from '../service/service.ts';
import { isPinned, pinApart, pinToServed, type Run } from './suite.ts';

const part = 'hot path';
const me = '/api/v1/users/me';
const OURS = 'GET /users/me';
const THEIRS = 'better-auth get-session';
type Load = { connections: number; condition: string };
/** PostgreSQL is on the cores of the load. One connection comes first: PostgreSQL keeps the plans of the first requests. */
const APART: readonly Load[] = [
  { connections: 1, condition: '1 connection' },
  { connections: 64, condition: '64 connections' },
];
const TOGETHER: Load = { connections: 64, condition: '64 connections, PostgreSQL on the same core' };
/** Requests per second of the open loop: a fifth of what one core serves, so that nothing waits for lack of it. */
const OPEN_RATE = 1_000;
const OPEN_REQUESTS = 1_000;

type Caller = Readonly<Record<string, string>>;
type Target = {
  name: string;
  server: { pid: number; url: string };
  path: string;
  callers: readonly Caller[];
  goals: Readonly<Record<number, Goal[]>>;
};
type Measured = Target & { rates: number[]; cpu: number[] };

/** Starts `bare-fastify.ts` in a separate process. */
async function startBare(): Promise<{ pid: number; url: string; stop(): void }> {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../comparison/bare-fastify.ts', import.meta.url))],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const stop = (): void => void child.kill('SIGKILL');
  process.once('exit', stop);
  const [line] = await once(child.stdout, 'data');
  if (child.pid === undefined) throw new Error('the bare server could not be started');
  return { pid: child.pid, url: String(line).trim(), stop };
}

/** Returns the median of the ratios of two rows, round by round. */
const ratioOf = (values: readonly number[], denominators: readonly number[]): number =>
  median(values.map((value, round) => value / (denominators[round] ?? Number.NaN)));

async function measureClosed(
  targets: readonly Target[],
  { connections }: Load,
  { rounds, seconds }: Run,
): Promise<Measured[]> {
  const measured = targets.map((target): Measured => ({ ...target, rates: [], cpu: [] }));
  const send = async ({ server, path, callers }: Target, forSeconds: number) => {
    const before = cpuMicroseconds([server.pid]);
    const done = await closedLoop(server.url, path, callers, connections, forSeconds);
    return {
      rate: done.answers / done.seconds,
      cpu: (cpuMicroseconds([server.pid]) - before) / done.answers,
    };
  };
  for (const one of measured) await send(one, 2);
  for (let round = 0; round < rounds; round += 1)
    for (const one of measured) {
      const { rate, cpu } = await send(one, seconds);
      one.rates.push(rate);
      one.cpu.push(cpu);
    }
  return measured;
}

/** Returns a row for each target, with its ratio to the first, and one for `OURS` against `THEIRS` if both were measured. */
function closedRows(measured: readonly Measured[], load: Load): Row[] {
  const { connections, condition } = load;
  const [bare] = measured;
  const rows = measured.map(
    ({ name, rates, cpu, goals }): Row => ({
      part,
      name: `${name}, throughput`,
      condition,
      unit: '/s',
      values: rates,
      of: { what: 'bare Fastify', ratio: ratioOf(rates, bare?.rates ?? []) },
      cpu: median(cpu),
      goals: load === TOGETHER ? [] : (goals[connections] ?? []),
    }),
  );
  const ours = measured.find(({ name }) => name === OURS);
  const theirs = measured.find(({ name }) => name === THEIRS);
  if (!ours || !theirs) return rows;
  return [
    ...rows,
    {
      part,
      name: `${OURS} against better-auth`,
      condition,
      unit: '/s',
      values: ours.rates,
      of: { what: 'get-session', ratio: ratioOf(ours.rates, theirs.rates) },
      goals: connections === 64 ? [{ figure: 'ratio', least: 25 }] : [],
    },
  ];
}

async function openRows(targets: readonly Target[], { rounds }: Run): Promise<Row[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const times = new Map(targets.map((target) => [target, { medians: [] as number[], slow: [] as number[] }]));
  for (let round = 0; round < rounds; round += 1)
    for (const [{ server, path, callers }, { medians, slow }] of times) {
      let sent = 0;
      const ask = async (): Promise<void> => {
        const headers = callers[sent++ % callers.length] ?? {};
        const [answer] = await once(get(`${server.url}${path}`, { agent, headers }), 'response');
        answer.resume();
        await once(answer, 'end');
        if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}`);
      };
      const all = await openLoop(ask, { everyMs: 1_000 / OPEN_RATE, count: OPEN_REQUESTS });
      medians.push(median(all));
      slow.push(percentile(all, 0.99));
    }
  agent.destroy();
  const condition = `${OPEN_RATE} requests/s, from the intended start`;
  return [...times].flatMap(([{ name }, { medians, slow }]): Row[] => [
    { part, name: `${name}, latency p50`, condition, unit: 'ms', values: medians },
    { part, name: `${name}, latency p99`, condition, unit: 'ms', values: slow },
  ]);
}

export async function measureHotPath(run: Run): Promise<Row[]> {
  const place = await createPlace();
  const bare = await startBare();
  const stops: (() => Promise<void>)[] = [];
  const start = async (more: Record<string, string>, program?: string) => {
    const service = await startService({ ...place.environment, RATE_LIMIT_USER: 'off', ...more }, program);
    stops.unshift(service.stop);
    return service;
  };
  try {
    const service = await start({});
    const earlier = run.earlier === undefined ? [] : [await start({}, run.earlier)];
    const extra = run.extra ? [await start({ [run.extra.name]: run.extra.value })] : [];
    await createAccounts(place);
    const callers = (await openSessions(service.url, me)).map(({ headers }) => headers ?? {});
    const other = run.withBetterAuth ? await startBetterAuth(await place.connection()) : undefined;
    if (other) stops.unshift(other.stop);
    const servers = [bare, service, ...earlier, ...extra, ...(other ? [other] : [])];
    pinApart(
      servers.map(({ pid }) => pid),
      await place.databasePids(),
    );

    const target = (name: string, server: Target['server'], path: string): Target => ({
      name,
      server,
      path,
      callers,
      goals: {},
    });
    const targets = [
      target('bare Fastify', bare, '/'),
      target('GET /health/live', service, '/health/live'),
      {
        ...target(OURS, service, me),
        goals: {
          64: [
            { figure: 'ratio', least: 0.6 },
            { figure: 'cpu', most: 45 },
          ],
          1: [{ figure: 'ratio', least: 0.35 }],
        } satisfies Target['goals'],
      },
      ...earlier.map((server) => target('GET /users/me, earlier', server, me)),
      ...extra.flatMap((server) => [
        target(`GET /health/live, ${run.extra?.name}`, server, '/health/live'),
        target(`GET /users/me, ${run.extra?.name}`, server, me),
      ]),
    ];
    const theirs = other ? [{ ...target(THEIRS, other, other.path), callers: other.callers }] : [];
    const all = [...targets, ...theirs];
    const rows: Row[] = [];
    for (const load of APART) rows.push(...closedRows(await measureClosed(all, load, run), load));
    const open = await openRows(targets, run);
    const database = await place.databasePids();
    if (!isPinned || database.length === 0) return [...rows, ...open];
    pinToServed(database);
    return [...rows, ...closedRows(await measureClosed(all, TOGETHER, run), TOGETHER), ...open];
  } finally {
    bare.stop();
    for (const stop of stops) await stop();
    await place.remove();
  }
}
