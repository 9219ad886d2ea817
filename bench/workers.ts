// Measures how `GET /api/v1/users/me` grows from one worker to two and four, each limited to the same share of a core, so that
// load and database on the same cores do not limit the growth. `node bench/workers.ts`, about a minute, as root on Linux.
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { createAccounts, openSessions } from './load/accounts.ts';
import { closedLoop } from './load/raw-load.ts';
import { format, markdown, median, summary } from './report/table.ts';
import { createPlace, databaseKind, type Place } from './service/place.ts';
import { cpuMicroseconds, pssMebibytes, withChildren } from './service/processes.ts';
import { type Service, startService } from './service/service.ts';

const rounds = Number(process.env.BENCH_ROUNDS || 5);
const secondsEach = Number(process.env.BENCH_SECONDS || 2);
const share = Number(process.env.BENCH_SHARE || 0.1);
const connections = 64;
const me = '/api/v1/users/me';
const PERIOD_US = 20_000;
const folders: string[] = [];

/** Limits a process to `share` of a core, with a separate control group (version 1 or 2). */
function limit(pid: number): void {
  const isFirst = existsSync('/sys/fs/cgroup/cpu');
  const folder = `/sys/fs/cgroup/${isFirst ? 'cpu/' : ''}castellan-bench-${pid}`;
  mkdirSync(folder);
  folders.push(folder);
  const quota = Math.round(share * PERIOD_US);
  if (isFirst) {
    writeFileSync(`${folder}/cpu.cfs_period_us`, String(PERIOD_US));
    writeFileSync(`${folder}/cpu.cfs_quota_us`, String(quota));
  } else writeFileSync(`${folder}/cpu.max`, `${quota} ${PERIOD_US}`);
  writeFileSync(`${folder}/cgroup.procs`, String(pid));
}

type Row = { workers: number; service: Service; pids: number[]; rates: number[]; cpu: number[] };

async function start(place: Place, workers: number, headers: Record<string, string>[]): Promise<Row> {
  const service = await startService({
    ...place.environment,
    WORKERS: String(workers),
    DATABASE_POOL_SIZE: String(10 * workers),
    RATE_LIMIT_USER: 'off',
  });
  const own = () => (workers === 1 ? [service.pid] : withChildren(service.pid).slice(1));
  // Each worker serves when it uses time under load.
  for (;;) {
    const before = own().map((pid) => cpuMicroseconds([pid]));
    await closedLoop(service.url, me, headers, connections, 1);
    const pids = own();
    const used = pids.map((pid, at) => cpuMicroseconds([pid]) - (before[at] ?? 0));
    if (pids.length === workers && Math.min(...used) > 0.3 * Math.max(...used))
      return { workers, service, pids, rates: [], cpu: [] };
  }
}

async function measure(): Promise<string> {
  const place = await createPlace();
  try {
    const setUp = await startService(place.environment);
    await createAccounts(place);
    const callers = (await openSessions(setUp.url, me)).map(({ headers }) => headers ?? {});
    const rows: Row[] = [];
    for (const workers of [1, 2, 4]) rows.push(await start(place, workers, callers));
    for (const { pids } of rows) pids.forEach(limit);
    for (let round = 0; round < rounds; round += 1)
      for (const { service, pids, rates, cpu } of rows) {
        const begin = cpuMicroseconds(pids);
        const { answers, seconds } = await closedLoop(service.url, me, callers, connections, secondsEach);
        rates.push(answers / seconds);
        cpu.push((cpuMicroseconds(pids) - begin) / answers);
      }
    const memory = rows.map(({ service, workers }) =>
      pssMebibytes(workers === 1 ? [service.pid] : withChildren(service.pid)),
    );
    for (const { service } of [...rows, { service: setUp }]) await service.stop();
    return markdown(
      ['Workers', 'requests/s', 'of one', 'CPU of the workers, µs each', 'memory with the supervisor, MiB'],
      rows.map(({ workers, rates, cpu }, at) => [
        String(workers),
        summary(rates),
        format(median(rates) / median(rows[0]?.rates ?? [])),
        summary(cpu),
        format(memory[at] ?? 0),
      ]),
    );
  } finally {
    for (const folder of folders) rmdirSync(folder);
    await place.remove();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.stdout.write(
  `Node ${process.versions.node}, ${databaseKind}, ${connections} connections, each worker limited to ${share} of a core. Medians of ` +
    `${rounds} rounds of ${secondsEach} s (lowest–highest); the rows take turns in each round.\n\n${await measure()}\n`,
);
