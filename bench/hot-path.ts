// Measures `GET /api/v1/users/me` against a bare Fastify route and an empty route of the service, each on one core.
// `node bench/hot-path.ts`, about a minute and a half. Loopback only. It needs Linux with taskset.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createAccounts, openSessions } from './accounts.ts';
import { createPlace } from './place.ts';
import { cpuMicroseconds } from './processes.ts';
import { closedLoop } from './raw-load.ts';
import { startService } from './service.ts';
import { format, markdown, median, summary } from './table.ts';

const rounds = Number(process.env.BENCH_ROUNDS || 7);
const secondsEach = Number(process.env.BENCH_SECONDS || 1.5);
const loads = (process.env.BENCH_CONNECTIONS || '64,1').split(',').map(Number);
const servedCore = '0';
const otherCore = '1';
const me = '/api/v1/users/me';

/** Returns the value of an option, `--name=value`. */
const option = (name: string): string | undefined =>
  process.argv.find((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3);

/** The start.mjs of another checkout, measured beside this one. */
const earlier = option('earlier');

/** A setting, `NAME=value`, with which another instance is measured beside this one. */
const extra = option('with')?.split(/=(.*)/s);

/** Moves processes with all their threads to a core. */
function pin(core: string, ...pids: number[]): void {
  for (const pid of pids) execFileSync('taskset', ['-a', '-c', '-p', core, String(pid)], { stdio: 'ignore' });
}

/** Starts `bare-fastify.ts` in a process of its own. */
async function startBare(): Promise<{ pid: number; url: string; stop(): void }> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('bare-fastify.ts', import.meta.url))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stop = (): void => void child.kill('SIGKILL');
  process.once('exit', stop);
  const [line] = await once(child.stdout, 'data');
  if (child.pid === undefined) throw new Error('the bare server could not be started');
  return { pid: child.pid, url: String(line).trim(), stop };
}

type Row = {
  name: string;
  server: { pid: number; url: string };
  path: string;
  rates: number[];
  cpu: number[];
};

async function measure(): Promise<string> {
  const place = await createPlace();
  const bare = await startBare();
  try {
    const settings = { ...place.environment, RATE_LIMIT_USER: 'off' };
    const service = await startService(settings);
    const before = earlier === undefined ? null : await startService(settings, earlier);
    const [name = '', value = ''] = extra ?? [];
    const other = extra ? await startService({ ...settings, [name]: value }) : null;
    await createAccounts(place);
    const callers = (await openSessions(service.url, me)).map(({ headers }) => headers ?? {});
    pin(servedCore, bare.pid, service.pid, ...[before, other].flatMap((one) => one?.pid ?? []));
    pin(otherCore, process.pid, ...(await place.databasePids()));
    const row = (name: string, server: Row['server'], path: string): Row => ({
      name,
      server,
      path,
      rates: [],
      cpu: [],
    });
    const tables: string[] = [];
    for (const connections of loads) {
      const rows = [
        row('bare Fastify', bare, '/'),
        row('GET /health/live', service, '/health/live'),
        row(`GET ${me}`, service, me),
        ...(before ? [row(`GET ${me}, earlier`, before, me)] : []),
        ...(other
          ? [row(`GET /health/live, ${name}`, other, '/health/live'), row(`GET ${me}, ${name}`, other, me)]
          : []),
      ];
      const run = async ({ server, path }: Row, seconds: number) => {
        const begin = cpuMicroseconds([server.pid]);
        const done = await closedLoop(server.url, path, callers, connections, seconds);
        return {
          rate: done.answers / done.seconds,
          cpu: (cpuMicroseconds([server.pid]) - begin) / done.answers,
        };
      };
      for (const one of rows) await run(one, 2);
      for (let round = 0; round < rounds; round += 1)
        for (const one of rows) {
          const { rate, cpu } = await run(one, secondsEach);
          one.rates.push(rate);
          one.cpu.push(cpu);
        }
      tables.push(tableOf(rows, connections));
    }
    await before?.stop();
    await other?.stop();
    await service.stop();
    return tables.join('\n\n');
  } finally {
    bare.stop();
    await place.remove();
  }
}

function tableOf(rows: readonly Row[], connections: number): string {
  const [bare] = rows;
  return markdown(
    [
      connections === 1 ? 'One connection' : `${connections} connections`,
      'requests/s',
      'of bare',
      'CPU of the process, µs each',
      'of bare',
    ],
    rows.map(({ name, rates, cpu }) => [
      name,
      summary(rates),
      format(median(rates) / median(bare?.rates ?? [])),
      summary(cpu),
      format(median(cpu) / median(bare?.cpu ?? [])),
    ]),
  );
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.stdout.write(
  `Node ${process.versions.node}, server on one core; load and embedded PostgreSQL on another. Medians of ${rounds} ` +
    `rounds of ${secondsEach} s (lowest–highest); the rows take turns in each round.\n\n${await measure()}\n`,
);
