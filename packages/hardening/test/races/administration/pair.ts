// Shared by the races of administration: sends requests at once to two instances and checks answers, audit log and
// database. It must not decide who wins: a scenario holds whichever request comes first.
import assert from 'node:assert/strict';
import type { Answer, TestClient } from '@castellan/testing/client';
import { eventually, type TestService } from '@castellan/testing/harness';
import { assertListed, assertSound } from '@castellan/testing/invariants';
import type { Tally } from '@castellan/testing/scenario';
import { volley } from '@castellan/testing/volley';
import pg from 'pg';
import { holdOf, type Pair } from '../../fixture.ts';

/** One request of a race. Without `as` the administrator sends it. */
export type RequestSpec = {
  as?: TestClient;
  method: 'POST' | 'PUT' | 'DELETE' | 'GET';
  path: string;
  json?: unknown;
  headers?: Record<string, string>;
};

export const post = (path: string, json?: unknown): RequestSpec => ({
  method: 'POST',
  path: `/api/v1/${path}`,
  json,
});
export const put = (path: string, json: unknown): RequestSpec => ({
  method: 'PUT',
  path: `/api/v1/${path}`,
  json,
});
export const remove = (path: string, json?: unknown): RequestSpec => ({
  method: 'DELETE',
  path: `/api/v1/${path}`,
  json,
});

/**
 * Sends all requests at once, spread over both instances, in another order each round. Returns the answers in the order
 * of `requests`. Throws on a 5xx, and where the audit log does not match an answer.
 */
export async function sendAtOnce(
  pair: Pair,
  tally: Tally,
  round: number,
  requests: readonly RequestSpec[],
): Promise<Answer[]> {
  const order = requests.map((_, index) => (index + round) % requests.length);
  const sent = await volley(
    order.map((place, index) => {
      const { as = pair.admin, ...request } = requests[place] as RequestSpec;
      return { ...request, client: pair.at(as, index + (round >> 1)), hold: holdOf(index + round) };
    }),
  );
  tally.tried(requests.length);
  const answers: Answer[] = [];
  for (const [index, place] of order.entries()) answers[place] = sent[index] as Answer;
  for (const { status, text } of answers) assert.ok(status < 500, `${status}: ${text}`);
  tally.held(await assertAudited(pair.service, requests, answers));
  return answers;
}

/**
 * `write` is the event of a trigger, such as `insert on user_roles`; `waiters` counts the requests that wait behind it.
 */
type HeldWrite = { write: string; waiters: number };

/**
 * Runs `first` until it is about to make the write, then `others`. Lets `first` go on when all `waiters` wait for a
 * lock, or when `others` are done without waiting. Returns the results of both.
 */
export async function whileWriteIsHeld<A, B>(
  { service }: Pair,
  { write, waiters }: HeldWrite,
  first: () => Promise<A>,
  others: () => Promise<B>,
): Promise<[A, B]> {
  const holder = new pg.Client(service.databaseUrl);
  await holder.connect();
  await holder.query('select pg_advisory_lock(1)');
  await service.sql(
    `create function hold_up() returns trigger language plpgsql as
       $$ begin perform pg_advisory_xact_lock_shared(1); return coalesce(new, old); end $$;
     create trigger hold_up before ${write} for each row execute function hold_up()`,
  );
  const waiting = (wanted: number) =>
    eventually(async () => {
      const rows = await service.sql(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return rows.length >= wanted || undefined;
    }, `${wanted} sessions to wait for a lock`);
  try {
    const begun = first();
    await waiting(1);
    const rest = others();
    const settled = rest.then(
      () => undefined,
      () => undefined,
    );
    await Promise.race([settled, waiting(1 + waiters).catch(() => undefined)]);
    await holder.query('select pg_advisory_unlock(1)');
    return await Promise.all([begun, rest]);
  } finally {
    await holder.end();
    await service.sql('drop function hold_up cascade');
  }
}

const REFUSALS = ['permission_denied', 'csrf_refused', 'login_failed'];
type Entry = { request_id: string; action: string; resource_id: string; times: number };

/** Returns the audit entries of successful changes, counted by request, action and record. */
export async function entriesOf(service: TestService, answers: readonly Answer[]): Promise<Entry[]> {
  return service.sql<Entry>(
    `select details->>'request_id' as request_id, action, resource_id, count(*)::int as times from audit_logs
     where details->>'request_id' = any($1) and action <> all($2) group by 1, 2, 3`,
    [answers.map(idOf), REFUSALS],
  );
}

export const idOf = ({ headers }: Answer): string => headers.get('x-request-id') ?? 'none';

/**
 * Throws if a refused request has an audit entry of success, or a change has two. Returns the number of answers
 * checked.
 */
async function assertAudited(
  service: TestService,
  requests: readonly RequestSpec[],
  answers: readonly Answer[],
): Promise<number> {
  const entries = await entriesOf(service, answers);
  for (const [index, answer] of answers.entries()) {
    const own = entries.filter((entry) => entry.request_id === idOf(answer));
    const what = `${requests[index]?.method} ${requests[index]?.path} ${answer.status}: ${JSON.stringify(own)}`;
    if (answer.status >= 400) assert.equal(own.length, 0, what);
    for (const { times } of own) assert.equal(times, 1, what);
    // 201 and 204 mean that something changed; a 200 may have changed nothing.
    if (answer.status === 201 && !answer.headers.has('idempotency-replayed')) assert.ok(own.length > 0, what);
    if (answer.status === 204) assert.equal(own.length, 1, what);
  }
  return answers.length;
}

/**
 * Checks the rules of the whole database, that both instances list exactly its records, and that neither logged an
 * error.
 */
export async function assertInOrder({ service, twin, admin }: Pair, tally: Tally): Promise<void> {
  tally.held(await assertSound(service));
  for (const { url } of [service, twin]) tally.held(await assertListed(service, admin.at(url)));
  for (const { logLines } of [service, twin]) {
    const errors = logLines.filter((line) => ['error', 'fatal'].includes(JSON.parse(line).level));
    assert.deepEqual(errors, []);
    tally.held();
  }
}

/** Checks that both instances return the same for these records, also to a client that sends the newest ETag. */
export async function assertAgreed(
  { service, twin, admin }: Pair,
  tally: Tally,
  paths: readonly string[],
): Promise<void> {
  for (const path of paths) {
    const [here, there] = await Promise.all(
      [service, twin].map(({ url }) => admin.at(url).get(`/api/v1/${path}`)),
    );
    assert.equal(here?.status, there?.status, path);
    assert.deepEqual(here?.body.data, there?.body.data, path);
    assert.equal(here?.headers.get('etag'), there?.headers.get('etag'), path);
    tally.held();
  }
}

/** Throws with the text of the first answer whose status is not allowed. */
export function assertAmong(answers: readonly Answer[], allowed: readonly number[]): void {
  for (const { status, text } of answers) assert.ok(allowed.includes(status), `${status}: ${text}`);
}

export const statusesOf = (answers: readonly Answer[]): number[] =>
  answers.map(({ status }) => status).sort((one, other) => one - other);

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/**
 * Returns how many deadlocks PostgreSQL has ended. Stops both instances first: a connection reports its counts when it
 * ends.
 */
export async function countDeadlocks({ service, twin }: Pair): Promise<number> {
  await Promise.all([service.stop(), twin.stop()]);
  const client = new pg.Client(service.databaseUrl);
  await client.connect();
  const { rows } = await client.query(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  );
  await client.end();
  return rows[0].deadlocks;
}
