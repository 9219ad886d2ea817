// What the faults of the database are made with: two instances on a database of their own, a PostgreSQL that may be
// stopped, locks, and the wait for recovery. It must never touch a server that a test has not started.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import pg from 'pg';
import type { TestClient } from '../../client.ts';
import { atEnd, postmasterPid, until } from '../../embedded/fixture.ts';
import { startThrowawayPostgres } from '../../embedded/throwaway.ts';
import { ADMIN, type Hooks, signIn, startTestService, type TestService } from '../../harness.ts';
import { type Line, relayTo } from '../../http/fixture.ts';
import { assertCap, assertListed, assertSound } from '../../invariants.ts';
import type { Tally } from '../scenario.ts';
import { type Load, type LoadTarget, loadEnvironment, SESSION_CAP } from './database-load.ts';

/** Every time-out of the service is shorter: the longest is 12 s for a silent server, then the pool's 5 s. */
export const NO_HANG_MS = 30_000;

/** What was made last goes first: a load before its service, a line before the database behind it. */
export const lastFirst = (t: TestContext): Hooks => ({ after: (hook) => atEnd(t, hook) });

export async function openTarget(
  t: TestContext,
  environment: Record<string, string> = {},
): Promise<LoadTarget> {
  const service = await startTestService(lastFirst(t), { ...loadEnvironment, ...environment });
  return { service, twin: await service.another() };
}

/** Both instances reach the database through one line; `direct` does not. */
export async function openOnLine(
  t: TestContext,
  environment: Record<string, string> = {},
): Promise<LoadTarget & { direct: TestService; line: Line }> {
  const direct = await startTestService(lastFirst(t), { ...loadEnvironment, ...environment });
  const line = await relayTo(lastFirst(t), direct.databaseUrl);
  const onLine = async (): Promise<TestService> => ({
    ...(await direct.another({ DATABASE_URL: line.url })),
    // The line may be down while the test looks.
    sql: direct.sql,
  });
  return { direct, line, service: await onLine(), twin: await onLine() };
}

export type OwnServer = LoadTarget & { postmaster(): number };

/** Whom the instances are at a server of the test's own: no superuser, so that every limit counts for them. */
export const OWN_USER = 'app';

/** Both instances on a PostgreSQL of this test's own, which its launcher brings back when it dies. */
export async function openOnOwnServer(t: TestContext): Promise<OwnServer> {
  const server = await startThrowawayPostgres();
  const { host, port, user, database } = server.connection;
  const urlOf = (name: string, base: string): string =>
    `postgres://${name}@${encodeURIComponent(host)}:${port}/${base}`;
  await withClient(urlOf(user, database), async (client) => {
    await client.query(`create role ${OWN_USER} login`);
    await client.query(`create database ${OWN_USER} owner ${OWN_USER} template template0`);
  });
  const direct = await startTestService(
    // The hook of the harness stops the instances; their server goes after them.
    { after: (hook) => atEnd(t, async () => hook().finally(() => server.stop())) },
    loadEnvironment,
  );
  const superuserUrl = urlOf(user, OWN_USER);
  const sql = <T>(text: string, values?: unknown[]): Promise<T[]> =>
    withClient(superuserUrl, async (client) => (await client.query(text, values)).rows);
  const onServer = async (): Promise<TestService> => ({
    ...(await direct.another({ DATABASE_URL: urlOf(OWN_USER, OWN_USER) })),
    databaseUrl: superuserUrl,
    sql,
  });
  return {
    service: await onServer(),
    twin: await onServer(),
    postmaster: () => postmasterPid(server.cluster),
  };
}

/** A connection of its own for one piece of work; it may be cut without harm. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Cuts connections of the service to this database, and no others; answers how many. */
export async function cutConnections(service: TestService, which = 'true', limit = 1_000): Promise<number> {
  const rows = await service.sql(
    `select pg_terminate_backend(pid) from (
       select pid from pg_stat_activity where datname = current_database() and application_name = 'castellan'
         and pid <> pg_backend_pid() and (${which}) limit ${limit}) as found`,
  );
  return rows.length;
}

export type Held = {
  /** Resolves when this many sessions wait for a lock of the database. */
  waiting(count: number): Promise<void>;
  release(): Promise<void>;
};

/** Runs this in a transaction that stays open until `release`. */
export async function hold(t: TestContext, url: string, ...statements: string[]): Promise<Held> {
  const holder = new pg.Client(url);
  holder.on('error', () => undefined);
  await holder.connect();
  await holder.query('begin');
  for (const statement of statements) await holder.query(statement);
  let released: Promise<void> | undefined;
  const release = (): Promise<void> => (released ??= holder.end());
  atEnd(t, release);
  return {
    // On another connection: a transaction sees the sessions that were there at its first look.
    waiting: (count) =>
      until(`${count} sessions wait`, () =>
        withClient(url, async (watcher) => {
          const { rows } = await watcher.query(
            `select count(distinct pid)::int as waiting from pg_locks join pg_stat_activity using (pid)
             where not granted and datname = current_database()`,
          );
          return rows[0].waiting >= count;
        }),
      ),
    release,
  };
}

/** Waits for both instances to say that they are ready. */
export async function untilReady({ service, twin }: LoadTarget): Promise<void> {
  await until(
    'both instances are ready again',
    async () => {
      for (const { client } of [service, twin])
        if ((await client().get('/health/ready')).status !== 200) return false;
      return true;
    },
    NO_HANG_MS,
  );
}

export const untilSucceeded = (load: Load, more: number): Promise<void> => {
  const wanted = load.succeeded + more;
  return until(`${more} requests succeed`, () => load.succeeded >= wanted, NO_HANG_MS);
};

export const untilRefused = (load: Load, more: number): Promise<void> => {
  const wanted = load.refused + more;
  return until(`${more} requests are refused`, () => load.refused >= wanted, NO_HANG_MS);
};

/** Ends the load and judges all that it was told, then the whole database. */
export async function judgeAfter(
  target: LoadTarget,
  load: Load,
  tally: Tally,
  options: { audited?: boolean } = {},
): Promise<void> {
  await untilReady(target);
  await untilSucceeded(load, 32);
  await load.settle();
  tally.held(await load.judge(options));
  tally.held(await assertSound(target.service));
  tally.held(await assertCap(target.service, SESSION_CAP));
  tally.held(await assertListed(target.twin, await signIn(target.service, ADMIN)));
}

/** Answers, or fails when that takes longer than any time-out of the service. */
export async function inTime<T>(what: string, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what} took ${NO_HANG_MS} ms`)), NO_HANG_MS);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** That it is refused for now, clearly: 503, a code of ours, when to come back, and nothing about the inside. */
export function assertUnavailable(answer: Awaited<ReturnType<TestClient['get']>>): void {
  assert.equal(answer.status, 503, answer.text);
  assert.equal(answer.body.code, 'database_unavailable', answer.text);
  assert.ok(Number(answer.headers.get('retry-after')) >= 1);
  assert.doesNotMatch(answer.text, /ECONN|5432|postgres|timeout/i);
}
