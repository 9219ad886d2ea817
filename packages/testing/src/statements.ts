// Counts the SQL statements of requests by wrapping the driver.
// It must not count background work, and it changes nothing that is sent.
import pg from 'pg';
import type { TestService } from './harness.ts';

// The mail worker and the key reader run at any time; only requests insert into the outbox.
const background =
  /\bjob_schedule\b|from "?signing_keys\b|\bfrom session_ends\b|^(?!\s*insert into outbox).*\boutbox\b/s;

// The files that run periodic jobs, reload keys, and send mails and notices; they are in the stack of each statement of such work.
const jobs =
  /\/src\/(cleanup|platform\/jobs\/(scheduler|repeated-read)|platform\/delivery\/(worker|targets|outcomes)|modules\/webhooks\/worker)\.ts/;

/** Returns whether a periodic job sends the current statement. */
function isOfJob(): boolean {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 100;
  try {
    return jobs.test(new Error().stack ?? '');
  } finally {
    Error.stackTraceLimit = limit;
  }
}

export type Sent = {
  text: string;
  /** Undefined: the statement keeps them to itself, as the hot ones do. */
  values: unknown[] | undefined;
};

/** Returns the texts of the statements that this process sends during `run`, in order, including transaction control. */
export const statementsOf = async (run: () => Promise<unknown>): Promise<string[]> =>
  (await sentDuring(run)).map(({ text }) => text);

/** Returns the same statements with their values. */
export async function sentDuring(run: () => Promise<unknown>): Promise<Sent[]> {
  const sent: Sent[] = [];
  const { query } = pg.Client.prototype;
  const { query: queryOfPool } = pg.Pool.prototype;
  // A pool sends its statement later, from another stack but with the same object.
  const ofJobs = new WeakSet<object>();
  pg.Pool.prototype.query = function counting(this: pg.Pool, ...args: unknown[]) {
    const [first] = args;
    if (typeof first === 'object' && first !== null && isOfJob()) ofJobs.add(first);
    return Reflect.apply(queryOfPool, this, args);
  };
  pg.Client.prototype.query = function counting(this: pg.Client, ...args: unknown[]) {
    const [first, second] = args;
    const [text, values] =
      typeof first === 'string'
        ? [first, second]
        : [String(Object(first).text), Object(first).values ?? second];
    const isBackground = background.test(text) || ofJobs.has(Object(first)) || isOfJob();
    if (!isBackground) sent.push({ text, values: Array.isArray(values) ? values : undefined });
    return Reflect.apply(query, this, args);
  };
  try {
    await run();
  } finally {
    pg.Client.prototype.query = query;
    pg.Pool.prototype.query = queryOfPool;
  }
  return sent;
}

/** Returns how many statements one request costs when the permission graph is already loaded. */
export async function countStatements(
  service: TestService,
  request: () => Promise<{ status: number; text: string }>,
): Promise<number> {
  await compileGraph(service);
  const texts = await statementsOf(async () => {
    const answer = await request();
    if (answer.status >= 300) throw new Error(`answered ${answer.status}: ${answer.text}`);
  });
  return texts.length;
}

/** Loads the permission graph, so that the next request does not have to. */
async function compileGraph(service: TestService): Promise<void> {
  const [row] = await service.sql<{ stamp: string }>('select stamp from authz_version');
  if (!row) throw new Error('authz_version has no row');
  await service.service.deps.graphSource.at(row.stamp);
}
