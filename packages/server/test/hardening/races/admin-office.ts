// What races of administration stand on: one administrator at two instances, requests fired together, what the log says.
// It must not decide who wins: a scenario holds whichever way a race goes.
import assert from 'node:assert/strict';
import pg from 'pg';
import type { Answer, TestClient } from '../../client.ts';
import { eventually, type Hooks, type TestService } from '../../harness.ts';
import { assertListed, assertSound } from '../../invariants.ts';
import { holdOf, openPair, type Pair } from '../fixture.ts';
import type { Tally } from '../scenario.ts';
import { volley } from '../volley.ts';

export type Office = Pair;

export const openOffice = (hooks: Hooks): Promise<Office> => openPair(hooks);

/** One request of a race; the administrator's unless said otherwise. */
export type Deed = {
  as?: TestClient;
  method: 'POST' | 'PUT' | 'DELETE' | 'GET';
  path: string;
  json?: unknown;
  headers?: Record<string, string>;
};

export const post = (path: string, json?: unknown): Deed => ({
  method: 'POST',
  path: `/api/v1/${path}`,
  json,
});
export const put = (path: string, json: unknown): Deed => ({ method: 'PUT', path: `/api/v1/${path}`, json });
export const remove = (path: string, json?: unknown): Deed => ({
  method: 'DELETE',
  path: `/api/v1/${path}`,
  json,
});

/**
 * All at once, spread over both instances, in another order each round; answers come in the order of the deeds. Nobody
 * gets a 5xx, and the audit log says of each what its answer says.
 */
export async function fire(
  office: Office,
  tally: Tally,
  round: number,
  deeds: readonly Deed[],
): Promise<Answer[]> {
  const order = deeds.map((_, index) => (index + round) % deeds.length);
  const fired = await volley(
    order.map((deed, index) => {
      const { as = office.admin, ...request } = deeds[deed] as Deed;
      return { ...request, client: office.at(as, index + (round >> 1)), hold: holdOf(index + round) };
    }),
  );
  tally.tried(deeds.length);
  const answers: Answer[] = [];
  for (const [index, deed] of order.entries()) answers[deed] = fired[index] as Answer;
  for (const { status, text } of answers) assert.ok(status < 500, `${status}: ${text}`);
  tally.held(await assertAudited(office.service, deeds, answers));
  return answers;
}

/**
 * What the first does stops where it is about to write so (`insert on user_roles`), and goes on when the others wait for a
 * lock, all `count` of them, or are done without.
 */
export async function heldUp<A, B>(
  { service }: Office,
  write: string,
  first: () => Promise<A>,
  count: number,
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
    }, `${wanted} to wait`);
  try {
    const begun = first();
    await waiting(1);
    const rest = others();
    const settled = rest.then(
      () => undefined,
      () => undefined,
    );
    await Promise.race([settled, waiting(1 + count).catch(() => undefined)]);
    await holder.query('select pg_advisory_unlock(1)');
    return await Promise.all([begun, rest]);
  } finally {
    await holder.end();
    await service.sql('drop function hold_up cascade');
  }
}

const REFUSALS = ['permission_denied', 'csrf_refused', 'login_failed'];
type Entry = { request_id: string; action: string; resource_id: string; times: number };

/** Successes by the request that caused them. */
export async function entriesOf(service: TestService, answers: readonly Answer[]): Promise<Entry[]> {
  return service.sql<Entry>(
    `select details->>'request_id' as request_id, action, resource_id, count(*)::int as times from audit_logs
     where details->>'request_id' = any($1) and action <> all($2) group by 1, 2, 3`,
    [answers.map(idOf), REFUSALS],
  );
}

export const idOf = ({ headers }: Answer): string => headers.get('x-request-id') ?? 'none';

/** What was refused left no trace of success, and nothing was entered twice. */
async function assertAudited(
  service: TestService,
  deeds: readonly Deed[],
  answers: readonly Answer[],
): Promise<number> {
  const entries = await entriesOf(service, answers);
  for (const [index, answer] of answers.entries()) {
    const own = entries.filter((entry) => entry.request_id === idOf(answer));
    const what = `${deeds[index]?.method} ${deeds[index]?.path} ${answer.status}: ${JSON.stringify(own)}`;
    if (answer.status >= 400) assert.equal(own.length, 0, what);
    for (const { times } of own) assert.equal(times, 1, what);
    // A deletion, and whatever makes a record, always changes something.
    if (answer.status === 201 && !answer.headers.has('idempotency-replayed')) assert.ok(own.length > 0, what);
    if (answer.status === 204) assert.equal(own.length, 1, what);
  }
  return answers.length;
}

/** The rules of the whole database; both instances list just what is in it, and neither has logged an error. */
export async function assertInOrder({ service, twin, admin }: Office, tally: Tally): Promise<void> {
  tally.held(await assertSound(service));
  for (const { url } of [service, twin]) tally.held(await assertListed(service, admin.at(url)));
  for (const { logLines } of [service, twin]) {
    const errors = logLines.filter((line) => ['error', 'fatal'].includes(JSON.parse(line).level));
    assert.deepEqual(errors, []);
    tally.held();
  }
}

/** Both instances show these records alike, and so does the one who was told of their newest version. */
export async function assertAgreed(
  { service, twin, admin }: Office,
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

/** Each of them answered one of these; everything else is told with its text. */
export function assertAmong(answers: readonly Answer[], allowed: readonly number[]): void {
  for (const { status, text } of answers) assert.ok(allowed.includes(status), `${status}: ${text}`);
}

export const statusesOf = (answers: readonly Answer[]): number[] =>
  answers.map(({ status }) => status).sort((one, other) => one - other);

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** How many transactions PostgreSQL had to sacrifice. Ends both instances: connections tell what they counted then. */
export async function countDeadlocks({ service, twin }: Office): Promise<number> {
  await Promise.all([service.stop(), twin.stop()]);
  const client = new pg.Client(service.databaseUrl);
  await client.connect();
  const { rows } = await client.query(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  );
  await client.end();
  return rows[0].deadlocks;
}
