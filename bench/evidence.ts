// Measures the sealed audit log: what position, salt and their index cost an entry and a sign-in, how fast entries are sealed and verified,
// with how much memory, and the first page of the log. `node bench/evidence.ts`, some minutes; BENCH_ENTRIES: 1,000,000. Loopback only.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { createLog } from '../packages/server/src/platform/logging/log.ts';
import { loadSettings } from '../packages/server/src/settings.ts';
import { openFoundation } from '../packages/server/src/start/foundation.ts';
import { format, markdown, median, summary } from './report/table.ts';
import { createPlace, databaseKind } from './service/place.ts';
import { cpuMicroseconds } from './service/processes.ts';
import { fetchCsrf, startService } from './service/service.ts';

const ENTRIES = Number(process.env.BENCH_ENTRIES || 1_000_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS || 15);
const INSERTS = 400;
const BATCH = 5_000;
const SIGN_INS = 20;
const PAGES = 50;
const cli = fileURLToPath(new URL('../packages/cli/castellan.mjs', import.meta.url));
const account = { email: 'admin@example.com', password: 'Vexing#Quartz82Lime' };
const rows: string[][] = [];

const place = await createPlace();
const environment = {
  ...place.environment,
  SECRET_KEY: 'a secret key for benchmarks, 32 bytes or more',
  AUDIT_SEALING: 'off',
  RATE_LIMIT_USER: 'off',
  CONCURRENT_SESSION_LIMIT: '0',
};
const service = await startService(environment);
const pool = new pg.Pool({ ...(await place.connection()), max: 1 });
const sql = async (text: string, values?: unknown[]) => (await pool.query(text, values)).rows;

const columns = `(id, action, resource_type, resource_id, details)`;
const details =
  '{"request_id": "01890a5d-ac96-774b", "address": "192.0.2.1", "after": {"name": "Editor", "description": ""}}';
const insertOne = (table: string): string =>
  `insert into ${table} ${columns} values (gen_random_uuid(), 'role_created', 'role', 'r', '${details}')`;
const insertMany = (table: string): string =>
  `insert into ${table} ${columns} select gen_random_uuid(), 'role_created', 'role', 'r', '${details}' from generate_series(1, $1::integer)`;

type Cost = { wall: number; cpu: number };

/** Returns the microseconds of each, and those of processor time of the service and an embedded PostgreSQL. */
async function microseconds(what: () => Promise<unknown>, each: number): Promise<Cost> {
  const pids = [service.pid, ...(await place.databasePids())];
  const cpu = cpuMicroseconds(pids);
  const begun = performance.now();
  await what();
  return {
    wall: ((performance.now() - begun) * 1_000) / each,
    cpu: (cpuMicroseconds(pids) - cpu) / each,
  };
}

/** Measures two things in turn, and notes the median of each and of the ratio of each round. */
async function compare(
  what: string,
  budget: string,
  one: { with(): Promise<Cost>; without(): Promise<Cost> },
): Promise<void> {
  const [added, plain]: [Cost[], Cost[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    // Neither is always the first.
    const order = round % 2 === 0 ? [true, false] : [false, true];
    for (const isWith of order) {
      if (isWith) added.push(await one.with());
      else plain.push(await one.without());
    }
  }
  for (const [kind, name] of [
    ['wall', 'µs'],
    ['cpu', 'µs of processor time'],
  ] as const) {
    const [ofAdded, ofPlain] = [added, plain].map((costs) => costs.map((cost) => cost[kind]));
    const ratios = (ofAdded ?? []).map(
      (value, index) => (value / (ofPlain?.[index] ?? Number.NaN) - 1) * 100,
    );
    rows.push([
      `${what}, ${name}, of ${ROUNDS} rounds in turn`,
      `${summary(ofAdded ?? [])} with, ${summary(ofPlain ?? [])} without: ${format(median(ratios))} %`,
      budget,
    ]);
  }
}

async function measureInserts(): Promise<void> {
  await sql('create table bench_with (like audit_logs including all)');
  await sql('create table bench_without (like audit_logs including all)');
  await sql('alter table bench_without drop column position, drop column salt');
  const single = (table: string) => async () => {
    await sql(`truncate ${table}`);
    return microseconds(async () => {
      for (let at = 0; at < INSERTS; at += 1) await sql(insertOne(table));
    }, INSERTS);
  };
  const batch = (table: string) => async () => {
    await sql(`truncate ${table}`);
    return microseconds(() => sql(insertMany(table), [BATCH]), BATCH);
  };
  await compare(`an entry, committed by itself (${INSERTS} a round)`, '≤ 10 %', {
    with: single('bench_with'),
    without: single('bench_without'),
  });
  await compare(`an entry of one statement of ${BATCH}`, '', {
    with: batch('bench_with'),
    without: batch('bench_without'),
  });
  await sql('drop table bench_with, bench_without');
}

async function measureSignIns(): Promise<void> {
  const csrf = await fetchCsrf(service.url);
  const signIns = (): Promise<Cost> =>
    microseconds(async () => {
      for (let at = 0; at < SIGN_INS; at += 1) {
        const answer = await fetch(`${service.url}/api/v1/auth/login`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...csrf },
          body: JSON.stringify(account),
        });
        if (!answer.ok) throw new Error(`a sign-in answered ${answer.status}`);
        await answer.arrayBuffer();
      }
    }, SIGN_INS);
  await signIns();
  await compare(`a sign-in (${SIGN_INS} a round)`, '± 3 %', {
    async with() {
      await sql(`alter table audit_logs alter position set default nextval('audit_logs_position_seq'),
        alter salt set default gen_random_uuid()`);
      await sql(
        'create index if not exists audit_logs_position_idx on audit_logs (position) where position is not null',
      );
      return signIns();
    },
    async without() {
      await sql('drop index if exists audit_logs_position_idx');
      await sql('alter table audit_logs alter position drop default, alter salt drop default');
      return signIns();
    },
  });
  await sql(`alter table audit_logs alter position set default nextval('audit_logs_position_seq'),
    alter salt set default gen_random_uuid()`);
  await sql(
    'create index if not exists audit_logs_position_idx on audit_logs (position) where position is not null',
  );
}

/** Returns the path of the file of heads. */
async function measureSealing(): Promise<string> {
  await sql('delete from audit_logs');
  for (let written = 0; written < ENTRIES; written += 100_000)
    await sql(insertMany('audit_logs'), [Math.min(100_000, ENTRIES - written)]);
  await sql('vacuum analyze audit_logs');
  const heads = join(place.environment.DATA_DIR ?? '/tmp', 'bench-heads.txt');
  const settings = loadSettings({ ...environment, AUDIT_HEADS_FILE: heads });
  const foundation = await openFoundation({
    settings,
    log: createLog('error', { write: (line) => void process.stderr.write(line) }),
    print: () => undefined,
  });
  const { sealer } = foundation.deps;
  const cpu = process.cpuUsage();
  const begun = performance.now();
  const left = `select from audit_logs where position > (select sealed_position from audit_log_head) limit 1`;
  do await sealer.run();
  while ((await sql(left)).length > 0);
  const seconds = (performance.now() - begun) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  // The head of all, for the verification.
  await sql('update audit_log_head set published_at = null');
  await sealer.run();
  await foundation.close();
  rows.push([
    `entries sealed a second, of ${format(ENTRIES)}`,
    `${format(ENTRIES / seconds)}; ${format(ENTRIES / ((user + system) / 1_000_000))} a second of the process's own processor time`,
    '≥ 25,000',
  ]);
  return heads;
}

async function measureVerification(heads: string): Promise<void> {
  const child = spawn(process.execPath, [cli, 'audit', 'verify', '--database', '--heads', heads], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  let [peak, isOver] = [0, false];
  const begun = performance.now();
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve)).then((code) => {
    isOver = true;
    return code;
  });
  while (!isOver) {
    peak = Math.max(peak, peakMebibytes(child.pid ?? 0));
    await pause(50);
  }
  const seconds = (performance.now() - begun) / 1_000;
  if ((await ended) !== 0) throw new Error(`the verification ended with ${await ended}`);
  rows.push(
    [
      `entries verified a second from the database, of ${format(ENTRIES)}`,
      format(ENTRIES / seconds),
      '≥ 20,833',
    ],
    ['MiB of memory of the verifier at most', format(peak), '≤ 200'],
  );
}

function peakMebibytes(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
}

async function measurePages(): Promise<void> {
  const csrf = await fetchCsrf(service.url);
  const answer = await fetch(`${service.url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...csrf },
    body: JSON.stringify(account),
  });
  const { data }: { data: { access_token: string } } = JSON.parse(await answer.text());
  const times: number[] = [];
  for (let page = 0; page < PAGES; page += 1) {
    const begun = performance.now();
    const one = await fetch(`${service.url}/api/v1/audit-logs?size=20`, {
      headers: { authorization: `Bearer ${data.access_token}` },
    });
    await one.arrayBuffer();
    if (!one.ok) throw new Error(`a page answered ${one.status}`);
    times.push(performance.now() - begun);
  }
  rows.push([`ms of the first page of ${format(ENTRIES)} entries, ${PAGES} times`, summary(times), '≤ 20']);
}

try {
  await measureInserts();
  await measureSignIns();
  const heads = await measureSealing();
  await measureVerification(heads);
  await measurePages();
  process.stdout.write(`${databaseKind}\n\n${markdown(['Measured', 'Median (range)', 'Budget'], rows)}\n`);
} finally {
  await pool.end();
  await service.stop();
  await place.remove();
}
