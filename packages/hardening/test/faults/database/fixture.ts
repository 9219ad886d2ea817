// Shared by the tests of database faults: two instances on their own database, a PostgreSQL that may be stopped, locks,
// and waits for recovery. It must never touch a server that a test has not started.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { atEnd, postmasterPid, startThrowawayPostgres, until } from '@castellan/embedded-postgres/testing';
import type { TestClient } from '@castellan/testing/client';
import { codeIn } from '@castellan/testing/conformance/described';
import { ADMIN, type Hooks, signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { type DatabaseRelay, relayTo } from '@castellan/testing/http/fixture';
import { assertCap, assertListed, assertSound } from '@castellan/testing/invariants';
import type { Tally } from '@castellan/testing/scenario';
import pg from 'pg';
import { type Load, type LoadTarget, loadEnvironment, SESSION_CAP } from './load.ts';

/** Ends a hang. All timeouts of the service are far shorter: 12 s for a silent server, then 5 s of the pool. */
export const NO_HANG_MS = 60_000;

/** Returns hooks that run in reverse order: a load stops before its service, a relay before its database. */
export const lastFirst = (t: TestContext): Hooks => ({ after: (hook) => atEnd(t, hook) });

export async function openTarget(
  t: TestContext,
  environment: Record<string, string> = {},
): Promise<LoadTarget> {
  const service = await startTestService(lastFirst(t), { ...loadEnvironment, ...environment });
  return { service, twin: await service.another() };
}

/** Starts two instances that reach the database through one relay, and `direct`, which does not. */
export async function openBehindRelay(
  t: TestContext,
  environment: Record<string, string> = {},
): Promise<LoadTarget & { direct: TestService; relay: DatabaseRelay }> {
  const direct = await startTestService(lastFirst(t), { ...loadEnvironment, ...environment });
  const relay = await relayTo(lastFirst(t), direct.databaseUrl);
  const behindRelay = async (): Promise<TestService> => ({
    ...(await direct.another({ DATABASE_URL: relay.url })),
    // The test reads the database directly, because the relay may be cut.
    sql: direct.sql,
  });
  return { direct, relay, service: await behindRelay(), twin: await behindRelay() };
}

export type OwnServer = LoadTarget & { postmaster(): number };

/** The role of the instances on the test's own server. It is not a superuser, so that connection limits apply. */
export const OWN_USER = 'app';

/** Starts both instances on this test's own PostgreSQL, which its launcher restarts when it dies. */
export async function openOnOwnServer(
  t: TestContext,
  environment: Record<string, string> = {},
): Promise<OwnServer> {
  const server = await startThrowawayPostgres();
  const { host, port, user, database } = server.connection;
  const urlOf = (name: string, base: string): string =>
    `postgres://${name}@${encodeURIComponent(host)}:${port}/${base}`;
  await withClient(urlOf(user, database), async (client) => {
    await client.query(`create role ${OWN_USER} login`);
    await client.query(`create database ${OWN_USER} owner ${OWN_USER} template template0`);
  });
  const direct = await startTestService(
    // The hook of the harness stops the instances first, then their server.
    { after: (hook) => atEnd(t, async () => hook().finally(() => server.stop())) },
    { ...loadEnvironment, ...environment },
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

/** Runs `work` on its own connection, which may be cut. */
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

/** Cuts connections of the service to this database, and no others. Returns how many. */
export async function cutConnections(service: TestService, which = 'true', limit = 1_000): Promise<number> {
  const rows = await service.sql(
    `select pg_terminate_backend(pid) from (
       select pid from pg_stat_activity where datname = current_database() and application_name = 'castellan'
         and pid <> pg_backend_pid() and (${which}) limit ${limit}) as found`,
  );
  return rows.length;
}

export type Held = {
  /** Resolves when this many sessions wait for a lock in this database. */
  waiting(count: number): Promise<void>;
  release(): Promise<void>;
};

/** Runs the statements in a transaction that stays open until `release`. */
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
    // On another connection: a transaction keeps the list of sessions of its first query.
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

/** Ends the load, checks all its answers, then the whole database. */
export async function checkAfter(
  target: LoadTarget,
  load: Load,
  tally: Tally,
  options: { audited?: boolean } = {},
): Promise<void> {
  await untilReady(target);
  await untilSucceeded(load, 32);
  await load.settle();
  tally.held(await load.check(options));
  tally.held(await assertSound(target.service));
  tally.held(await assertCap(target.service, SESSION_CAP));
  tally.held(await assertListed(target.twin, await signIn(target.service, ADMIN)));
}

/** Returns the result of `work`. Throws if it takes longer than all timeouts of the service. */
export async function inTime<T>(what: string, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what} took ${NO_HANG_MS} ms`)), NO_HANG_MS);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Checks for a 503 with our code and Retry-After, and without internal details. */
export function assertUnavailable(answer: Awaited<ReturnType<TestClient['get']>>): void {
  assert.equal(answer.status, 503, answer.text);
  assert.match(codeIn(answer) ?? '', /^(database|temporarily)_unavailable$/, answer.text);
  assert.ok(Number(answer.headers.get('retry-after')) >= 1);
  // A request id may contain any digits.
  const { request_id: _requestId, ...told } = answer.body;
  assert.doesNotMatch(JSON.stringify(told), /ECONN|5432|postgres|timeout/i);
}
