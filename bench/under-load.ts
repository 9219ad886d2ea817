// Measures the running service: sign-ins against the hash function alone, authenticated reads against an empty route,
// and memory.
import { setTimeout as pause } from 'node:timers/promises';
import { accountCount, createAccounts, load, loginRequests, openSessions } from './accounts.ts';
import { argon2Concurrency, measureArgon2 } from './argon2-rate.ts';
import { createPlace, type Place, query } from './place.ts';
import { cpuMicroseconds, pssMebibytes } from './processes.ts';
import { type Service, startService } from './service.ts';
import { format, markdown, median, summary } from './table.ts';

const secondsEach = 1.5;
/** More than the hasher computes at once, so that its queue is never empty. */
const loginConnections = 16;
const connections = 64;
const me = '/api/v1/users/me';
const empty = '/health/live';

type Memory = { service: number; database: number };

async function memoryOf(place: Place, service: Service): Promise<Memory> {
  return { service: pssMebibytes([service.pid]), database: pssMebibytes(await place.databasePids()) };
}

export async function measureUnderLoad(rounds: number): Promise<string[]> {
  const place = await createPlace();
  try {
    const service = await startService(place.environment);
    const idle = await memoryOf(place, service);
    await createAccounts(place);
    const logins = await measureLogins(service, rounds);
    const reads = await measureReads(place, service, rounds);
    await service.stop();
    const statements = [await countStatements(place, connections), await countStatements(place, 1)];
    return [logins, reads.table, statementTable(statements), memoryTable(idle, reads.memory)];
  } finally {
    await place.remove();
  }
}

async function measureLogins(service: Service, rounds: number): Promise<string> {
  const requests = await loginRequests(service.url);
  await load(service.url, requests, loginConnections, 1);
  const rates: Record<'bare' | 'logins' | 'cpu', number[]> = { bare: [], logins: [], cpu: [] };
  for (let round = 0; round < rounds; round += 1) {
    rates.bare.push(await measureArgon2(secondsEach));
    const before = cpuMicroseconds([service.pid]);
    const result = await load(service.url, requests, loginConnections, secondsEach);
    rates.cpu.push((cpuMicroseconds([service.pid]) - before) / result['2xx'] / 1_000);
    rates.logins.push(result['2xx'] / result.duration);
  }
  return markdown(
    ['Logins', 'per second', 'of argon2 alone', 'CPU of the service, ms each'],
    [
      [`argon2 alone, ${argon2Concurrency} at once`, summary(rates.bare), '1.00', ''],
      [
        `POST /api/v1/auth/login, ${loginConnections} connections, ${accountCount} accounts`,
        summary(rates.logins),
        format(median(rates.logins) / median(rates.bare)),
        format(median(rates.cpu)),
      ],
    ],
  );
}

type Kind = {
  name: string;
  path: string;
  connections: number;
  rates: number[];
  cpu: number[];
  p99: number[];
};

async function measureReads(
  place: Place,
  service: Service,
  rounds: number,
): Promise<{ table: string; memory: Memory }> {
  const sessions = await openSessions(service.url, me);
  const kind = (path: string, wide: number): Kind => ({
    name: `GET ${path}, ${wide === 1 ? '1 connection' : `${wide} connections`}`,
    path,
    connections: wide,
    rates: [],
    cpu: [],
    p99: [],
  });
  const kinds = [kind(empty, connections), kind(me, connections), kind(empty, 1), kind(me, 1)];
  let memory: Memory = { service: 0, database: 0 };
  const run = async (one: Kind, seconds: number) => {
    const requests = sessions.map((request) => ({ ...request, path: one.path }));
    const before = cpuMicroseconds([service.pid]);
    const halfTime = pause(seconds * 500).then(() => memoryOf(place, service));
    const result = await load(service.url, requests, one.connections, seconds);
    const cpu = cpuMicroseconds([service.pid]) - before;
    return { result, cpu, memory: await halfTime };
  };
  for (const one of kinds) await run(one, 1);
  for (let round = 0; round < rounds; round += 1)
    for (const one of kinds) {
      const { result, cpu, memory: now } = await run(one, secondsEach);
      one.rates.push(result['2xx'] / result.duration);
      one.cpu.push(cpu / result['2xx']);
      one.p99.push(result.latency.p99);
      if (now.service > memory.service) memory = now;
    }
  const rateOfEmpty = (one: Kind): number =>
    median(kinds.find((other) => other.path === empty && other.connections === one.connections)?.rates ?? []);
  const table = markdown(
    ['Reads', 'requests/s', 'of the empty route', 'CPU of the service, µs each', 'p99, ms'],
    kinds.map((one) => [
      one.name,
      summary(one.rates),
      format(median(one.rates) / rateOfEmpty(one)),
      format(median(one.cpu)),
      format(median(one.p99)),
    ]),
  );
  return { table, memory };
}

type Statements = { connections: number; requests: number; transactions: number };

/**
 * PostgreSQL may add up what a backend did only when it ends, so each count covers a whole run of the service: start,
 * load, stop. A statement outside a transaction counts as one. The count of a run without requests is subtracted.
 */
async function countStatements(place: Place, wide: number): Promise<Statements> {
  // Keeps an embedded server running between the runs.
  const keeper = await startService(place.environment);
  const connection = await place.connection();
  const count = async (): Promise<number> => {
    const rows = await query(
      connection,
      'select xact_commit::float8 as commits from pg_stat_database where datname = current_database()',
    );
    return Number(rows[0]?.commits);
  };
  const live = async (requestsOf: (service: Service) => Promise<number>) => {
    const service = await startService(place.environment);
    const before = await count();
    const requests = await requestsOf(service);
    await service.stop();
    return { requests, transactions: (await count()) - before };
  };
  try {
    const sessions = await openSessions(keeper.url, me);
    const quiet = await live(async () => 0);
    const busy = await live(async ({ url }) => (await load(url, sessions, wide, secondsEach))['2xx']);
    return {
      connections: wide,
      requests: busy.requests,
      transactions: busy.transactions - quiet.transactions,
    };
  } finally {
    await keeper.stop();
  }
}

const statementTable = (counts: Statements[]): string =>
  markdown(
    ['Statements', 'requests', 'statements', 'statements per request'],
    counts.map((one) => [
      `GET ${me}, ${one.connections === 1 ? '1 connection' : `${one.connections} connections`}`,
      format(one.requests),
      format(one.transactions),
      format(one.transactions / one.requests),
    ]),
  );

const memoryTable = (idle: Memory, busy: Memory): string =>
  markdown(
    ['Memory, MiB (PSS)', 'after the start', 'under load, highest'],
    [
      ['service', format(idle.service), format(busy.service)],
      idle.database > 0
        ? ['PostgreSQL, all processes', format(idle.database), format(busy.database)]
        : ['PostgreSQL', 'not measured: not ours', ''],
    ],
  );
